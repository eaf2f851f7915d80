"""BELLA against dense formulas and an independent loop; its envelope never rises, and it does not stall."""

import itertools
import math

import attrs
import numpy as np
import pytest
import scipy.sparse
from attrs import evolve, frozen
from bregopt_methods.acceleration.lbfgs import LBFGS
from bregopt_methods.bregman.bella import Envelope
from dense_bregman import lbfgs_matrix
from small_parts import NoBlock, Poisson

import bregopt as bo
from bregopt.matrices import mycielskian


def relu(seed=0, shape=(40, 30), rank=4):
    rng = np.random.default_rng(seed)
    return np.maximum(0, rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1])))


def small(U="l1(0.1)", V="l1(0.1)", rank=4, M=None):
    return bo.compose("relu-nmd", relu() if M is None else M, rank=rank, U=U, V=V)


def phi(problem, Y):
    return problem.oracle.evaluate(Y).value + problem.regularizer.value(Y)


# ---- the direction


def curved_pairs(rng, n, count):
    A = rng.standard_normal((n, n))
    A = A @ A.T + np.eye(n)
    moves = rng.standard_normal((count, n))
    return [(s, A @ s) for s in moves]


@pytest.mark.parametrize("count", [1, 3, 8])
def test_the_two_loops_apply_the_dense_inverse_update(count):
    rng, n, memory = np.random.default_rng(count), 7, 5
    pairs, B = curved_pairs(rng, n, count), LBFGS(memory)
    for s, y in pairs:
        B = B.seen(s, y)
    kept = pairs[-memory:]
    r = rng.standard_normal(n)
    np.testing.assert_allclose(B.apply(r), lbfgs_matrix(kept) @ r, rtol=1e-10)
    np.testing.assert_allclose(B.apply(kept[-1][1]), kept[-1][0], rtol=1e-10, err_msg="the secant equation")


def test_pairs_without_curvature_are_left_out_and_no_pairs_mean_the_identity():
    s, B = np.array([1.0, 2.0]), LBFGS(4)
    for y in (-s, np.array([2.0, -1.0]), np.zeros(2), np.array([np.nan, 1.0])):
        assert not B.seen(s, y)
    assert not B.seen(s, 1e-160 * s), "whose square underflows"
    assert not LBFGS(0).seen(s, s)
    assert not B.seen(s, s).empty()
    np.testing.assert_array_equal(B.apply(s), s)


# ---- the envelope


@pytest.mark.parametrize("H", ["none", "l1(0.3)", "nonneg", "mcp(0.3, 3)", "l0(0.2)", "l0-ball(9)"])
def test_the_envelope_lies_between_both_objectives_and_falls_as_the_step_grows(H):
    problem, rng = small(H, H), np.random.default_rng(1)
    for _ in range(5):
        Y_bar = problem.regularizer.prox(
            bo.Blocks(U=rng.standard_normal((40, 4)), V=rng.standard_normal((4, 30))), 1e-12
        )
        evaluation = problem.oracle.evaluate(Y_bar, at=Y_bar)
        kernel = problem.kernel.pick(True).at(evaluation.norms)
        values = [Envelope.of(bo.BregmanModel(problem, evaluation, kernel, step)) for step in (0.01, 0.1, 0.5, 1.0)]
        for seen in values:  # L = 1: every one of these steps passes the upper test
            assert phi(problem, seen.Y) <= seen.value * (1 + 1e-12)
            assert seen.value <= phi(problem, Y_bar) * (1 + 1e-12)
        assert all(b.value <= a.value * (1 + 1e-12) for a, b in itertools.pairwise(values))
        assert values[0].scale >= values[0].value


def test_no_other_point_has_a_smaller_model_than_the_envelope():
    problem, rng = small("l1(0.3)", "nonneg"), np.random.default_rng(2)
    Y_bar = bo.Blocks(U=rng.standard_normal((40, 4)), V=rng.random((4, 30)))
    evaluation = problem.oracle.evaluate(Y_bar, at=Y_bar)
    kernel = problem.kernel.pick(True).at(evaluation.norms)
    made = Envelope.of(bo.BregmanModel(problem, evaluation, kernel, 0.7))

    def model(Y):
        slope = evaluation.gradient.dot(Y - Y_bar)
        return evaluation.value + slope + problem.regularizer.value(Y) + kernel.divergence(Y, Y_bar) / 0.7

    assert model(made.Y) == pytest.approx(made.value, rel=1e-12)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            near = made.Y.map(lambda name, X, size=size: X + size * rng.standard_normal(X.shape))
            assert model(bo.Blocks(U=near.U, V=np.maximum(near.V, 0))) >= made.value


# ---- descent


CONVEX = ["none", "l1(0.1)", "nonneg", "ridge(0.5)", "nuclear(0.3)"]
WEAKLY = ["mcp(0.3, 3)", "scad(0.3)", "log(0.2, 0.5)"]
JUMPING = ["l0(0.2)", "l0-ball(20)", "l0-ball(2, per=row)", "capped-l1(0.3, 0.5)"]


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("H", [*CONVEX, *WEAKLY, *JUMPING])
def test_the_envelope_never_rises(H, form):
    M = relu() * (np.random.default_rng(3).random((40, 30)) < 0.5)
    problem = small(H, H, M=form(M))
    result = bo.solve(problem, method="bella", max_iterations=80)
    history, certificate = result.history, result.certificate
    assert certificate.monotone
    assert certificate.assumptions["step"].held
    assert certificate.guaranteed == problem.exact_prox
    assert np.isfinite(problem.regularizer.value(result.Y))
    assert (history["objective"] <= history["lyapunov"] * (1 + 1e-11)).all()
    assert result.objective == pytest.approx(phi(problem, result.Y), rel=1e-12)
    assert result.objective < history["objective"][0]


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("H", ["none", "l1(0.01)", "mcp(0.01, 3)"])
def test_the_envelope_never_rises_on_scaled_data(H, scale):
    problem = small(H, H, M=scale * relu())
    result = bo.solve(problem, method="bella", max_iterations=80)
    assert result.certificate.monotone
    assert result.certificate.guaranteed
    assert np.isfinite(result.history["objective"]).all()


def test_without_regularizer_the_run_does_not_depend_on_the_scale_of_the_data():
    ends = [bo.solve(small("none", "none", M=scale * relu()), method="bella", max_iterations=30) for scale in (1, 1e6)]
    np.testing.assert_allclose(*(end.history["relative_error"] for end in ends), rtol=1e-4)


@pytest.mark.parametrize("kernel", ["paper", "tight", "balanced"])
def test_a_kernel_that_follows_W_is_taken_at_the_gradients_point_and_the_envelope_still_falls(kernel):
    problem = bo.compose("relu-nmd", relu(), rank=4, kernel=kernel, U="l1(0.1)")
    result = bo.solve(problem, method="bella", max_iterations=80)
    assert result.certificate.monotone
    assert result.certificate.guaranteed


# ---- without pairs


def reference_bpg(problem, Y, iterations, target):
    """Bregman proximal gradient on f with the step rule written out: free steps, the test, and the prediction."""
    H, steps, objectives = problem.regularizer, [], []
    evaluation = problem.oracle.evaluate(Y, at=Y)
    kernel = problem.kernel.pick(True).at(evaluation.norms)
    free = step = 0.95 / problem.smooth.constants(kernel, evaluation.norms, True).upper
    for _ in range(iterations):
        while True:
            P = step * evaluation.gradient - kernel.gradient(Y)
            Z = problem.prox(P, step, kernel)
            D = kernel.divergence(Z, Y)
            if step <= free:
                wanted = 2 * step
                break
            D_f = problem.oracle.evaluate(Z).value - evaluation.value - evaluation.gradient.dot(Z - Y)
            if step * D_f <= 0.95 * D:
                wanted = target * D / D_f if D_f > 0 else math.inf
                break
            step = max(step * min(max(0.9 * 0.95 * D / (step * D_f), 1 / 16), 0.5), min(free, step / 2))
        steps.append(step)
        Y = Z
        evaluation = problem.oracle.evaluate(Y, at=Y)
        objectives.append(evaluation.value + H.value(Y))
        step = min(max(wanted, step), 2 * step)
    return Y, steps, objectives


@pytest.mark.parametrize("target", [0.6, 0.95])
def test_without_memory_it_is_bregman_proximal_gradient_with_the_same_steps(target):
    problem = small()
    start = problem.first_point(None, np.random.default_rng(0))
    Y, steps, objectives = reference_bpg(problem, start, 40, target)
    result = bo.solve(problem, method=f"bella(memory=0, target={target})", start=start, max_iterations=40)
    np.testing.assert_allclose(result.Y.flat, Y.flat, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(result.history["step"][1:], steps, rtol=1e-6)  # D_f is a difference of values
    np.testing.assert_allclose(result.history["objective"][2:], objectives[1:], rtol=1e-10)
    assert len(set(steps)) > 5, "the rule had to change the step"


@frozen(eq=False)
class Cliff(bo.Oracle):
    """Another oracle, but f = ∞ wherever a gradient is asked for away from the start and the proximal points."""

    inner: bo.Oracle
    known: set

    def evaluate(self, Y, at=None, *, value_at=False):
        evaluation = self.inner.evaluate(Y, at, value_at=value_at)
        if at is None or Y.flat.tobytes() in self.known:
            return evaluation
        return bo.Evaluation(
            Y,
            evaluation.W,
            math.inf,
            at,
            evaluation.gradient * math.nan,
            norms=evaluation.norms,
            products=evaluation.products,
        )


def test_a_trial_point_that_is_not_finite_is_refused_and_the_proximal_point_taken():
    problem = small()
    start = problem.first_point(None, np.random.default_rng(0))
    known = {start.flat.tobytes()}

    def prox(P, step, kernel):
        Y = problem.prox(P, step, kernel)
        known.add(Y.flat.tobytes())
        return Y

    guarded = attrs.evolve(problem, oracle=Cliff(problem.oracle, known), prox=prox)
    result = bo.solve(guarded, method="bella", start=start, max_iterations=20)
    plain = bo.solve(problem, method="bella(memory=0)", start=start, max_iterations=20)
    np.testing.assert_array_equal(result.Y.flat, plain.Y.flat)
    assert result.counts.products > plain.counts.products + 100, "the trials had to be made"
    assert result.certificate.guaranteed


# ---- speed


def products_to(problem, method, tolerance, limit):
    run = bo.iterate(problem, method=method)
    for state in run:
        spent = state.counts.products
        if state.stationarity is not None and state.stationarity <= 10 * tolerance:
            A = run.subgradient(state)
            if run.relative(A) <= tolerance:
                return spent
        if spent > limit:
            return math.inf
    return math.inf


def test_a_small_l1_problem_is_solved_in_a_fraction_of_the_products_of_apb():
    problem = small("l1(0.5)", "l1(0.5)")
    spent = products_to(problem, "bella", 1e-6, 3000)
    assert spent < 3000
    assert products_to(problem, "apb", 1e-6, 3 * spent) == math.inf
    assert products_to(problem, "apb(step=predicted)", 1e-6, 2 * spent) == math.inf


def test_an_iteration_costs_about_four_products():
    problem = bo.compose("relu-nmd", mycielskian(8), rank=6, U="l1(0.01)", V="l1(0.015)")
    result = bo.solve(problem, method="bella", max_iterations=150)
    assert result.history["products"][1] == 3, "the first step is at most 0.95/L and needs no test"
    assert result.history["products"][-1] < 4.6 * 150
    assert result.counts.products == result.history["products"][-1] + 3, "the subgradient at the end"


@pytest.mark.parametrize("start", ["scaled-random", "tsvd"])
def test_no_step_stays_shorter_than_half_of_what_the_curvature_allows(start):
    M = scipy.sparse.random_array((120, 90), density=0.03, random_state=np.random.default_rng(5), format="csr")
    problem = small("l1(0.01)", "l1(0.015)", rank=10, M=M)
    states = list(itertools.islice(bo.iterate(problem, method="bella", start=start), 1, 200))
    waiting = longest = 0
    for before, state in itertools.pairwise(states):
        short = before.inner.step.wanted(0.6) > 2 * before.step
        tried = state.counts.products - before.counts.products > 4  # a longer step failed its test
        waiting = waiting + 1 if short and state.step == before.step and not tried else 0
        longest = max(longest, waiting)
    assert longest <= 5
    assert max(state.step for state in states) > 10


def test_a_step_that_could_not_grow_is_tried_again_after_as_many_iterations():
    problem = small()
    run = bo.iterate(problem, method="bella(memory=0)")
    walk = next(itertools.islice(run, 5, None)).inner
    step, long = evolve(walk.step, curvature=0.01 / walk.step.envelope.model.step), walk.step.envelope.model.step
    walk = evolve(walk, step=step)
    assert walk.planned(0.6) == 2 * long, "at once after τ = 0"
    planned = []
    for _ in range(14):
        planned.append(walk.planned(0.6) if planned else long)
        walk = walk.after(step, planned[-1], plain=False)  # the test always takes it back to λ
    assert [round(step / long) for step in planned] == [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("start", ["scaled-random", "tsvd"])
def test_the_directions_are_worth_their_products(start):
    problem = bo.compose("relu-nmd", mycielskian(8), rank=6, U="l1(0.01)", V="l1(0.015)")
    ends = {}
    for memory in (0, 10):
        ends[memory] = bo.solve(problem, method=f"bella(memory={memory})", start=start, stop="max-products(600)")
    assert ends[10].objective < 0.9 * ends[0].objective


def test_a_problem_without_an_l1_weight_is_fitted_to_many_digits():
    result = bo.solve(small("none", "none"), method="bella", stop="max-products(1500)")
    assert result.metrics["relative_error"] < 1e-6


# ---- other problems


@frozen
class Quartic(bo.SmoothPart):
    """``F(y, w) = ¼(‖y‖² − 4)² + ½‖y − w·1‖²``, which says nothing of its constants."""

    def value(self, Y, W):
        return 0.25 * (float(Y.y @ Y.y) - 4.0) ** 2 + 0.5 * float(np.sum((Y.y - W) ** 2))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(y=(Y.y @ Y.y - 4.0) * Y.y + (Y.y - W))


@frozen
class Shrunk(bo.ClosedFormBlock):
    """``G(w) = |w|``, so w(y) is a soft threshold of the mean."""

    def argmin(self, smooth, Y):
        mean = float(Y.y.mean())
        return math.copysign(max(abs(mean) - 1.0 / Y.y.size, 0.0), mean)

    def value(self, W):
        return abs(W)


def test_a_problem_that_is_no_factorisation_and_knows_no_constant_reaches_its_minimum():
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=Quartic(), block=Shrunk(), kernel=kernel)
    result = bo.solve(
        problem, method="bella", start=bo.Blocks(y=[0.3, 0.1, 0.2, 0.4]), stop="stationarity(1e-8)", max_iterations=500
    )
    assert result.converged
    assert result.certificate.guaranteed
    assert result.certificate.monotone
    c = np.linspace(0, 2, 200001)  # y = c·1 at the minimum, by symmetry
    w = np.maximum(c - 0.25, 0)
    assert result.objective <= (0.25 * (4 * c**2 - 4) ** 2 + 2 * (c - w) ** 2 + w).min() + 1e-10


def test_trials_stay_in_the_domain_of_burgs_kernel():
    rng = np.random.default_rng(0)
    A, truth = rng.random((30, 8)), rng.random(8) * np.array([1, 1, 1, 1, 1e-3, 1e-3, 1, 1])
    problem = bo.Problem(smooth=Poisson(A, A @ truth, lower=None), block=NoBlock(), kernel=bo.make("kernel", "burg"))
    errors = {}
    for memory in (0, 10):
        run = bo.iterate(problem, method=f"bella(memory={memory})", start=bo.Blocks(y=np.ones(8)))
        states = list(itertools.islice(run, 200))
        values = [state.lyapunov for state in states]
        assert all(state.inner.step.envelope.model.Y_bar.flat.min() > 0 for state in states[1:])
        assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
        errors[memory] = np.abs(states[-1].Y.y - truth).max()
    assert errors[10] < 0.5 * errors[0] < 0.05


# ---- the interface


def test_states_say_what_they_show():
    problem = small()
    states = list(itertools.islice(bo.iterate(problem, method="bella"), 12))
    assert states[0].exact
    assert states[0].objective == pytest.approx(phi(problem, states[0].Y))
    assert not states[1].exact
    for state in states[1:]:
        true = phi(problem, state.Y)
        assert state.objective == pytest.approx(true, rel=1e-12) if state.exact else state.objective >= true
        made = state.inner.step.envelope
        np.testing.assert_array_equal(made.Y.flat, state.Y.flat)
        assert state.lyapunov == made.value
    assert sum(state.exact for state in states) >= 10


def test_the_subgradient_is_one():
    problem = small("l1(0.1)", "ridge(0.3)")
    run = bo.iterate(problem, method="bella")
    first = next(run)
    assert run.subgradient(first) is None
    for _ in range(30):
        state = next(run)
    A = run.subgradient(state).A
    slope = problem.oracle.evaluate(state.Y, at=state.Y).gradient
    np.testing.assert_allclose((A - slope).V, 0.3 * state.Y.V, rtol=1e-6, atol=1e-6)
    xi, U = (A - slope).U / 0.1, state.Y.U
    np.testing.assert_allclose(xi[U != 0], np.sign(U)[U != 0], rtol=1e-6)
    assert np.abs(xi).max() <= 1 + 1e-6


@pytest.mark.parametrize(
    "spec", ["bella(memory=-1)", "bella(sigma=0)", "bella(sigma=1)", "bella(target=0.96)", "bella(trials=-1)"]
)
def test_parameters_outside_their_range_are_refused(spec):
    with pytest.raises(bo.errors.ParameterError, match=r"parameter of BELLA must be"):
        bo.make("method", spec)


def test_a_test_that_failed_is_never_accepted_where_the_curvature_is_unknown(monkeypatch):
    import bregopt_methods.bregman.bella as step

    problem = bo.compose("relu-nmd", np.maximum(0, np.random.default_rng(0).standard_normal((8, 6))), rank=2)
    Y = problem.first_point(None, np.random.default_rng(0))
    seen, made = [], step.reached(problem, problem.oracle.evaluate(Y, at=Y), 64.0)

    def silent(made, evaluation):
        seen.append(made.model.step)
        return step.Step(made, evaluation, holds=made.model.step <= 16.0, curvature=None)

    monkeypatch.setattr(step, "_test", silent)
    assert step.tested(problem, made).holds
    assert seen == [64.0, 32.0, 16.0]
