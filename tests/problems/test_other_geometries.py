"""Steps, kernels and results on problems that are no factorisation: other constants, open domains, weak kernels."""

import math

import mpmath
import numpy as np
import pytest
from attrs import frozen

import bregopt as bo
from bregopt.errors import IncompatibleError, OverflowedError


@frozen(eq=False)
class Nothing(bo.ClosedFormBlock):
    """No W at all."""

    def argmin(self, smooth, Y):
        return None

    def value(self, W):
        return 0.0


@frozen(eq=False)
class QuadraticInverse(bo.SmoothPart):
    """``F(x) = ¼ Σ (⟨a_i, x⟩² − b_i)²``, b ≥ 0."""

    A: object
    b: object

    def value(self, Y, W):
        return 0.25 * float(np.sum((np.square(self.A @ Y.x) - self.b) ** 2))

    def value_and_gradient(self, Y, W):
        z = self.A @ Y.x
        return self.value(Y, W), bo.Blocks(x=self.A.T @ ((z * z - self.b) * z))

    def smad(self, kernel, norms, reduced):
        # d²F = Σ (3⟨a, x⟩² − b)⟨a, h⟩² ≤ 3‖Σ |a|² a aᵀ‖ |x|²|h|²
        alpha = 3.0 * np.linalg.norm(self.A.T * np.sum(self.A**2, axis=1) @ self.A, 2)
        return bo.Smad(upper=alpha / kernel.share(bo.make("kernel", "psi1")))


def quadratic_inverse(H="none", kernel=("psi1", "psi2")):
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((30, 6)), rng.standard_normal(6)
    problem = bo.Problem(
        smooth=QuadraticInverse(A, np.square(A @ x)),
        block=Nothing(),
        kernel=sum((bo.make("kernel", name) for name in kernel[1:]), bo.make("kernel", kernel[0])),
        regularizer=bo.make("regularizer", H),
    )
    return problem, bo.Blocks(x=x + 0.3 * rng.standard_normal(6))


def test_bpg_takes_its_step_from_the_constant_of_the_problem():
    problem, start = quadratic_inverse()
    result = bo.solve(problem, method="bpg", start=start, max_iterations=300)
    L = problem.smooth.smad(problem.kernel, {}, True).upper
    assert L > 1000
    np.testing.assert_allclose(result.history["step"][1:], 1 / (1.1 * L), rtol=1e-12)
    assert result.certificate.guaranteed
    assert result.objective < 0.1 * result.history["objective"][0]


def test_bpg_takes_a_constant_that_is_given():
    problem, start = quadratic_inverse()
    result = bo.solve(problem, method="bpg(L=50000)", start=start, max_iterations=3)
    np.testing.assert_array_equal(result.history["step"][1:], 1 / 50000)


@pytest.mark.parametrize("rule", ["monotone", "backtrack", "predicted"])
@pytest.mark.parametrize("D_F", [1e80, math.inf])
def test_no_step_rule_takes_a_rise_for_rounding(rule, D_F):
    trial = bo.Trial(step=1e-3, D_F=D_F, D_psi=1e60, noise=1e70)
    accepted, step = bo.make("step", rule).judgement(trial)
    assert not accepted
    assert step < trial.step


@pytest.mark.parametrize("rule", ["monotone", "backtrack", "predicted"])
def test_a_step_rule_takes_what_is_rounding_on_both_sides(rule):
    trial = bo.Trial(step=1.0, D_F=3e-12, D_psi=1e-14, noise=1e-12)
    assert bo.make("step", rule).judgement(trial)[0]


@pytest.mark.parametrize("rule", ["monotone", "backtrack", "predicted"])
def test_a_step_rule_gives_up_where_no_step_passes(rule):
    def shortened(step):
        while True:
            _, step = bo.make("step", rule).judgement(bo.Trial(step, D_F=1.0, D_psi=1e-3 * step, noise=0.0))

    with pytest.raises(OverflowedError, match="No step passes the upper test"):
        shortened(1.0)


@frozen(eq=False)
class Jumps(bo.Method):
    """Falls from 8 to 1 and jumps to 3 at the fourth iteration, as a method without a guard may."""

    def start(self, problem, Y):
        return bo.State.at(problem.oracle.evaluate(Y), 0.0)

    def advance(self, problem, state):
        k = state.iteration + 1
        Y = state.Y.like(np.full(state.Y.flat.shape, [8.0, 4.0, 2.0, 1.0, 3.0, 3.0][k]))
        return bo.State.at(problem.oracle.evaluate(Y), 0.0, iteration=k)


def test_a_run_returns_the_best_point_it_has_seen():
    problem, start = quadratic_inverse()
    away = start.like(np.full(6, 8.0))
    result = bo.solve(problem, method=Jumps(), start=away, max_iterations=5)
    assert result.objective == result.history["objective"].min()
    assert result.objective < result.history["objective"][-1]
    assert result.iterations == 5
    np.testing.assert_array_equal(result.Y.x, 1.0)
    assert "The point of iteration 3 is returned" in result.certificate.summary()


SIZES = [(1.0, 1e-320), (1e-320, 1.0), (1e300, 1e-300), (1e-300, 1e300), (2e-9, 1e9), (1.0, 1.0 + 1e-9), (5.0, 0.3)]


@pytest.mark.parametrize(("y", "z"), SIZES)
def test_divergences_of_open_domains_neither_overflow_nor_cancel(y, z):
    with mpmath.workdps(60):
        Y, Z = mpmath.mpf(y), mpmath.mpf(z)
        shannon, burg = Y * mpmath.log(Y / Z) - Y + Z, Y / Z - 1 - mpmath.log(Y / Z)
    here, there = bo.Blocks(x=np.array([y])), bo.Blocks(x=np.array([z]))
    assert bo.make("kernel", "boltzmann-shannon").divergence(here, there) == pytest.approx(float(shannon), rel=1e-13)
    found = bo.make("kernel", "burg").divergence(here, there)
    assert found == pytest.approx(float(burg), rel=1e-13) if burg < 1.7e308 else found == math.inf


@pytest.mark.parametrize("y", [1e-300, 1e-17, 0.25, 1 - 1e-15])
@pytest.mark.parametrize("apart", [1e-12, 1e-3, 0.5])
def test_the_divergence_of_fermi_dirac_keeps_its_digits_at_both_ends(y, apart):
    z = y * (1.0 - apart)
    with mpmath.workdps(60):
        Y, Z = mpmath.mpf(y), mpmath.mpf(z)
        exact = Y * mpmath.log(Y / Z) + (1 - Y) * mpmath.log((1 - Y) / (1 - Z))
    found = bo.make("kernel", "fermi-dirac").divergence(bo.Blocks(x=np.array([y])), bo.Blocks(x=np.array([z])))
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("method", ["cocain", "bella"])
def test_a_kernel_without_strong_convexity_is_refused_where_H_is_weakly_convex(method):
    problem, start = quadratic_inverse("mcp(0.1, 2)", ("power(6)", "power(3)"))
    with pytest.raises(IncompatibleError, match="σ = 0"):
        bo.solve(problem, method=method, start=start, max_iterations=3)


@pytest.mark.parametrize("method", ["cocain", "bella"])
def test_such_a_kernel_serves_where_H_is_convex(method):
    problem, start = quadratic_inverse("l1(0.01)", ("psi1", "power(6)"))
    result = bo.solve(problem, method=method, start=start, max_iterations=20)
    assert result.objective < result.history["objective"][0]


@frozen(eq=False)
class Known(bo.ClosedFormBlock):
    """W = M, and nothing is said of its norms but what is given."""

    M: object
    known: object

    def argmin(self, smooth, Y):
        return self.M

    def value(self, W):
        return 0.0

    def norms(self, W):
        return self.known


def silent(known=()):
    M = np.random.default_rng(0).standard_normal((6, 5))
    start = bo.Blocks(U=np.ones((6, 2)), V=np.eye(2, 5))
    kernel = bo.make("kernel", "psi1 + 20*psi2")
    return bo.Problem(smooth=bo.make("smooth", "factorization"), block=Known(M, dict(known)), kernel=kernel), start


@pytest.mark.parametrize("method", ["aapb-paper", "aapb(kernel=tight)"])
def test_a_kernel_that_follows_a_norm_that_nobody_knows_is_refused(method):
    problem, start = silent()
    with pytest.raises(IncompatibleError, match=r"ClosedFormBlock\.norms"):
        bo.solve(problem, method=method, start=start, max_iterations=3)


def test_an_unknown_norm_is_no_constant_and_no_error():
    for known in ({}, {"spectral": 20.0}):
        problem, start = silent(known)
        result = bo.solve(problem, method="aapb", start=start, max_iterations=20)
        assert result.certificate.monotone
        assert result.objective < result.history["objective"][0]


def poisson_at_the_end(seed, reverse):
    rng = np.random.default_rng(seed)
    A = rng.random((40, 12))
    b = rng.poisson(A @ (np.maximum(rng.standard_normal(12), 0) * 5)) + float(reverse)
    return bo.compose("poisson", A, b, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_aapb_stays_off_the_end_of_an_open_domain_and_ends_below_apb(seed, reverse):
    problem = poisson_at_the_end(seed, reverse)
    plain, fast = (bo.solve(problem, method=method, max_iterations=1500) for method in ("apb", "aapb"))
    assert fast.objective <= plain.objective * (1 + 1e-12)
    assert fast.Y.x.min() > 1e-200
    gradient = problem.oracle.evaluate(fast.Y, at=fast.Y).gradient.x
    assert fast.certificate.subgradient == pytest.approx(np.linalg.norm(np.minimum(fast.Y.x, gradient)), rel=1e-3)


def test_a_tolerance_fires_where_the_optimum_lies_on_the_end_of_the_domain():
    result = bo.solve(poisson_at_the_end(2, reverse=True), method="bella", tolerance=1e-8, max_iterations=3000)
    assert result.converged
    assert result.Y.x.min() < 1e-8
    assert result.certificate.guaranteed


@pytest.mark.parametrize("method", ["apb", "aapb", "aapb-paper", "palm", "bella", "cocain", "bpg", "bpalm", "mu"])
@pytest.mark.parametrize("iterations", [0, 1, 3, 30])
def test_no_run_is_guaranteed_without_an_iteration_or_farther_out_than_it_began(method, iterations):
    M = np.abs(np.random.default_rng(0).standard_normal((12, 9)))
    problem = bo.compose("low-rank", M, rank=2, U="nonneg", V="nonneg") if method == "mu" else None
    problem = problem or bo.compose("relu-nmd", M, rank=2)
    for size in (1e-3, 1.0, 1e3):
        start = problem.first_point(None, np.random.default_rng(1)) * size
        start = start.map(lambda name, X: np.abs(X)) if method == "mu" else start
        certificate = bo.solve(problem, method=method, start=start, max_iterations=iterations).certificate
        if certificate.guaranteed:
            assert certificate.iterations > 0
            assert certificate.subgradient <= certificate.first_residual
        elif certificate.assumptions_held and certificate.monotone and certificate.iterations:
            assert "farther from stationarity than the first step" in certificate.summary()
