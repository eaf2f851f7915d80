"""PALM, iPALM, PPALM and iPPALM against an independent dense NumPy iteration, and what never rises with them."""

import attrs
import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from small_parts import Given, drawn_matrix, hard, soft

import bregopt as bo

ITERATIONS, RANK = 30, 4


def firm(Z, t, eta, gamma):
    inside = soft(Z, t * eta) / (1 - t / gamma)
    return np.where(np.abs(Z) <= gamma * eta, inside, Z)


def shrunk(Z, tau):
    left, s, right = np.linalg.svd(Z, full_matrices=False)
    return left * np.maximum(s - tau, 0) @ right


MODELS = {  # name: (spec of U, spec of V, their proximal maps (Z, step), modulus ρ of weak convexity)
    "none": ("none", "none", lambda Z, t: Z, lambda Z, t: Z, 0.0),
    "l1": ("l1(0.1)", "l1(0.3)", lambda Z, t: soft(Z, 0.1 * t), lambda Z, t: soft(Z, 0.3 * t), 0.0),
    "nonneg": ("nonneg", "ridge(2)", lambda Z, t: np.maximum(Z, 0), lambda Z, t: Z / (1 + 2 * t), 0.0),
    "l0-ball": ("l0-ball(60)", "l0-ball(50)", lambda Z, t: hard(Z, 60), lambda Z, t: hard(Z, 50), None),
    "mcp": ("mcp(0.3, 9)", "mcp(0.3, 9)", *[lambda Z, t: firm(Z, t, 0.3, 9.0)] * 2, 1 / 9),
    "nuclear": ("nuclear(0.5)", "nuclear(0.2)", lambda Z, t: shrunk(Z, 0.5 * t), lambda Z, t: shrunk(Z, 0.2 * t), 0.0),
}


def scaled(scale):
    return lambda L, rho: scale * L


def pock_sabach(alpha, beta, gamma):
    """The formulas of the publication with ε = 0 and the present L for its bound, and that for weak convexity."""

    def modulus(L, rho):
        delta = (alpha + beta) / (1 - 2 * alpha) * L
        tau = (delta + (1 + beta) * L) / (1 - alpha)
        if rho == 0:
            delta = (alpha + 2 * beta) / (2 * (1 - alpha)) * L
            tau = (delta + (1 + beta) * L) / (2 - alpha)
        elif rho is not None:
            tau = min(tau, (L * (1 + 2 * beta) + rho) / (2 * (1 - alpha)))
        return gamma * tau

    return modulus


def steady(alpha, beta):
    return lambda k: (alpha, beta)


def growing(k):
    return ((k - 1) / (k + 2),) * 2


METHODS = {  # spec: (α_k and β_k, c)
    "palm": (steady(0, 0), scaled(1.001)),
    "palm(gamma=2)": (steady(0, 0), scaled(2.0)),
    "ppalm": (steady(0, 0), scaled(1.0)),
    "ppalm(scale=1.5)": (steady(0, 0), scaled(1.5)),
    "ippalm": (steady(0.6, 0.6), scaled(1.0)),
    "ippalm(beta=growing)": (growing, scaled(1.0)),
    "ipalm": (steady(0.2, 0.2), pock_sabach(0.2, 0.2, 1.05)),
    "ipalm(alpha=0.1, beta=0.5, gamma=1)": (steady(0.1, 0.5), pock_sabach(0.1, 0.5, 1.0)),
    "ipalm(alpha=0.4, beta=0, gamma=1)": (steady(0.4, 0.0), pock_sabach(0.4, 0.0, 1.0)),
    "ipalm(rule=growing)": (growing, scaled(1.0)),
}


def reference(M, U, V, method, model):
    """The iteration as it is written, with W stored and no shared products."""
    inertia, modulus = METHODS[method]
    _, _, prox_U, prox_V, rho = MODELS[model]
    U_prev, V_prev, fits = U, V, []
    for k in range(1, ITERATIONS + 1):
        alpha, beta = inertia(k)
        W = np.where(M > 0, M, np.minimum(0, U @ V))
        fits.append(0.5 * np.sum((W - U @ V) ** 2))
        c = modulus(np.linalg.norm(V, 2) ** 2, rho)
        Z = U + beta * (U - U_prev)
        U_new = prox_U(U + alpha * (U - U_prev) - (Z @ V - W) @ V.T / c, 1 / c)
        d = modulus(np.linalg.norm(U_new, 2) ** 2, rho)
        Z = V + beta * (V - V_prev)
        V_new = prox_V(V + alpha * (V - V_prev) - U_new.T @ (U_new @ Z - W) / d, 1 / d)
        U_prev, V_prev, U, V = U, V, U_new, V_new
    return U, V, fits


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_thirty_iterations_agree_with_the_dense_reference(M, start, method, model, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK, U=MODELS[model][0], V=MODELS[model][1])
    Y0 = problem.regularizer.prox(start, 1e-12)
    result = bo.solve(problem, method=method, start=Y0, max_iterations=ITERATIONS)
    U, V, fits = reference(M, Y0.U, Y0.V, method, model)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-10 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-10 * np.abs(V).max())
    shown = result.history["model_residual"][:-1] * np.linalg.norm(M)
    np.testing.assert_allclose(0.5 * shown**2, fits, rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_several_tiles_and_the_plain_oracle_give_the_same(M, start, method, small_tiles):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="nonneg")
    whole = bo.solve(problem, method=method, start=start, max_iterations=20)
    plain = attrs.evolve(problem, oracle=bo.PlainOracle(problem.smooth, problem.block, problem.metrics))
    two = bo.solve(plain, method=method, start=start, max_iterations=20)
    np.testing.assert_allclose(two.Y.flat, whole.Y.flat, rtol=0, atol=1e-11)
    small_tiles(least=100)
    tiled = bo.solve(problem, method=method, start=start, max_iterations=20)
    np.testing.assert_allclose(tiled.Y.flat, whole.Y.flat, rtol=0, atol=1e-11)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((400, 360)))
    runs = [
        bo.solve(
            bo.compose("relu-nmd", M, rank=3, U="l1(0.1)", threads=threads),
            method="ippalm",
            max_iterations=5,
        )
        for threads in (1, 2)
    ]
    np.testing.assert_allclose(runs[0].Y.flat, runs[1].Y.flat, rtol=0, atol=1e-11)
    assert runs[0].certificate.subgradient == pytest.approx(runs[1].certificate.subgradient, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("U", "products"), [("l1(0.1)", 3), ("l0-ball(2, per=row)", 3), ("nuclear(0.1)", 4)])
def test_k_iterations_cost_three_times_k_plus_one_products_where_H_goes_by_rows_and_four_elsewhere(
    M, start, method, U, products
):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=U)
    assert (bo.Trait.ROW_WISE in problem.regularizer["U"].traits) == (products == 3)
    result = bo.solve(problem, method=method, start=start, max_iterations=17)
    np.testing.assert_array_equal(result.history["products"], products * np.arange(1, 19))
    for column in ("objective", "relative_error", "lyapunov"):
        assert np.isfinite(result.history[column]).all()
    assert result.counts.products == result.history["products"][-1] + 3, "a subgradient costs an evaluation"


EQUAL = [
    ("ippalm(beta=0)", "ppalm", "l1(0.1)"),
    ("palm(gamma=1)", "ppalm", "l1(0.1)"),
    ("palm", "ppalm(scale=1.001)", "l0-ball(60)"),
    ("ipalm(alpha=0, beta=0)", "palm(gamma=1.05)", "l0-ball(60)"),
    ("ipalm(alpha=0, beta=0, gamma=2)", "palm(gamma=1)", "l1(0.1)"),  # a convex H allows for steps of up to 2/L
    ("ipalm(rule=growing)", "ippalm(beta=growing)", "l1(0.1)"),
]


@pytest.mark.parametrize(("special", "plain", "H"), EQUAL)
def test_special_cases_are_the_same_method(M, start, special, plain, H):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=H, V=H)
    one, two = (bo.solve(problem, method=method, start=start, max_iterations=20) for method in (special, plain))
    assert one.certificate.lyapunov == two.certificate.lyapunov
    for column in ("objective", "lyapunov", "stationarity", "step"):
        np.testing.assert_array_equal(one.history[column], two.history[column])
    np.testing.assert_array_equal(one.Y.flat, two.Y.flat)


def test_a_quarter_is_the_inertia_for_which_ipalm_takes_the_steps_of_ippalm(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="l1(0.1)")
    methods = ("ipalm(alpha=0.25, beta=0.25, gamma=1)", "ippalm(beta=0.25)")
    one, two = (bo.solve(problem, method=method, start=start, max_iterations=20) for method in methods)
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-12)


def penalties(s):
    """Regularizers that weigh about the same on data of size s."""
    l1, curvature = 0.05 * s**1.5, 0.3 * s
    return [
        *("none", "nonneg", f"ridge({curvature})", f"l1({l1})", f"elastic-net({l1}, {curvature})", f"nuclear({l1})"),
        *(f"mcp({l1}, {1 / curvature})", f"scad({l1}, {2 + 1 / curvature})", f"log({curvature * s}, {s**0.5})"),
        *("l0-ball(5)", "l0-ball(2, per=row)", f"l0({l1 * s**0.5})", f"mcp({l1}, {1e-3 / curvature})"),
    ]


@st.composite
def cases(draw):
    """A random M (low-rank, sparse or dense; as an array or by rows; at any scale), H, and a start."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    M, r = drawn_matrix(draw, rng)
    m, n = M.shape
    s = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    H = {name: draw(st.sampled_from(penalties(s))) for name in "UV"}
    size = 10.0 ** draw(st.integers(-2, 1)) * np.sqrt(np.linalg.norm(M) * s)
    Y = bo.Blocks(U=rng.standard_normal((m, r)) * size, V=rng.standard_normal((r, n)) * size)
    form = draw(st.sampled_from([np.asarray, scipy.sparse.csr_array]))
    return bo.compose("relu-nmd", form(M * s), rank=r, **H), Y


@settings(max_examples=80, deadline=None)
@given(cases(), st.sampled_from(["palm", "ppalm", "ppalm(scale=1.5)", "ippalm(beta=0)"]))
def test_the_objective_never_rises_without_inertia(case, method):
    problem, start = case
    result = bo.solve(problem, method=method, start=start, max_iterations=25)
    objective = result.history["objective"]
    exact = 1e-30 * max(float(np.square(problem.block.M.frobenius)), objective[0])  # of a fit to the last digit
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1]) + exact).all()
    np.testing.assert_array_equal(objective, result.history["lyapunov"])
    assert result.certificate.monotone
    assert result.certificate.assumptions_held


@settings(max_examples=80, deadline=None)
@given(cases(), st.sampled_from(["ipalm", "ipalm(alpha=0.4, beta=0.4)", "ippalm(beta=0.2)", "ippalm", "ipalm(0, 0.3)"]))
def test_the_lyapunov_value_rises_only_where_an_assumption_failed(case, method):
    problem, start = case
    certificate = bo.solve(problem, method=method, start=start, max_iterations=25).certificate
    assert set(certificate.rises) <= set(certificate.assumptions["extrapolation"].failed_at)
    assert certificate.monotone or not certificate.guaranteed


@pytest.mark.parametrize("H", ["l1(0.1)", "mcp(0.1, 9)", "l0-ball(60)"])
def test_the_rule_of_ipalm_keeps_its_guarantee_on_a_run(M, start, H):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=H, V=H)
    result = bo.solve(problem, method="ipalm(gamma=1.2)", start=start, max_iterations=200)
    assert result.certificate.assumptions_held
    assert result.certificate.monotone
    assert (result.history["lyapunov"][1:] > result.history["objective"][1:]).all()
    assert "never rose" in result.certificate.summary()


@pytest.mark.parametrize("method", ["ippalm", "ippalm(beta=growing)", "ipalm(rule=growing)"])
def test_inertia_beyond_the_theorem_is_reported_and_leaves_the_plain_objective(M, start, method):
    result = bo.solve(bo.compose("relu-nmd", M, rank=RANK), method=method, start=start, max_iterations=40)
    failed = result.certificate.assumptions["extrapolation"].failed_at
    assert set(range(5, 41)) <= set(failed)
    assert result.certificate.assumptions["step"].held
    np.testing.assert_array_equal(result.history["lyapunov"][-20:], result.history["objective"][-20:])


def test_a_step_that_is_too_long_is_reported(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="l1(0.1)")
    assert bo.solve(problem, method="ppalm(scale=0.5)", start=start, max_iterations=5).certificate.guaranteed
    beyond = bo.solve(problem, method="ppalm(scale=0.49)", start=start, max_iterations=5).certificate
    assert beyond.assumptions["step"].failed_at == (1, 2, 3, 4, 5)


STEPS = ["l1(0.4)", "mcp(0.5, 2)", "mcp(0.5, 0.2)", "l0(0.2)", "l0-ball(3)"]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(STEPS))
def test_a_step_on_a_block_does_to_the_objective_what_its_margin_and_drag_say(seed, spec):
    from bregopt_methods.palm.iteration import BlockStep

    rng = np.random.default_rng(seed)
    H, (n, m) = bo.make("regularizer", spec), rng.integers(1, 6, 2)
    root, b = rng.standard_normal((n + m, n)), rng.standard_normal((n, 1))
    Q = root.T @ np.diag(rng.choice([-1.0, 1.0], n + m)) @ root  # F = ½⟨x, Qx⟩ − ⟨b, x⟩ need not be convex
    L = np.abs(np.linalg.eigvalsh(Q)).max()
    alpha, beta = rng.random(2) * rng.integers(0, 2, 2)
    X = H.prox(rng.standard_normal((n, 1)), 0.01)
    Delta = rng.standard_normal((n, 1)) * 10.0 ** rng.integers(-2, 2)
    step = BlockStep.of(H, L, L * 10.0 ** rng.uniform(-0.5, 1), alpha, beta, least=0.0)
    new, xi = step.take(X + alpha * Delta, Q @ (X + beta * Delta) - b)

    def Phi(X):
        return 0.5 * np.vdot(X, Q @ X) - np.vdot(b, X) + H.value(X)

    D = np.linalg.norm(new - X)
    bound = Phi(X) - 0.5 * step.margin * D**2 + step.drag * D * np.linalg.norm(Delta)
    assert Phi(new) <= bound + 1e-10 * (1 + abs(bound))
    delta = 10.0 ** rng.uniform(-2, 2) * L
    if step.leaves(delta) >= 0:
        before = Phi(X) + 0.5 * delta * np.vdot(Delta, Delta)
        assert Phi(new) + 0.5 * step.leaves(delta) * D**2 <= before + 1e-10 * (1 + abs(before))
    np.testing.assert_allclose(H.prox(new + xi / step.c, 1 / step.c), new, atol=1e-9)


@pytest.mark.parametrize(("alpha", "beta"), [(0.4, 0.0), (0.0, 0.3)])
def test_what_margin_and_drag_say_of_a_step_is_sharp(alpha, beta):
    from bregopt_methods.palm.iteration import BlockStep

    L, Delta = 2.0, 1.5
    step = BlockStep.of(bo.Zero(), L, 3.0, alpha, beta, least=0.0)
    new, _ = step.take(np.array([alpha * Delta]), np.array([L * beta * Delta]))  # F = ½Lx² at x = 0
    D = abs(float(new[0]))
    assert D > 0
    bound = -0.5 * step.margin * D**2 + step.drag * D * Delta
    assert bound == pytest.approx(0.5 * L * D**2)


@pytest.mark.parametrize("method", ["palm", "ppalm", "ippalm", "ipalm", "ipalm(alpha=0.4, beta=0.4)"])
def test_a_run_ends_at_a_stationary_point(method):
    rng = np.random.default_rng(5)
    M = np.maximum(0, rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)))
    problem = bo.compose("relu-nmd", M, rank=2, U="l1(0.5)", V="l1(0.5)")
    result = bo.solve(problem, method=method, seed=1, stop="stationarity(1e-8)", max_iterations=1000)
    assert result.converged
    assert result.certificate.relative_subgradient < 1e-8
    U, V = result.Y.U, result.Y.V
    S = U @ V - np.where(M > 0, M, np.minimum(0, U @ V))
    assert np.linalg.norm(U) > 0.1
    for X, gradient in ((U, S @ V.T), (V, U.T @ S)):
        distance = np.where(X != 0, gradient + 0.5 * np.sign(X), soft(gradient, 0.5))
        assert np.abs(distance).max() < 1e-6
    assert result.history["stationarity"][-1] < 1e-6 < result.history["stationarity"][1]


def test_a_block_of_zeros_divides_nothing_by_zero(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK)
    for Y0 in (bo.Blocks(U=start.U, V=0 * start.V), bo.Blocks(U=0 * start.U, V=start.V), 0 * start):
        result = bo.solve(problem, method="ppalm", start=Y0, max_iterations=50)
        assert result.certificate.monotone
        assert np.isfinite(result.Y.flat).all()
        if Y0.flat.any():
            assert result.objective < 0.5 * result.history["objective"][0]


def test_a_proximal_map_that_ends_at_a_step_is_never_asked_for_a_longer_one():
    M = 1e-3 * np.random.default_rng(0).random((8, 6))
    problem = bo.compose("relu-nmd", M, rank=2, U="l1-minus-ridge(0.1, 5)", V="l1-minus-ridge(0.1, 5)")
    for method in ("ppalm", "ipalm"):
        result = bo.solve(problem, method=method, max_iterations=20)
        assert result.certificate.monotone
        assert result.certificate.assumptions["step"].held
        assert (result.history["step"][1:] <= 0.1).all()


@pytest.mark.parametrize(("scale", "status"), [(0.05, bo.Status.DIVERGED), (1e-15, bo.Status.NOT_FINITE)])
def test_steps_far_too_long_end_with_a_verdict(M, start, scale, status):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="nuclear(0.1)", V="nuclear(0.1)")
    result = bo.solve(problem, method=f"ippalm(beta=0.9, scale={scale})", start=start, max_iterations=500)
    assert result.status is status


def test_a_graph_in_the_smooth_part_is_stepped_with_its_own_constant(M, start):
    A = np.diag(np.ones(30), 1) + np.diag(np.ones(30), -1)
    graph = bo.make("regularizer", "graph", np.diag(A.sum(1)) - A, mu=3.0)
    result = bo.solve(bo.compose("relu-nmd", M, rank=RANK, graph=graph), method="ppalm", start=start, max_iterations=60)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


@frozen(eq=False)
class Outliers(bo.ClosedFormBlock):
    """``G(W) = μ‖W‖₁`` for what the factors leave of M: W = soft(M − AB, μ)."""

    M: np.ndarray
    mu: float

    def argmin(self, smooth, Y):
        return soft(self.M - Y.A @ Y.B, self.mu)

    def value(self, W):
        return self.mu * float(np.abs(W).sum())


@frozen(eq=False)
class Fit(bo.SmoothPart):
    """``F = ½‖AB + W − M‖²``."""

    M: np.ndarray

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.A @ Y.B + W - self.M) ** 2))

    def value_and_gradient(self, Y, W):
        R = Y.A @ Y.B + W - self.M
        return 0.5 * float(np.sum(R**2)), bo.Blocks(A=R @ Y.B.T, B=Y.A.T @ R)

    def block_lipschitz(self, Y, name):
        return float(np.linalg.norm(Y.B if name == "A" else Y.A, 2) ** 2)


def robust(smooth=Fit):
    rng = np.random.default_rng(5)
    M = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    M[rng.random(M.shape) < 0.05] += 10.0
    problem = bo.Problem(
        smooth=smooth(M),
        block=Outliers(M, 0.5),
        regularizer=bo.Separable(A=bo.make("regularizer", "ridge(0.1)"), B=bo.make("regularizer", "l1(0.05)")),
        kernel=bo.make("kernel", "psi1") + bo.make("kernel", "psi2"),
    )
    return problem, bo.Blocks(A=rng.standard_normal((20, 2)), B=rng.standard_normal((2, 15))), M


def test_another_two_block_problem_agrees_with_its_own_reference():
    problem, start, M = robust()
    result = bo.solve(problem, method="ippalm(beta=0.4)", start=start, max_iterations=ITERATIONS)
    A, B = A_prev, B_prev = start.A, start.B
    for _ in range(ITERATIONS):
        W = soft(M - A @ B, 0.5)
        A_bar, B_bar = A + 0.4 * (A - A_prev), B + 0.4 * (B - B_prev)
        A_prev, B_prev = A, B
        c = np.linalg.norm(B, 2) ** 2
        A = (A_bar - (A_bar @ B + W - M) @ B.T / c) / (1 + 0.1 / c)
        d = np.linalg.norm(A, 2) ** 2
        B = soft(B_bar - A.T @ (A @ B_bar + W - M) / d, 0.05 / d)
    np.testing.assert_allclose(result.Y.A, A, rtol=0, atol=1e-10 * np.abs(A).max())
    np.testing.assert_allclose(result.Y.B, B, rtol=0, atol=1e-10 * np.abs(B).max())


@pytest.mark.parametrize("method", ["palm", "ppalm", "ippalm(beta=0.2)", "ipalm"])
def test_another_two_block_problem_falls_to_a_stationary_point(method):
    problem, start, _ = robust()
    result = bo.solve(problem, method=method, start=start, stop="stationarity(1e-6)", max_iterations=5000)
    assert result.converged
    assert result.certificate.monotone
    assert result.certificate.relative_subgradient < 1e-6


@frozen(eq=False)
class Vectors(bo.SmoothPart):
    """``F = ½‖x yᵀ − W‖²`` for two vectors; its second derivative is the same number in every entry of a block."""

    def value(self, Y, W):
        return 0.5 * float(np.sum((np.outer(Y.x, Y.y) - W) ** 2))

    def value_and_gradient(self, Y, W):
        R = np.outer(Y.x, Y.y) - W
        return 0.5 * float(np.sum(R**2)), bo.Blocks(x=R @ Y.y, y=R.T @ Y.x)

    def block_lipschitz(self, Y, name):
        other = Y.y if name == "x" else Y.x
        return float(other @ other)


@pytest.mark.parametrize("method", ["palm", "ppalm", "ippalm", "ipalm"])
def test_blocks_may_be_vectors_and_the_best_rank_one_matrix_is_found(method):
    rng = np.random.default_rng(3)
    M = rng.standard_normal((9, 7))
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=Vectors(), block=Given(M), kernel=kernel)
    start = bo.Blocks(x=rng.standard_normal(9), y=rng.standard_normal(7))
    result = bo.solve(problem, method=method, start=start, max_iterations=300)
    assert 2 * result.objective == pytest.approx(np.sum(np.linalg.svd(M, compute_uv=False)[1:] ** 2), rel=1e-10)


class Silent(bo.SmoothPart):
    value, value_and_gradient = Vectors.value, Vectors.value_and_gradient


class HalfSilent(Silent):
    def block_lipschitz(self, Y, name):
        return 1.0 if name == "x" else None


@pytest.mark.parametrize(
    ("smooth", "blocks", "words"),
    [
        (Silent(), "xy", "Silent knows none.*gram or block_lipschitz.*aapb"),
        (HalfSilent(), "xy", "block 'y', and HalfSilent does not know it.*gram or block_lipschitz.*aapb"),
    ],
)
def test_a_problem_that_does_not_fit_is_refused_with_what_would(smooth, blocks, words):
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=smooth, block=Given(np.eye(3)), kernel=kernel)
    start = bo.Blocks(**{name: np.ones(3) for name in blocks})
    with pytest.raises(bo.errors.IncompatibleError, match=words):
        bo.solve(problem, method="ppalm", start=start)


def test_much_inertia_at_the_centre_needs_a_weakly_convex_regularizer(M):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l0-ball(20)")
    with pytest.raises(bo.errors.IncompatibleError, match="alpha < 1/2"):
        bo.iterate(problem, method="ipalm(alpha=0.5)")
    assert bo.solve(bo.compose("relu-nmd", M, rank=RANK, U="mcp"), method="ipalm(alpha=0.5)", max_iterations=5)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ippalm(beta=1)", "'beta' parameter of IPPALM must be 'growing' or a number >= 0 and < 1"),
        ("ippalm(beta=fast)", "'beta' parameter of IPPALM must be 'growing' or"),
        ("palm(gamma=0)", "'gamma' parameter of PALM must be a finite number > 0"),
        ("ppalm(scale=-1)", "'scale' parameter of PPALM must be a finite number > 0"),
        ("ipalm(alpha=1)", "'alpha' parameter of IPALM must be a finite number >= 0 and < 1"),
        ("ipalm(rule=fast)", "'rule' parameter of IPALM must be one of 'constant', 'growing'"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(spec, words):
    with pytest.raises(bo.errors.ParameterError, match=words):
        bo.make("method", spec)
