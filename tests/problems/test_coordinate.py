"""Extrapolated coordinate descent against loops over single entries, and what its bound promises."""

import math

import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from balance_reference import balanced
from bregopt_methods.blockwise import ecd as module
from bregopt_methods.blockwise.block_update import BlockModel
from bregopt_methods.blockwise.ecd import coordinates
from small_parts import Given

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError

RANK = 4
SHAPE = (17, 13)
FORMATS = {"dense": np.asarray, "csr": scipy.sparse.csr_array}


def best(h, candidates, z, c):
    """The candidate with the least h(x) + (c/2)(x − z)²."""
    return min(candidates, key=lambda x: h(x) + 0.5 * c * (x - z) ** 2)


def mcp(x, eta=0.3, gamma=4.0):
    x = min(abs(x), gamma * eta)
    return eta * x - x * x / (2 * gamma)


def mcp_step(z, c, eta=0.3, gamma=4.0):
    bent = (c * z - math.copysign(eta, z)) / (c - 1 / gamma)
    inside = 0 < bent * math.copysign(1, z) < gamma * eta
    return best(mcp, [0.0, bent, z] if inside else [0.0, z], z, c)


MODELS = {  # name: (spec, h, argmin_x h(x) + (c/2)(x − z)²)
    "none": ("none", lambda x: 0.0, lambda z, c: z),
    "ridge": ("ridge(0.7)", lambda x: 0.35 * x * x, lambda z, c: c * z / (c + 0.7)),
    "l1": ("l1(0.3)", lambda x: 0.3 * abs(x), lambda z, c: math.copysign(max(abs(z) - 0.3 / c, 0.0), z)),
    "nonneg": ("nonneg", lambda x: 0.0, lambda z, c: max(z, 0.0)),
    "box": ("box(-0.2, 0.5)", lambda x: 0.0, lambda z, c: min(max(z, -0.2), 0.5)),
    "l1-nonneg": ("l1-nonneg(0.3)", lambda x: 0.3 * x, lambda z, c: max(z - 0.3 / c, 0.0)),
    "elastic-net": (
        "elastic-net(0.05, 0.1)",
        lambda x: 0.05 * abs(x) + 0.05 * x * x,
        lambda z, c: math.copysign(max(c * abs(z) - 0.05, 0.0), z) / (c + 0.1),
    ),
    "mcp": ("mcp(0.3, 4)", mcp, mcp_step),
    "l0": (
        "l0(0.05)",
        lambda x: 0.05 * (x != 0),
        lambda z, c: best(lambda x: 0.05 * (x != 0), [0.0, z], z, c),
    ),
}


BALANCED = {"ridge": (0.0, 0.7), "l1": (0.3, 0.0), "l1-nonneg": (0.3, 0.0), "elastic-net": (0.05, 0.1)}  # l1, ridge


def reference(M, U, V, h, step, sweeps, iterations, weights=None):
    """The method with W stored, one entry at a time, and every value from its definition."""

    def one_by_one(X, other, W, transposed):
        A, B = (X, other) if not transposed else (X.T, other.T)
        T = W if not transposed else W.T
        A = A.copy()
        for i in range(A.shape[0]):
            for _ in range(sweeps):
                for p in range(A.shape[1]):
                    c = B[p] @ B[p]
                    A[i, p] = step(A[i, p] - (A[i] @ B - T[i]) @ B[p] / c, c)
        return A.T if transposed else A

    def turn(U, V):
        W = np.where(M > 0, M, np.minimum(0, U @ V))
        U = one_by_one(U, V, W, False)
        V = one_by_one(V, U, W, True)
        H = sum(h(x) for x in [*U.flat, *V.flat])
        return U, V, 0.5 * np.sum((W - U @ V) ** 2) + H

    W = np.where(M > 0, M, np.minimum(0, U @ V))
    bounds = [0.5 * np.sum((W - U @ V) ** 2) + sum(h(x) for x in [*U.flat, *V.flat])]
    U_prev, V_prev, theta = U, V, 1.0
    for _ in range(iterations):
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        beta = (theta - 1) / following
        new = turn(U + beta * (U - U_prev), V + beta * (V - V_prev))
        if new[2] > bounds[-1]:
            following, new = (1 + math.sqrt(5)) / 2, turn(U, V)
        U_prev, V_prev, theta = U, V, following
        U, V, bound = new
        if weights is not None:
            bound -= sum(h(x) for x in [*U.flat, *V.flat])
            U, V, U_prev, V_prev = balanced(U, V, U_prev, V_prev, weights)
            bound += sum(h(x) for x in [*U.flat, *V.flat])
        bounds.append(bound)
    return U, V, bounds


def value(problem, M, Y):
    """Φ(Y) from its definition."""
    X = Y.U @ Y.V
    W = np.where(M > 0, M, np.minimum(0, X))
    return 0.5 * np.sum((W - X) ** 2) + problem.regularizer.value(Y)


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("model", MODELS)
def test_twenty_iterations_agree_with_the_loops_over_entries(M, start, model, form, balance):
    spec, h, step = MODELS[model]
    problem = bo.compose("relu-nmd", FORMATS[form](M), rank=RANK, U=spec, V=spec)
    Y0 = problem.regularizer.prox(start, 1e-12)
    result = bo.solve(problem, method=f"ecd(balance={balance})".lower(), start=Y0, max_iterations=20)
    U, V, bounds = reference(M, Y0.U, Y0.V, h, step, 2, 20, BALANCED.get(model) if balance else None)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-10 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-10 * np.abs(V).max())
    np.testing.assert_allclose(result.history["objective"], bounds, rtol=1e-10)


@pytest.mark.parametrize("spec", ["none", "l1(0.3)", "nonneg", "elastic-net(0.3, 0.7)", "box(-0.2, 0.5)"])
def test_the_compiled_sweeps_do_what_numpy_does(M, start, spec, monkeypatch):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=spec, V=spec)
    Y0 = problem.regularizer.prox(start, 1e-12)
    monkeypatch.setattr(module, "LARGE", 0)
    one = bo.solve(problem, method="ecd", start=Y0, max_iterations=20)
    monkeypatch.setenv("BREGOPT_COMPILE", "0")
    two = bo.solve(problem, method="ecd", start=Y0, max_iterations=20)
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-10 * np.abs(two.Y.flat).max())
    for column in ("objective", "stationarity"):
        np.testing.assert_allclose(one.history[column][1:], two.history[column][1:], rtol=1e-8)
    assert one.certificate.subgradient == pytest.approx(two.certificate.subgradient, rel=1e-6)


def test_compiled_code_runs_unless_it_is_switched_off(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(module, "_compiled", lambda *given: asked.append(given))
    model = BlockModel(np.eye(2), bo.make("regularizer", "l1(0.1)"), False, 5)
    coordinates(model, sweeps=1)
    assert len(asked) == 1
    monkeypatch.setenv("BREGOPT_COMPILE", "0")
    coordinates(model, sweeps=1)
    assert len(asked) == 1


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("spec", [spec for spec, *_ in MODELS.values()] + ["lp(0.2)", "scad(0.2, 3)", "log(0.1, 0.5)"])
def test_the_last_coordinate_of_a_sweep_is_a_minimiser(spec, columns):
    rng = np.random.default_rng(1)
    H, B = bo.make("regularizer", spec), rng.standard_normal((3, 8))
    G, X, gradient = B @ B.T, rng.standard_normal((20, 3)), rng.standard_normal((20, 3)) * 3
    new, xi = coordinates(BlockModel(G, H, columns, 20), sweeps=1)(X, gradient)
    for i in range(20):

        def model(x, i=i):
            E = np.array([*new[i, :2], x]) - X[i]
            return gradient[i] @ E + 0.5 * E @ G @ E + H.value(np.array([[x]]))

        rivals = [0.0, *new[i, 2] + np.linspace(-3, 3, 601), *new[i, 2] * (1 + np.array([-1e-3, 1e-3]))]
        assert model(new[i, 2]) <= min(model(x) for x in rivals) + 1e-12
    slope = gradient[:, 2] + (new - X) @ G[:, 2]
    np.testing.assert_allclose(xi[:, 2], -slope, atol=1e-10)


CASES = [
    "l1(0.1)",
    "elastic-net(0.1, 0.2)",
    "huber(0.3)",
    "nonneg",
    "box(-0.5, 0.8)",
    "mcp(0.4, 3)",
    "scad(0.4, 3.7)",
    "log(0.5, 0.7)",
    "l1-minus-ridge(0.5, 3)",
    "l0(0.3)",
    "lp(0.4)",
    "capped-l1(0.7, 0.8)",
    "on-columns(l1(0.5), 2)",
]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spec", CASES)
def test_the_bound_lies_above_the_objective_and_never_rises(M, start, spec, form, scale):
    given = scale * M
    problem = bo.compose("relu-nmd", FORMATS[form](given), rank=RANK, U=spec, V=spec)
    Y0 = problem.regularizer.prox(start * math.sqrt(scale), 1e-12)
    states = []
    result = bo.solve(problem, method="ecd", start=Y0, max_iterations=40, observers=[states.append])
    for state in states:
        assert state.objective >= value(problem, given, state.Y) - 1e-12 * state.scale
        assert state.exact == (state.iteration == 0)
    bounds = result.history["lyapunov"]
    scales = np.array([state.scale for state in states])
    assert (np.diff(bounds) <= 1e-12 * scales[1:]).all()
    assert result.certificate.monotone
    assert result.certificate.safeguard
    assert result.objective == pytest.approx(value(problem, given, result.Y), rel=1e-12)


def test_a_step_that_would_rise_is_made_again_without_extrapolation(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.01)", V="l1(0.01)")
    result = bo.solve(problem, method="ecd", start=start, max_iterations=300)
    beta, products = result.history["beta"], result.history["products"]
    again = np.flatnonzero(beta[2:] == 0) + 2
    assert again.size > 0
    expected = np.full(301, 3.0)
    expected[0], expected[again] = 1.0, 6.0
    np.testing.assert_array_equal(np.diff(products, prepend=0.0), expected)
    assert beta[again[0] - 1] > 0.5
    assert beta[again[0] + 1] == pytest.approx(0.2817, abs=1e-3)


def test_an_iteration_costs_three_products_where_the_first_block_goes_by_rows_and_else_four(M, start):
    def spent(U):
        problem = bo.compose("relu-nmd", M, rank=RANK, U=U, V="l1(0.1)")
        return bo.solve(problem, method="ecd", start=start, max_iterations=5).history["products"]

    np.testing.assert_array_equal(spent("l1(0.1)"), 1 + 3 * np.arange(6))
    np.testing.assert_array_equal(spent("mcp(0.1, 3)"), 1 + 3 * np.arange(6))
    weights = bo.make("regularizer", "l1", np.full((17, RANK), 0.1))
    np.testing.assert_array_equal(spent(weights), 1 + 4 * np.arange(6))


@pytest.mark.parametrize("shape", ["entries", "rows", "columns"])
def test_weights_for_each_entry_row_or_column_do_what_the_entry_loops_say(M, start, shape):
    rng = np.random.default_rng(3)
    weights = {
        name: rng.random({"entries": X.shape, "rows": (X.shape[0], 1), "columns": (X.shape[1],)}[shape])
        for name, X in (("U", start.U), ("V", start.V))
    }
    H = {name: bo.make("regularizer", "l1", eta) for name, eta in weights.items()}
    problem = bo.compose("relu-nmd", M, rank=RANK, **H)
    result = bo.solve(problem, method="ecd(sweeps=1)", start=start, max_iterations=1)
    W = np.where(M > 0, M, np.minimum(0, start.U @ start.V))
    U, V = start.U.copy(), start.V.copy()
    for X, eta in ((U, weights["U"]), (V, weights["V"])):
        eta = np.broadcast_to(eta, X.shape)
        for p in range(RANK):
            for i in range(max(X.shape)):
                place = (i, p) if X is U else (p, i)
                side = V[p] if X is U else U[:, p]
                slope = (U[i] @ V - W[i]) @ side if X is U else (U @ V[:, i] - W[:, i]) @ side
                z, c = X[place] - slope / (side @ side), side @ side
                X[place] = np.sign(z) * max(abs(z) - eta[place] / c, 0)
    np.testing.assert_allclose(result.Y.U, U, atol=1e-11)
    np.testing.assert_allclose(result.Y.V, V, atol=1e-11)


def test_a_small_l1_problem_becomes_stationary():
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((12, 2)) @ rng.standard_normal((2, 10)))
    problem = bo.compose("relu-nmd", M, rank=2, U="l1(0.1)", V="l1(0.1)")
    result = bo.solve(problem, method="ecd", stop="stationarity(1e-7)", max_iterations=5000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6
    U, V = result.Y.U, result.Y.V
    S = U @ V - np.where(M > 0, M, np.minimum(0, U @ V))
    for X, slope in ((U, S @ V.T), (V, U.T @ S)):
        off = np.where(X == 0, np.maximum(np.abs(slope) - 0.1, 0), slope + 0.1 * np.sign(X))
        assert np.abs(off).max() <= 1e-6


def test_the_subgradient_at_the_end_is_one(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.2)", V="elastic-net(0.1, 0.3)")
    *_, state = (state for state, _ in zip(bo.iterate(problem, method="ecd", start=start), range(8), strict=False))
    A = bo.make("method", "ecd").subgradient(problem, state).A
    U, V = state.Y.U, state.Y.V
    S = U @ V - np.where(M > 0, M, np.minimum(0, U @ V))
    xi_U, xi_V = A.U - S @ V.T, A.V - U.T @ S - 0.3 * V
    for X, xi, eta in ((U, xi_U, 0.2), (V, xi_V, 0.1)):
        assert (np.abs(xi) <= eta + 1e-10).all()
        np.testing.assert_allclose(xi[X != 0], eta * np.sign(X[X != 0]), atol=1e-10)


def test_a_coordinate_that_F_does_not_see_goes_where_H_sends_it(M, start):
    V = start.V.copy()
    V[1] = 0.0
    Y0 = bo.Blocks(U=start.U, V=V)
    free = bo.solve(bo.compose("relu-nmd", M, rank=RANK), method="ecd", start=Y0, max_iterations=1)
    np.testing.assert_array_equal(free.Y.U[:, 1], start.U[:, 1])
    drawn = bo.solve(bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)"), method="ecd", start=Y0, max_iterations=1)
    np.testing.assert_array_equal(drawn.Y.U[:, 1], 0.0)


def test_a_start_at_zero_stays_there(M):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="mcp(0.1, 3)", V="l0(0.1)")
    Y0 = bo.Blocks(U=np.zeros((17, RANK)), V=np.zeros((RANK, 13)))
    result = bo.solve(problem, method="ecd", start=Y0, max_iterations=3)
    assert not result.Y.flat.any()


def test_the_metrics_of_a_state_are_those_of_the_point_that_was_looked_at(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)")
    states = [state for state, _ in zip(bo.iterate(problem, method="ecd", start=start), range(6), strict=False)]
    before, last, now = states[-3:]
    y = last.Y.plus(now.beta, last.Y - before.Y)
    error = np.linalg.norm(M - np.maximum(0, y.U @ y.V)) / np.linalg.norm(M)
    assert now.metrics["relative_error"] == pytest.approx(error, rel=1e-12)


def test_threads_change_nothing(M, start, small_tiles):
    small_tiles(least=40, alone=0)
    for spec in ("l1(0.1)", "mcp(0.1, 3)"):
        runs = [
            bo.solve(
                bo.compose("relu-nmd", M, rank=RANK, U=spec, V=spec, threads=threads),
                method="ecd",
                start=start,
                max_iterations=20,
            )
            for threads in (1, 3)
        ]
        np.testing.assert_allclose(runs[0].Y.flat, runs[1].Y.flat, atol=1e-10)


@frozen
class Product(bo.SmoothPart):
    """``F = ½‖W − AB‖²``, with Gram matrices where they are wanted."""

    known: bool = True

    def value(self, Y, W):
        return self.value_and_gradient(Y, W)[0]

    def value_and_gradient(self, Y, W):
        S = Y.A @ Y.B - W
        return 0.5 * float(np.sum(S**2)), bo.Blocks(A=S @ Y.B.T, B=Y.A.T @ S)

    def gram(self, Y, name):
        if not self.known:
            return None
        return Y.B @ Y.B.T if name == "A" else Y.A.T @ Y.A


def own(M, known=True, **H):
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    return bo.Problem(smooth=Product(known), block=Given(M), regularizer=bo.Separable(**H), kernel=kernel)


def test_any_quadratic_F_of_two_blocks_will_do_under_any_names():
    rng = np.random.default_rng(5)
    M = rng.random((12, 2)) @ rng.random((2, 9))
    start = bo.Blocks(A=rng.random((12, 2)), B=rng.random((2, 9)))
    H = bo.make("regularizer", "nonneg")
    result = bo.solve(own(M, A=H, B=H), method="ecd", start=start, max_iterations=300)
    assert np.linalg.norm(M - result.Y.A @ result.Y.B) < 1e-3 * np.linalg.norm(M)
    assert (result.Y.flat >= 0).all()
    assert result.certificate.monotone
    assert result.certificate.safeguard


def test_what_is_not_separable_is_refused_with_what_is_taken(M):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="nuclear(0.1)")
    with pytest.raises(IncompatibleError, match=r"it can take a separable H, such as none, l1.*Got Nuclear"):
        bo.solve(problem, method="ecd", max_iterations=1)


@pytest.mark.parametrize("method", ["ecd", "els", "aals"])
def test_an_F_without_Gram_matrices_is_refused(method):
    start = bo.Blocks(A=np.ones((3, 1)), B=np.ones((1, 4)))
    with pytest.raises(IncompatibleError, match=r"SmoothPart\.gram\), and Product .* knows none for the block 'A'"):
        bo.solve(own(np.ones((3, 4)), known=False), method=method, start=start, max_iterations=1)


def test_the_number_of_sweeps_is_checked():
    with pytest.raises(ParameterError, match="'sweeps' parameter of ECD must be a whole number >= 1"):
        bo.make("method", "ecd(sweeps=0)")


@pytest.mark.parametrize("kind", ["nmf", "relu-nmd"])
def test_columns_that_are_zero_in_both_factors_come_back_and_phi_never_rises(kind):
    rng = np.random.default_rng(0)
    M, U, V = rng.random((30, 4)) @ rng.random((4, 20)), rng.random((30, 4)), rng.random((4, 20))
    U[:, 2:], V[2:] = 0.0, 0.0
    H = {} if kind == "nmf" else {"U": "nonneg", "V": "nonneg"}
    problem = bo.compose(kind, M, rank=4, **H)
    result = bo.solve(problem, method="ecd", start=bo.Blocks(U=U, V=V), max_iterations=200)
    assert result.objective < 1e-6 * result.history["objective"][0]
    assert result.certificate.monotone
    assert (np.diff(result.history["objective"]) <= 1e-12 * result.history["objective"][0]).all()


def test_a_column_that_dies_on_the_way_comes_back():
    M = np.kron(np.eye(3), np.ones((5, 4)))
    U, V = np.kron(np.eye(3), np.ones((5, 1))), np.kron(np.eye(3), np.ones((1, 4)))
    U[10:, 2], U[:5, 2], V[2] = 0.0, 0.1, np.r_[np.zeros(4), np.ones(4), np.zeros(4)]  # no use beside the others
    result = bo.solve(bo.compose("nmf", M, rank=3), method="ecd", start=bo.Blocks(U=U, V=V), max_iterations=300)
    assert result.objective < 1e-8
    assert result.certificate.monotone


def test_a_column_that_is_of_no_use_stays_zero():
    M = np.outer(np.arange(1.0, 8), np.arange(1.0, 6))
    start = bo.Blocks(U=np.arange(1.0, 8)[:, None] * [1, 0], V=np.array([[1], [0]]) * np.arange(1.0, 6))
    result = bo.solve(bo.compose("nmf", M, rank=2), method="ecd", start=start, max_iterations=5)
    assert not result.Y.U[:, 1].any()
    assert result.objective == pytest.approx(0.0, abs=1e-20)


def test_zero_columns_stay_where_others_would_raise_h():
    M = np.outer(np.ones(7), np.ones(5))
    start = bo.Blocks(U=np.ones((7, 1)) * [1, 0], V=np.array([[1], [0]]) * np.ones(5))
    problem = bo.compose("relu-nmd", M, rank=2, U="l1(0.1)", V="l1(0.1)")
    result = bo.solve(problem, method="ecd", start=start, max_iterations=5)
    assert not result.Y.U[:, 1].any()
    assert result.certificate.monotone
