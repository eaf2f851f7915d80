"""BMME against a dense NumPy loop, its Lyapunov function, PPALM as its special case, and the price of a step."""

import math

import attrs
import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from small_parts import Given, drawn_matrix, soft

import bregopt as bo

RANK, ITERATIONS = 4, 30
PENALTIES = {  # spec: (prox of r₁ (Z, step), ξ₂)
    "l1(0.1)": (lambda Z, t: soft(Z, 0.1 * t), np.zeros_like),
    "ridge(0.5)": (lambda Z, t: Z / (1 + 0.5 * t), np.zeros_like),
    "mcp(0.3, 2)": (lambda Z, t: soft(Z, 0.3 * t), lambda X: np.sign(X) * np.minimum(np.abs(X) / 2, 0.3)),
    "exp(0.1, 1.5)": (lambda Z, t: soft(Z, 0.15 * t), lambda X: 0.15 * (1 - np.exp(-1.5 * np.abs(X))) * np.sign(X)),
    "l1-minus-l2(0.2)": (lambda Z, t: soft(Z, 0.2 * t), lambda X: 0.2 * X / np.linalg.norm(X)),
    "with-nonneg(mcp(0.3, 2))": (
        lambda Z, t: np.maximum(Z - 0.3 * t, 0),
        lambda X: np.minimum(X / 2, 0.3),
    ),
}


def reference(M, U, V, spec, share):
    """The iteration as it is written: W at (U, V), then U, then V, each from its own extrapolated point."""
    prox, slope = PENALTIES[spec]
    U_old, V_old, theta, c_old, d_old, rows, limited = U, V, 1.0, 0.0, 0.0, [], 0
    for _ in range(ITERATIONS):
        W = np.where(M > 0, M, np.minimum(0, U @ V))
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        nesterov, theta = (theta - 1) / following, following
        c = np.linalg.norm(V, 2) ** 2
        beta = min(nesterov, math.sqrt(share * c_old / c))
        Z = U + beta * (U - U_old)
        U_new = prox(Z - ((Z @ V - W) @ V.T - slope(U)) / c, 1 / c)
        d = np.linalg.norm(U_new, 2) ** 2
        other = min(nesterov, math.sqrt(share * d_old / d))
        limited += (beta < nesterov) + (other < nesterov)
        Z = V + other * (V - V_old)
        V_new = prox(Z - (U_new.T @ (U_new @ Z - W) - slope(V)) / d, 1 / d)
        lag = 0.5 * (c * np.sum((U_new - U) ** 2) + d * np.sum((V_new - V) ** 2))
        U_old, V_old, U, V, c_old, d_old = U, V, U_new, V_new, c, d
        rows.append((beta, 1 / max(c, d), lag))
    return np.concatenate([U.ravel(), V.ravel()]), np.array(rows), limited


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("share", [0.9999, 0.5, 0.0])
@pytest.mark.parametrize("spec", PENALTIES)
def test_thirty_iterations_agree_with_the_dense_reference(M, start, spec, share, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK, U=spec, V=spec)
    Y0 = problem.regularizer.prox(start, 1e-12)
    x, rows, limited = reference(M, Y0.U, Y0.V, spec, share)
    result = bo.solve(problem, method=f"bmme({share})", start=Y0, max_iterations=ITERATIONS)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-9 * np.abs(x).max())
    history = result.history
    lag = history["lyapunov"][1:] - history["objective"][1:]
    np.testing.assert_allclose(history["beta"][1:], rows[:, 0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(history["step"][1:], rows[:, 1], rtol=1e-7)
    np.testing.assert_allclose(lag, rows[:, 2] if share else 0.0, rtol=1e-5, atol=1e-9)
    assert limited > 0 or share != 0.5, "β was cut"


def test_without_extrapolation_and_with_a_convex_H_it_is_ppalm(M, start):
    for H in ("l1(0.1)", "nonneg", "nuclear(0.1)"):
        problem = bo.compose("relu-nmd", M, rank=RANK, U=H, V=H)
        Y0 = problem.regularizer.prox(start, 1e-12)
        one, two = (bo.solve(problem, method=it, start=Y0, max_iterations=20) for it in ("bmme(0)", "ppalm"))
        np.testing.assert_array_equal(one.Y.flat, two.Y.flat)
        for column in ("objective", "lyapunov", "stationarity", "step", "products"):
            np.testing.assert_array_equal(one.history[column], two.history[column])


def penalties(s):
    """Regularizers that weigh about the same on data of size s."""
    l1, curvature = 0.05 * s**1.5, 0.3 * s
    return [
        *("none", "nonneg", f"ridge({curvature})", f"l1({l1})", f"nuclear({l1})", f"l1-minus-l2({l1})"),
        *(f"mcp({l1}, {1 / curvature})", f"scad({l1}, {2 + 1 / curvature})", f"log({curvature * s}, {s**0.5})"),
        *(f"exp({curvature * s}, {s**-0.5})", f"capped-l1({l1}, {0.1 * s**0.5})", f"mcp({l1}, {1e-3 / curvature})"),
    ]


@st.composite
def cases(draw):
    """A random M at one of three scales, H, and a start."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    M, r = drawn_matrix(draw, rng)
    s = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    H = {name: draw(st.sampled_from(penalties(s))) for name in "UV"}
    size = 10.0 ** draw(st.integers(-2, 1)) * np.sqrt(np.linalg.norm(M) * s)
    Y = bo.Blocks(U=rng.standard_normal((M.shape[0], r)) * size, V=rng.standard_normal((r, M.shape[1])) * size)
    return bo.compose("relu-nmd", M * s, rank=r, **H), Y


@settings(max_examples=80, deadline=None)
@given(cases(), st.sampled_from(["bmme", "bmme(0)", "bmme(0.5)"]))
def test_the_lyapunov_value_never_rises(case, method):
    problem, start = case
    result = bo.solve(problem, method=method, start=start, max_iterations=25)
    assert result.certificate.monotone
    assert result.certificate.assumptions_held


@pytest.mark.parametrize(("U", "products"), [("l1(0.1)", 3), ("mcp(0.1, 3)", 3), ("nuclear(0.1)", 4)])
def test_k_iterations_cost_three_times_k_plus_one_products_where_r1_goes_by_rows(M, start, U, products):
    result = bo.solve(bo.compose("relu-nmd", M, rank=RANK, U=U), method="bmme", start=start, max_iterations=17)
    np.testing.assert_array_equal(result.history["products"], products * np.arange(1, 19))


@frozen(eq=False)
class OnlyLipschitz(bo.SmoothPart):
    """½‖W − UV‖², which knows its Lipschitz constants, and no matrix behind them."""

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.U @ Y.V - W) ** 2))

    def value_and_gradient(self, Y, W):
        R = Y.U @ Y.V - W
        return 0.5 * float(np.sum(R**2)), bo.Blocks(U=R @ Y.V.T, V=Y.U.T @ R)

    def block_lipschitz(self, Y, name):
        return float(np.linalg.norm(Y.V if name == "U" else Y.U, 2) ** 2)


class WithGram(OnlyLipschitz):
    def gram(self, Y, name):
        return Y.V @ Y.V.T if name == "U" else Y.U.T @ Y.U


def plain(smooth):
    rng = np.random.default_rng(3)
    M = rng.random((9, 7)) + 0.1
    H = bo.make("regularizer", "mcp(0.3, 2)")
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=smooth, block=Given(M), regularizer=H, kernel=kernel)
    return problem, bo.Blocks(U=rng.standard_normal((9, 2)), V=rng.standard_normal((2, 7))), M


def test_an_F_that_is_not_known_to_be_convex_in_a_block_allows_for_less_extrapolation():
    runs = {}
    for smooth in (OnlyLipschitz(), WithGram()):
        problem, start, _ = plain(smooth)
        runs[type(smooth)] = bo.solve(problem, method="bmme", start=start, max_iterations=60)
        assert runs[type(smooth)].certificate.assumptions_held
    less, more = (np.nanmax(run.history["beta"]) for run in runs.values())
    assert less < math.sqrt(0.5) * 1.2 < more


@pytest.mark.parametrize(("smooth", "share"), [(OnlyLipschitz(), 0.9999 / 2), (WithGram(), 0.9999)])
def test_a_plain_problem_agrees_with_the_reference_with_a_gram_and_with_two_evaluations(smooth, share):
    """Without a gram l = L, which halves what β may cost."""
    problem, Y0, M = plain(smooth)
    x, rows, _ = reference(M, Y0.U, Y0.V, "mcp(0.3, 2)", share)
    result = bo.solve(problem, method="bmme", start=Y0, max_iterations=ITERATIONS)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-9 * np.abs(x).max())
    assert rows[:, 0].max() > 0.6


def test_the_plain_oracle_gives_the_same(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="mcp(0.1, 3)", V="l1(0.1)")
    swept = bo.solve(problem, method="bmme", start=start, max_iterations=15)
    by_parts = attrs.evolve(problem, oracle=bo.PlainOracle(problem.smooth, problem.block, problem.metrics))
    two = bo.solve(by_parts, method="bmme", start=start, max_iterations=15)
    np.testing.assert_allclose(two.Y.flat, swept.Y.flat, rtol=0, atol=1e-10)


def test_a_graph_in_the_smooth_part_is_stepped_with_its_own_constant(M, start):
    A = np.diag(np.ones(30), 1) + np.diag(np.ones(30), -1)
    graph = bo.make("regularizer", "graph", np.diag(A.sum(1)) - A, mu=3.0)
    result = bo.solve(bo.compose("relu-nmd", M, rank=RANK, graph=graph), method="bmme", start=start, max_iterations=60)
    assert result.certificate.assumptions_held
    assert np.nanmax(result.history["beta"]) > 0.5


def test_a_block_that_F_does_not_see_keeps_its_digits():
    """With U = 0 there is no L for V: the step is then bounded by the slope of r₂ alone."""
    rng = np.random.default_rng(0)
    M, V = rng.random((6, 5)), rng.standard_normal((2, 5))
    problem = bo.compose("relu-nmd", M, rank=2, U="nonneg", V="mcp(0.1, 3)")
    result = bo.solve(problem, method="bmme", start=bo.Blocks(U=np.zeros((6, 2)), V=-np.abs(V)), max_iterations=1)
    assert not result.Y.U.any()
    large = np.abs(V) > 0.3  # where mcp is flat
    np.testing.assert_allclose(result.Y.V[large], -np.abs(V)[large], rtol=1e-9)
    assert result.certificate.assumptions_held


def test_the_fixed_points_are_those_of_aapb():
    rng = np.random.default_rng(5)
    M = np.maximum(0, rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)))
    problem = bo.compose("relu-nmd", M, rank=2, U="with-ridge(exp(0.6, 1.5), 0.5)", V="with-ridge(exp(0.6, 1.5), 0.5)")
    end = bo.solve(problem, method="aapb", stop="stationarity(1e-10)", max_iterations=2000)
    stays = bo.solve(problem, method="bmme", start=end.Y, max_iterations=30)
    np.testing.assert_allclose(stays.Y.flat, end.Y.flat, rtol=0, atol=1e-7)
    result = bo.solve(problem, method="bmme", stop="stationarity(1e-6)", max_iterations=2000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6
    assert result.objective == pytest.approx(end.objective, rel=1e-9)


def test_a_share_out_of_range_is_refused_by_name():
    with pytest.raises(
        bo.errors.ParameterError, match="'share' parameter of BMME must be a finite number >= 0 and < 1"
    ):
        bo.make("method", "bmme(1)")
