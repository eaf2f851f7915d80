"""CoCaIn BPG against a dense reference, its Lyapunov function, and BPG as its special case."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from dense_bregman import Dense
from scipy.optimize import brentq
from small_parts import L1_WEIGHTS, l1_problem
from test_other_problems import completion, quartic_problem

import bregopt as bo
from bregopt.errors import ParameterError

RANK, ETA = 4, L1_WEIGHTS
compose = partial(l1_problem, rank=RANK)
DELTA, EPSILON, CAP = 0.999, 0.001, 0.99


def reference(dense, x, iterations, restart, first=0.01):
    """CoCaIn with one kernel, every test as it is printed; f and D are never reused."""
    b, old, tau, tau_old, lower = dense.b, x, 1 / first, 1.0, 0.01
    rows, evaluations = [], 0

    def beta_of(tau, lower):
        budget = (DELTA - EPSILON) / tau_old * dense.D(old, x, b)

        def spent(beta):
            return (1 / tau + lower) * dense.D(x, x + beta * (x - old), b) - budget

        if not budget:
            return 0.0
        return CAP if spent(CAP) <= 0 else brentq(spent, 0, CAP, xtol=1e-300, rtol=1e-15)

    def point(tau, lower):
        nonlocal evaluations
        while True:
            beta = beta_of(tau, lower)
            y = x + beta * (x - old)
            seen, evaluations = dense.evaluate(y), evaluations + 1
            gap = seen[0] + seen[1] @ (x - y) - dense.f(x)
            if not beta or gap <= lower * dense.D(x, y, b) + 1e-12 * (seen[0] + dense.f(x)):
                return beta, y, seen, lower
            lower = 1.1 * lower if restart else max(1.1 * lower, gap / dense.D(x, y, b))

    for _ in range(iterations):
        beta, y, seen, lower = point(tau, 0.01 if restart else max(0.01, 0.9 * lower))
        begun = tau
        while True:
            new = dense.step(y, seen[1], b, tau)
            if dense.excess(new, y, seen, 1 / tau, b) > 1e-12 * (seen[0] + dense.f(new)):
                tau /= 1.1
            elif tau < begun and beta_of(tau, lower) < beta * (1 - 1e-9):
                begun = tau
                beta, y, seen, lower = point(tau, lower)
            else:
                break
        old, x, tau_old = x, new, tau
        rows.append((dense.phi(x), beta, tau, lower))
    return x, np.array(rows), evaluations


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("size", [1.0, 6.0, 0.05])
def test_forty_iterations_agree_with_the_dense_reference(M, size, restart):
    problem = compose(M)
    start = next(bo.iterate(problem, method="bpg", seed=3)).Y * size
    dense = Dense(M, RANK, ETA, 1.0, problem.block.reduced_norm)
    x, rows, evaluations = reference(dense, start.flat, 40, restart)
    run = bo.iterate(problem, method=f"cocain(restart={restart})", start=start)
    states = [next(run) for _ in range(41)][1:]
    seen = np.array([(s.objective, s.beta, s.step, s.inner.lower) for s in states])
    np.testing.assert_allclose(seen, rows, rtol=1e-7)
    np.testing.assert_allclose(states[-1].Y.flat, x, rtol=0, atol=1e-8 * np.abs(x).max())
    assert states[-1].counts.gradients == evaluations
    if size < 1:  # from near the saddle at zero the lower test fails at first
        assert rows[:, 3].max() > 0.4


def test_without_inertia_it_is_bpg_with_backtracking(M):
    one = bo.solve(compose(M), method="cocain(gamma=0)", max_iterations=40)
    two = bo.solve(compose(M), method="bpg(step=backtrack)", max_iterations=40)
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-12 * np.abs(two.Y.flat).max())
    np.testing.assert_allclose(one.history["step"], two.history["step"], rtol=1e-12)
    np.testing.assert_allclose(one.history["lyapunov"], two.history["lyapunov"], rtol=1e-12)
    assert (
        one.history["products"][-1] == two.history["products"][-1] - 3
    )  # its last evaluation of a gradient comes later
    assert one.certificate.lyapunov == two.certificate.lyapunov


@pytest.mark.parametrize("kernel", ["auto", "paper", "tight"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_lyapunov_value_never_rises(M, kernel, scale, form):
    result = bo.solve(compose(form(M), kernel, scale), method="cocain", max_iterations=100)
    history = result.history
    theta = history["objective"] + DELTA * np.nan_to_num(history["divergence"] / history["step"])
    np.testing.assert_allclose(theta, history["lyapunov"], rtol=1e-12)
    assert (np.diff(theta) <= 1e-12 * (theta[1:] + theta[:-1])).all()
    assert result.certificate.monotone
    assert result.certificate.guaranteed
    assert (np.diff(history["step"][1:]) <= 0).all()
    assert np.nanmax(history["beta"]) > 0.6


def test_the_lyapunov_value_never_rises_where_steps_may_grow(M):
    result = bo.solve(compose(M), method="cocain(step=predicted)", max_iterations=100)
    assert (np.diff(result.history["step"][1:]) > 0).any()
    assert result.certificate.monotone
    assert result.certificate.guaranteed


def test_the_scale_of_the_data_changes_nothing(M):
    small, large = (bo.solve(compose(M, scale=scale), method="cocain", max_iterations=60) for scale in (1e-6, 1e6))
    np.testing.assert_allclose(small.history["beta"], large.history["beta"], rtol=1e-6)
    np.testing.assert_allclose(small.history["objective"] * 1e24, large.history["objective"], rtol=1e-6)


def test_an_iteration_costs_four_products_and_one_or_three_for_every_failed_test(M):
    result = bo.solve(compose(M), method="cocain", max_iterations=50)
    counts, products = result.counts, result.history["products"]
    shorter = round(np.log(100 / result.history["step"][-1]) / np.log(1.1))
    again = counts.gradients - 1 - 50  # those of the start, which the first step takes over, and of the certificate
    assert products[-1] + 3 == counts.products == 3 * counts.gradients + (counts.evaluations - counts.gradients)
    assert counts.proxes == counts.evaluations - counts.gradients == 50 + shorter + again


def test_the_authors_restart_of_the_lower_constant_costs_more_products(M):
    start = next(bo.iterate(compose(M), method="bpg", seed=3)).Y * 0.05
    kept, anew = (
        bo.solve(compose(M), method=f"cocain(restart={restart})", start=start, max_iterations=50)
        for restart in (False, True)
    )
    assert kept.counts.products < 0.7 * anew.counts.products
    assert anew.certificate.assumptions_held


def test_a_weakly_convex_regularizer_shortens_the_first_step(M):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="mcp(0.5, 0.3)", V="l1(0.1)")
    result = bo.solve(problem, method="cocain(delta=0.9)", max_iterations=100)
    longest = (1 - 0.9) * problem.kernel.pick(True).strong_convexity * 0.3
    assert result.history["step"][1] == pytest.approx(longest, rel=1e-12)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


def test_a_regularizer_that_is_not_weakly_convex_has_no_guarantee(M):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l0-ball(40)")
    result = bo.solve(problem, method="cocain", max_iterations=20)
    assert not result.certificate.assumptions["convexity"].held
    assert bo.solve(problem, method="cocain(gamma=0)", max_iterations=20).certificate.monotone


def test_a_small_l1_problem_is_solved_to_stationarity():
    M = np.maximum(0, np.random.default_rng(1).standard_normal((6, 5)))
    problem = bo.compose("relu-nmd", M, rank=1, U="l1(0.1)", V="l1(0.1)")
    result = bo.solve(problem, method="cocain", stop="stationarity(1e-6)", max_iterations=5000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6
    assert result.certificate.guaranteed
    assert result.certificate.monotone


def test_other_two_block_problems_fall_too():
    problem, start, _, _ = completion(1)
    result = bo.solve(problem, method="cocain", start=start, max_iterations=150)
    assert result.certificate.guaranteed
    assert result.certificate.monotone
    assert result.objective < 0.1 * result.history["objective"][0]
    single = bo.solve(
        quartic_problem("l1(0.1)"), method="cocain", start=bo.Blocks(y=[0.3, -0.1, 0.2]), max_iterations=99
    )
    assert single.certificate.monotone
    assert single.certificate.guaranteed


def test_a_kernel_with_a_boundary_keeps_every_point_inside():
    rng = np.random.default_rng(0)
    A = rng.random((12, 5))
    b = A @ [1.0, 0.01, 2.0, 0.5, 0.1]

    class Poisson(bo.SmoothPart):
        """Σ z − b log z for z = Ax, which is Σb-smooth relative to −Σ log x."""

        def value(self, Y, W):
            return float(np.sum(A @ Y.x - b * np.log(A @ Y.x)))

        def value_and_gradient(self, Y, W):
            return self.value(Y, W), bo.Blocks(x=A.T @ (1 - b / (A @ Y.x)))

    class Nothing(bo.ClosedFormBlock):
        def argmin(self, smooth, Y):
            return None

        def value(self, W):
            return 0.0

    problem = bo.Problem(smooth=Poisson(), block=Nothing(), kernel=bo.make("kernel", "burg"))
    result = bo.solve(problem, method="cocain", start=bo.Blocks(x=np.ones(5)), max_iterations=100)
    assert (result.Y.x > 0).all()
    assert np.nanmax(result.history["beta"]) > 0.5
    assert result.certificate.monotone
    assert result.certificate.guaranteed


@pytest.mark.parametrize(
    "spec",
    ["cocain(delta=1)", "cocain(delta=0.1, epsilon=0.2)", "cocain(lower=0)", "cocain(grow=1)", "cocain(gamma=1)"],
)
def test_constants_that_cannot_be_are_refused(spec):
    with pytest.raises(ParameterError):
        bo.make("method", spec)
