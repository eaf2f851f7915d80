"""What never rises, over many random problems; and that the certificate names what does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_parts import drawn_matrix

import bregopt as bo

CONVEX = ["none", "ridge(0.5)", "l1(0.1)", "nonneg", "elastic-net(0.1, 0.2)"]
ANY = [*CONVEX, "l0-ball(5)", "l0-ball(2, per=row)"]


@st.composite
def problems(draw, regularizers):
    """A random M (dense, sparse or low-rank, at any scale), a rank, H, and a start."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    M, r = drawn_matrix(draw, rng)
    m, n = M.shape
    M *= 10.0 ** draw(st.integers(-3, 3))
    H = {"U": draw(st.sampled_from(regularizers)), "V": draw(st.sampled_from(regularizers))}
    size = 10.0 ** draw(st.integers(-2, 1)) * np.sqrt(np.linalg.norm(M))
    Y = bo.Blocks(U=rng.standard_normal((m, r)) * size, V=rng.standard_normal((r, n)) * size)
    return M, r, H, Y


def scale(result):
    """The terms of the Lyapunov value, row by row."""
    return np.abs(result.history["objective"]) + np.abs(result.history["lyapunov"])


@settings(max_examples=60, deadline=None)
@given(problems(ANY), st.sampled_from(["paper", "tight", "fixed"]))
def test_apb_never_raises_the_objective(case, kernel):
    M, rank, H, start = case
    problem = bo.compose("relu-nmd", M, rank=rank, kernel=kernel, **H)
    result = bo.solve(problem, method="apb(step=1)", start=start, max_iterations=25)
    objective = result.history["objective"]
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()
    assert result.certificate.monotone
    assert result.certificate.assumptions_held


@pytest.mark.parametrize("bound", ["kernel", "low"])
@pytest.mark.parametrize(("kernel", "w"), [("paper", "Y"), ("tight", "Y"), ("fixed", "Ybar"), ("paper", "Ybar")])
def test_assumption2_never_raises_the_lyapunov_value(kernel, w, bound):
    @settings(max_examples=25, deadline=None)
    @given(problems(CONVEX))
    def check(case):
        M, rank, H, start = case
        problem = bo.compose("relu-nmd", M, rank=rank, kernel=kernel, **H)
        method = f"aapb(beta=assumption2(bound={bound}), step=1, w={w})"
        result = bo.solve(problem, method=method, start=start, max_iterations=25)
        history = result.history
        theta = history["objective"] + 0.999 * np.nan_to_num(history["divergence"] / history["step"])
        np.testing.assert_allclose(theta, history["lyapunov"], rtol=1e-12)
        assert (np.diff(theta) <= 1e-12 * (theta[1:] + theta[:-1])).all()
        assert result.certificate.monotone
        assert result.certificate.assumptions_held

    check()


@pytest.mark.parametrize(("kernel", "w"), [("paper", "Y"), ("tight", "Y"), ("fixed", "Ybar")])
def test_assumption2_really_extrapolates(kernel, w):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 15)))
    problem = bo.compose("relu-nmd", M, rank=3, kernel=kernel, U="l1(0.1)")
    result = bo.solve(problem, method=f"aapb(step=1, w={w})", max_iterations=60)
    assert result.history["beta"][-20:].min() > 0.6
    assert result.objective < bo.solve(problem, method="apb(step=1)", max_iterations=60).objective


@settings(max_examples=25, deadline=None)
@given(problems(CONVEX), st.sampled_from(["Y", "Ybar"]))
def test_the_monotone_step_falls_only_and_keeps_the_lyapunov_value_falling(case, w):
    M, rank, H, start = case
    problem = bo.compose("relu-nmd", M, rank=rank, **H)
    result = bo.solve(problem, method=f"aapb(step=monotone(20), w={w})", start=start, max_iterations=25)
    steps = result.history["step"][1:]
    assert (np.diff(steps) <= 0).all()
    theta = result.history["lyapunov"]
    assert (np.diff(theta) <= 1e-11 * theta[:-1] + 1e-28 * np.linalg.norm(M) ** 2).all()
    assert result.certificate.assumptions_held


def one_by_one(kernel, step):
    problem = bo.compose("relu-nmd", [[1.0]], rank=1, kernel=kernel)
    start = bo.Blocks(U=[[0.0]], V=[[10.0]])
    return bo.solve(problem, method=f"apb(step={step})", start=start, max_iterations=1)


def test_a_kernel_that_is_too_small_raises_the_objective_and_the_certificate_names_the_iteration():
    planted = 0.3 * bo.make("kernel", "psi1") + 1.0 * bo.make("kernel", "psi2")
    result = one_by_one(planted, 1)
    np.testing.assert_allclose(result.history["objective"], [0.5, 2.47], rtol=2e-3)
    assert result.certificate.rises == (1,)
    assert result.certificate.assumptions["step"].failed_at == (1,)
    assert "rose at iteration 1" in result.certificate.summary()


def test_a_step_that_is_too_long_raises_the_objective_and_the_certificate_names_the_iteration():
    result = one_by_one("paper", 30)
    np.testing.assert_allclose(result.history["objective"], [0.5, 39.6], rtol=2e-3)
    assert result.certificate.rises == (1,)
    assert not result.certificate.guaranteed


def test_a_step_beyond_the_theory_is_reported_even_where_nothing_rose():
    M = np.random.default_rng(0).random((8, 6))
    result = bo.solve(bo.compose("relu-nmd", M, rank=2, kernel="tight"), method="apb(step=1.5)", max_iterations=10)
    assert result.certificate.monotone
    assert result.certificate.assumptions["step"].failed_at == tuple(range(1, 11))
    assert not result.certificate.guaranteed
    assert "No guarantee applies" in result.certificate.summary()


def test_the_fixed_kernel_with_a_lagging_W_is_allowed_without_a_guarantee():
    M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 15)))
    problem = bo.compose("relu-nmd", M, rank=3, kernel="fixed")
    result = bo.solve(problem, method="aapb(step=1)", max_iterations=20)
    assert not result.certificate.guaranteed
    assert bo.solve(problem, method="aapb(step=1, w=Ybar)", max_iterations=20).certificate.guaranteed


def test_a_constant_beta_beyond_assumption_2_is_reported():
    M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 15)))
    result = bo.solve(bo.compose("relu-nmd", M, rank=3), method="aapb(beta=0.95, step=1)", max_iterations=20)
    assert not result.certificate.assumptions["extrapolation"].held
    assert result.certificate.assumptions["step"].held


def test_extrapolation_with_a_regularizer_that_is_not_weakly_convex_has_no_guarantee():
    M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 15)))
    problem = bo.compose("relu-nmd", M, rank=3, U="l0-ball(20)")
    assert not bo.solve(problem, method="aapb-certified", max_iterations=5).certificate.assumptions["convexity"].held
    assert bo.solve(problem, method="aapb", max_iterations=5).certificate.guaranteed  # by the guard
    assert bo.solve(problem, method="apb", max_iterations=5).certificate.guaranteed
