"""hals, mu and gnmf against plain loops over dense arrays and against scikit-learn, and the start nndsvd."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse
from attrs import evolve, frozen
from bregopt_methods.blockwise import ecd
from bregopt_methods.nmf import mu as mu_module
from bregopt_methods.nmf.gnmf import GNMF

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError

RANK, ITERATIONS = 3, 20
FORMATS = {"dense": np.asarray, "csr": scipy.sparse.csr_array}
PENALTIES = {  # spec: (l1, ridge)
    "nonneg": (0.0, 0.0),
    "l1(0.3)": (0.3, 0.0),
    "ridge(0.4)": (0.0, 0.4),
    "elastic-net(0.2, 0.3)": (0.2, 0.3),
}
METHODS = ["hals", "mu", "gnmf"]


def data(seed=0, shape=(17, 13)):
    """Non-negative, of no low rank, with a third of zeros."""
    rng = np.random.default_rng(seed)
    M = np.abs(rng.standard_normal((shape[0], 3))) @ np.abs(rng.standard_normal((3, shape[1])))
    return (M + rng.random(shape)) * (rng.random(shape) < 0.7)


def positive_start(M, seed=1, rank=RANK):
    rng, size = np.random.default_rng(seed), math.sqrt(np.linalg.norm(np.nan_to_num(M)))
    U, V = rng.random((M.shape[0], rank)) + 0.05, rng.random((rank, M.shape[1])) + 0.05
    return bo.Blocks(U=U * size / np.linalg.norm(U), V=V * size / np.linalg.norm(V))


def affinities(m, seed=2, density=0.3):
    A = np.triu(np.random.default_rng(seed).random((m, m)), 1)
    A = A * (density > A)
    return A + A.T


def ring(m):
    """An even ring is bipartite: there L is as large as 2D."""
    return np.roll(np.eye(m), 1, axis=0) + np.roll(np.eye(m), -1, axis=0)


def problem_for(method, M, H="nonneg", graph=None, weight=0.7, **options):
    if method != "gnmf":
        return bo.compose("nmf", M, rank=RANK, U=H, V=H, **options)
    graph = affinities(M.shape[0]) if graph is None else graph
    return bo.compose("graph-nmf", M, rank=RANK, graph=graph, mu=weight, U=H, V=H, **options)


def objective(W, U, V, l1, ridge, L=0.0):
    fit = 0.5 * np.sum((W - U @ V) ** 2) + 0.5 * np.sum(U * (L * U if np.isscalar(L) else L @ U))
    return fit + sum(l1 * X.sum() + 0.5 * ridge * np.sum(X**2) for X in (U, V))


@frozen
class HalfSquare(bo.SmoothRegularizer):
    """``½‖X‖²``, a smooth term that is no graph."""

    traits = bo.Trait.CONVEX

    def value(self, X):
        return 0.5 * float(np.vdot(X, X))

    def prox(self, X, step):
        return X / (1.0 + step)

    def gradient(self, X):
        return X.copy()

    def curvature(self, X):
        return np.ones((1, 1))


# ---- the same iterates as plain loops


def full(M, X):
    """W: M, and X where M is not known."""
    return np.where(np.isnan(M), X, M)


def hals_line(x, b, G, l1, ridge, sweeps):
    """One row of U, or one column of V: coordinate by coordinate, until it hardly moves."""
    first = None
    for _ in range(sweeps):
        before = x.copy()
        for p in range(len(x)):
            rest = b[p] - sum(G[p, q] * x[q] for q in range(len(x)) if q != p)
            x[p] = max(rest - l1, 0.0) / (G[p, p] + ridge)
        move = math.sqrt(sum((x - before) ** 2))
        first = move if first is None else first
        if move < 0.01 * first or move == 0:
            break
    return x


def hals_loop(W_of, U, V, l1, ridge, K, iterations=ITERATIONS, alpha=0.5):
    (m, r), n = U.shape, V.shape[1]
    on_U, on_V = math.floor(1 + alpha * (K + n * r) / (m * r + m)), math.floor(1 + alpha * (K + m * r) / (n * r + n))
    for _ in range(iterations):
        W = W_of(U @ V)
        B, G = W @ V.T, V @ V.T
        U = np.array([hals_line(U[i].copy(), B[i], G, l1, ridge, on_U) for i in range(m)])
        B, G = U.T @ W, U.T @ U
        V = np.array([hals_line(V[:, j].copy(), B[:, j], G, l1, ridge, on_V) for j in range(n)]).T
    return U, V


def mu_loop(W_of, U, V, l1, ridge, A=None, iterations=ITERATIONS):
    """With affinities A, which carry μ, it is Cai's."""
    A = np.zeros((len(U), len(U))) if A is None else A
    D = A.sum(axis=1, keepdims=True)
    for _ in range(iterations):
        W = W_of(U @ V)
        U = U * (W @ V.T + A @ U) / (U @ (V @ V.T) + D * U + ridge * U + l1)
        V = V * (U.T @ W) / ((U.T @ U) @ V + ridge * V + l1)
    return U, V


def loop(method, W_of, Y, H, K, m):
    l1, ridge = PENALTIES[H]
    if method == "hals":
        return hals_loop(W_of, Y.U, Y.V, l1, ridge, K)
    return mu_loop(W_of, Y.U, Y.V, l1, ridge, 0.7 * affinities(m) if method == "gnmf" else None)


def assert_same(result, U, V):
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-10 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-10 * np.abs(V).max())


@pytest.mark.parametrize("H", PENALTIES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("method", METHODS)
def test_twenty_iterations_are_those_of_the_plain_loop(method, form, H):
    M = data()
    (m, n), Y0 = M.shape, positive_start(M)
    K = m * n if form == "dense" else np.count_nonzero(M) + (m + n) * RANK  # the Gram pass
    result = bo.solve(problem_for(method, FORMATS[form](M), H), method=method, start=Y0, max_iterations=ITERATIONS)
    U, V = loop(method, lambda X: M, Y0, H, K, m)
    assert_same(result, U, V)
    A = 0.7 * affinities(m)
    L = np.diag(A.sum(axis=1)) - A if method == "gnmf" else 0.0
    assert result.objective == pytest.approx(objective(M, U, V, *PENALTIES[H], L), rel=1e-10)
    assert result.iterations == ITERATIONS


@pytest.mark.parametrize("way", ["nan", "mask", "weights", "sampled"])
@pytest.mark.parametrize("method", METHODS)
def test_missing_and_weighted_entries_are_those_of_the_plain_loop(method, way):
    M, rng = data(3), np.random.default_rng(4)
    (m, n), known, Y0 = M.shape, rng.random(M.shape) < 0.6, positive_start(M)
    weights, K = rng.random(M.shape) * 2.5, m * n
    gaps = np.where(known, M, np.nan)

    def W_of(X):
        return X - weights / weights.max() * (X - M) if way == "weights" else full(gaps, X)

    given, options = {"nan": (gaps, {}), "mask": (M, {"mask": known}), "weights": (M, {"weights": weights})}.get(
        way, (None, {"missing": "zeros"})
    )
    if way == "sampled":
        known &= M > 0
        given, K = scipy.sparse.csr_array(np.where(known, M, 0.0)), np.count_nonzero(known)
        gaps = np.where(known, M, np.nan)
    l1, ridge, c = 0.2, 0.3, weights.max() if way == "weights" else 1.0
    result = bo.solve(
        problem_for(method, given, "elastic-net(0.2, 0.3)", **options), method=method, start=Y0, max_iterations=20
    )
    if method == "hals":  # F = (c/2)‖W − UV‖², so that H/c and μ/c stand beside ½‖W − UV‖²
        U, V = hals_loop(W_of, Y0.U, Y0.V, l1 / c, ridge / c, K)
    else:
        A = 0.7 / c * affinities(m) if method == "gnmf" else None
        U, V = mu_loop(W_of, Y0.U, Y0.V, l1 / c, ridge / c, A)
    assert_same(result, U, V)
    assert result.certificate.guaranteed


def test_hals_serves_another_convex_loss_and_data_of_either_sign():
    M = data(5) - 1.0
    Y0, (m, n) = positive_start(M), M.shape
    problem = bo.compose("low-rank", M, rank=RANK, loss="huber(0.5)", U="nonneg", V="nonneg")
    result = bo.solve(problem, method="hals", start=Y0, max_iterations=20)
    assert_same(result, *hals_loop(lambda X: X - np.clip(X - M, -0.5, 0.5), Y0.U, Y0.V, 0.0, 0.0, m * n))
    assert result.certificate.guaranteed


def test_hals_without_repeats_is_hals():
    M = data(6)
    Y0, (m, n) = positive_start(M), M.shape
    result = bo.solve(problem_for("hals", M), method="hals(alpha=0)", start=Y0, max_iterations=20)
    assert_same(result, *hals_loop(lambda X: M, Y0.U, Y0.V, 0.0, 0.0, m * n, alpha=0.0))


def test_compiled_sweeps_of_hals_do_what_numpy_does(monkeypatch):
    M, Y0 = data(), positive_start(data())
    numpy = bo.solve(problem_for("hals", M, "l1(0.3)"), method="hals", start=Y0, max_iterations=20)
    monkeypatch.setattr(ecd, "LARGE", 0)
    compiled = bo.solve(problem_for("hals", M, "l1(0.3)"), method="hals", start=Y0, max_iterations=20)
    np.testing.assert_allclose(compiled.Y.flat, numpy.Y.flat, rtol=0, atol=1e-10 * np.abs(numpy.Y.flat).max())


@pytest.mark.parametrize("method", METHODS)
def test_it_does_not_matter_how_a_pass_cuts_M(method, small_tiles):
    M = data(0, (60, 13))
    whole = bo.solve(problem_for(method, M), method=method, start=positive_start(M), max_iterations=20)
    small_tiles(0, least=8, alone=0)
    cut = bo.solve(problem_for(method, M, threads=2), method=method, start=positive_start(M), max_iterations=20)
    np.testing.assert_allclose(cut.Y.flat, whole.Y.flat, rtol=0, atol=1e-10 * np.abs(whole.Y.flat).max())


def test_gnmf_without_a_weight_on_the_graph_is_mu():
    M = data(7)
    Y0 = positive_start(M)
    one = bo.solve(problem_for("gnmf", M, "l1(0.3)", weight=0.0), method="gnmf", start=Y0, max_iterations=40)
    two = bo.solve(problem_for("mu", M, "l1(0.3)"), method="mu", start=Y0, max_iterations=40)
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=1e-12)


# ---- against scikit-learn


def by_scikit_learn(solver, M, Y, iterations):
    from sklearn.decomposition import NMF

    model = NMF(Y.U.shape[1], init="custom", solver=solver, max_iter=iterations, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it has not converged
        U = model.fit_transform(M.copy(), W=Y.U.copy(), H=Y.V.copy())
    return 0.5 * np.sum((M - U @ model.components_) ** 2)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_hals_is_not_above_the_coordinates_of_scikit_learn_after_200_iterations(seed, form):
    M = data(seed, (40, 30))
    Y0 = positive_start(M, seed)
    result = bo.solve(problem_for("hals", FORMATS[form](M)), method="hals", start=Y0, max_iterations=200)
    assert result.objective <= by_scikit_learn("cd", M, Y0, 200) * (1 + 1e-9)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_mu_has_the_objective_of_scikit_learn_after_50_iterations(seed, form):
    M = data(seed, (40, 30))
    Y0 = positive_start(M, seed)
    result = bo.solve(problem_for("mu", FORMATS[form](M)), method="mu", start=Y0, max_iterations=50)
    assert result.objective == pytest.approx(by_scikit_learn("mu", M, Y0, 50), rel=1e-8)


# ---- descent, stationarity and cost


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("H", ["nonneg", "elastic-net"])
@pytest.mark.parametrize("method", METHODS)
def test_the_objective_never_rises_and_the_theorem_is_claimed(method, H, scale):
    """The objectives are recomputed."""
    l1, ridge = (0.2 * scale**1.5, 0.3 * scale) if H == "elastic-net" else (0.0, 0.0)
    spec, M = H if H == "nonneg" else f"elastic-net({l1}, {ridge})", scale * data(8, (18, 13))
    A = 5.0 * scale * ring(18)
    L = np.diag(A.sum(axis=1)) - A if method == "gnmf" else 0.0
    states = []
    problem = problem_for(method, M, spec, graph=A, weight=1.0)
    result = bo.solve(problem, method=method, start=positive_start(M), max_iterations=150, observers=[states.append])
    found = np.array([objective(M, it.Y.U, it.Y.V, l1, ridge, L) for it in states])
    np.testing.assert_allclose(result.history["objective"], found, rtol=1e-10)
    assert (np.diff(found) <= 1e-12 * found[:-1]).all()
    assert result.certificate.guaranteed
    assert "Every assumption of the descent theorem held" in result.certificate.summary()
    assert all(it.exact for it in states)


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("graph", ["even ring", "star", "pairs", "random", "more than degrees"])
def test_gnmf_never_raises_the_objective_however_strong_the_graph_is(graph, weight):
    """D alone is no majoriser of L: on a bipartite graph it is half of one, which is just enough."""
    m = 16
    star = np.zeros((m, m))
    star[0, 1:] = star[1:, 0] = 1.0
    pairs = np.kron(np.eye(m // 2), [[0.0, 1.0], [1.0, 0.0]])
    A = {"even ring": ring(m), "star": star, "pairs": pairs}.get(graph, affinities(m))
    L = np.diag(A.sum(axis=1)) - A
    if graph == "more than degrees":
        L += np.diag(np.random.default_rng(0).random(m))
    for seed in range(3):
        M = data(seed, (m, 9)) * 10.0 ** (-seed)
        problem = problem_for("gnmf", M, graph=scipy.sparse.csr_array(L), weight=weight)
        states = []
        result = bo.solve(problem, method="gnmf", start="absolute-random", max_iterations=60, observers=[states.append])
        found = np.array([objective(M, it.Y.U, it.Y.V, 0.0, 0.0, weight * L) for it in states])
        assert (np.diff(found) <= 1e-11 * found[:-1]).all()
        assert result.certificate.assumptions_held


def test_an_update_that_goes_too_far_is_told(monkeypatch):
    true = mu_module.multiplied
    monkeypatch.setattr(mu_module, "multiplied", lambda *given: doubled(true(*given), *given))

    def doubled(made, X, gradient, G, *rest):
        E = 2.0 * made.X - X
        return evolve(made, X=2.0 * made.X, change=float(np.vdot(gradient, E) + 0.5 * np.vdot(E @ G, E)))

    M = data()
    certificate = bo.solve(problem_for("mu", M), method="mu", start=positive_start(M), max_iterations=5).certificate
    assert certificate.assumptions["update"].failed_at
    assert set(certificate.rises) <= set(certificate.assumptions["update"].failed_at)
    assert not certificate.guaranteed


@pytest.mark.parametrize("method", METHODS)
def test_a_run_stops_where_the_projected_gradient_is_small(method):
    """mu and gnmf too, where many entries are zero in the end: by factors alone that took more than 1200 iterations."""
    M = data(1, (8, 6))
    problem = problem_for(method, M, "elastic-net(1, 1)")
    result = bo.solve(problem, method=method, start=positive_start(M), stop="stationarity(1e-6)", max_iterations=800)
    assert result.status is bo.Status.STATIONARY
    assert np.mean(result.Y.flat == 0) > 0.4
    gradient = problem.oracle.evaluate(result.Y, at=result.Y).gradient
    slopes = gradient.map(lambda name, G: G + 1 + result.Y[name])
    least = slopes.map(lambda name, A: np.where(result.Y[name] > 0, A, np.minimum(A, 0.0)))
    assert result.certificate.subgradient == pytest.approx(least.norm(), rel=1e-6)
    assert least.norm() <= 1e-6 * problem.oracle.evaluate(positive_start(M), at=positive_start(M)).gradient.norm()
    other = bo.solve(problem, method="aapb", start=result.Y, stop="stationarity(1e-8)", max_iterations=5000)
    assert other.objective == pytest.approx(result.objective, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_stationary_point_of_aapb_is_a_fixed_point(method):
    M = data(10, (12, 9))
    problem = problem_for(method, M, "elastic-net(0.1, 0.2)")
    found = bo.solve(problem, method="aapb", start=positive_start(M), stop="stationarity(1e-10)", max_iterations=20000)
    assert found.status is bo.Status.STATIONARY
    after = bo.solve(problem, method=method, start=found.Y, max_iterations=5)
    assert (after.Y - found.Y).norm() <= 1e-7 * found.Y.norm()


@pytest.mark.parametrize(("method", "more"), [("hals", 4), ("mu", 3), ("gnmf", 3)])
def test_an_iteration_costs_three_products(method, more):
    """And the start as much, with one for the count of the repeats of hals; of a sparse M they cost their share."""
    M = data()
    (m, n), states = M.shape, []
    for form, share in (("dense", 1.0), ("csr", (np.count_nonzero(M) + (m + n) * RANK) / (m * n))):
        states.clear()
        problem = problem_for(method, FORMATS[form](M))
        bo.solve(problem, method=method, start=positive_start(M), max_iterations=7, observers=[states.append])
        assert [it.counts.products for it in states] == pytest.approx([share * (3 * k + more) for k in range(8)])


def test_hals_repeats_as_often_as_a_product_is_dear():
    M = data(0, (40, 12))
    dense = next(bo.iterate(problem_for("hals", M), method="hals", start=positive_start(M))).inner.sweeps
    assert dense == (math.floor(1 + 0.5 * (480 + 36) / 160), math.floor(1 + 0.5 * (480 + 120) / 48)) == (2, 7)
    few = np.where(np.arange(480).reshape(40, 12) % 9 == 0, M, 0.0)
    sparse = next(bo.iterate(problem_for("hals", FORMATS["csr"](few)), method="hals", start=positive_start(M)))
    K = np.count_nonzero(few) + 52 * RANK
    assert sparse.inner.sweeps == (math.floor(1 + 0.5 * (K + 36) / 160), math.floor(1 + 0.5 * (K + 120) / 48)) == (1, 4)


@pytest.mark.parametrize("rule", ["stationarity(1e-3)", "tolerance(1e-2)", "plateau(1e-5)"])
@pytest.mark.parametrize("method", METHODS)
def test_the_unit_of_the_data_has_no_influence(method, rule):
    """M ↦ sM means Y ↦ √s·Y, Φ ↦ s²Φ; weights of l1 grow by √s³, those of a ridge and of a graph by s."""
    runs = []
    for power in (-40, 0, 40):
        s = 2.0**power
        M, H = s * data(17), f"elastic-net({0.3 * s**1.5!r}, {0.5 * s!r})"
        start = positive_start(data(17)) * 2.0 ** (power // 2)
        problem = problem_for(method, M, H, weight=0.5 * s)
        runs.append(bo.solve(problem, method=method, start=start, stop=rule, max_iterations=200))
    for power, run in zip((-40, 0, 40), runs, strict=True):
        assert (run.iterations, run.status, run.counts) == (runs[1].iterations, runs[1].status, runs[1].counts)
        np.testing.assert_array_equal(np.ldexp(run.Y.flat, -power // 2), runs[1].Y.flat)
        assert run.certificate.subgradient == np.ldexp(runs[1].certificate.subgradient, 3 * power // 2)
        assert run.certificate.guaranteed


# ---- zeros


@pytest.mark.parametrize("H", ["nonneg", "l1(0.1)"])
@pytest.mark.parametrize("method", METHODS)
def test_zero_columns_rows_and_blocks_are_passed_over(method, H):
    M = data(11)
    M[3], M[:, 4] = 0.0, 0.0
    for zero in ("column of U", "row of V", "both", "U", "V", "all"):
        U, V = positive_start(M).U.copy(), positive_start(M).V.copy()
        if zero in ("column of U", "both"):
            U[:, 1] = 0.0
        if zero in ("row of V", "both"):
            V[1] = 0.0
        U, V = U * (zero not in ("U", "all")), V * (zero not in ("V", "all"))
        result = bo.solve(problem_for(method, M, H), method=method, start=bo.Blocks(U=U, V=V), max_iterations=30)
        assert np.isfinite(result.Y.flat).all()
        assert np.isfinite(result.history["objective"]).all()
        assert result.certificate.monotone
        if zero == "both":
            assert not result.Y.U[:, 1].any()
            assert not result.Y.V[1].any()


def test_hals_brings_a_zero_column_back_that_has_a_row_and_mu_never_does():
    M, start = data(12), positive_start(data(12))
    U = start.U.copy()
    U[:, 1], U[2, 0] = 0.0, 0.0
    ends = {
        method: bo.solve(problem_for(method, M), method=method, start=bo.Blocks(U=U, V=start.V), max_iterations=30)
        for method in ("hals", "mu")
    }
    assert ends["hals"].Y.U[:, 1].any()
    assert not ends["mu"].Y.U[:, 1].any()
    assert ends["mu"].Y.U[2, 0] == 0


def test_mu_sets_no_entry_to_zero_that_would_grow_again():
    """Some entries fall below 2⁻⁵² of the largest and come back; without the test of slopes the end was higher."""
    M = data(1, (8, 6))
    Y0 = positive_start(M)
    result = bo.solve(problem_for("mu", M), method="mu", start=Y0, max_iterations=800)
    U, V = mu_loop(lambda X: M, Y0.U, Y0.V, 0.0, 0.0, iterations=800)
    assert result.objective == pytest.approx(objective(M, U, V, 0.0, 0.0), rel=1e-9)


# ---- what is refused


@pytest.mark.parametrize("method", ["hals", "mu"])
@pytest.mark.parametrize("H", ["none", "l1(0.1)", "box(0, 1)", "l21-nonneg(0.1)", "simplex"])
def test_an_H_that_is_not_that_of_nmf_is_refused(method, H):
    problem = bo.compose("low-rank", data(), rank=RANK, U="nonneg", V=H)
    with pytest.raises(IncompatibleError, match=f"The method {method} is for non-negative factors"):
        bo.solve(problem, method=method, max_iterations=1)


@pytest.mark.parametrize("method", ["hals", "mu"])
def test_one_factor_alone_and_other_models_are_refused(method):
    M = np.abs(data(0, (9, 9)))
    fixed = bo.compose("nmf", M, U="nonneg", V=bo.Fixed(np.ones((2, 9))))
    square = bo.compose("low-rank", M + M.T, rank=2, model="symmetric", U="nonneg")
    for problem in (fixed, square):
        with pytest.raises(IncompatibleError, match="needs two blocks"):
            bo.solve(problem, method=method, start=None, max_iterations=1)


def test_mu_refuses_data_that_would_set_entries_to_zero_and_takes_relu_nmd_with_non_negative_factors():
    M = data()
    for signed in (
        bo.compose("low-rank", M - 3.0, rank=RANK, U="nonneg", V="nonneg"),
        bo.compose("low-rank", np.where(M > 1, 1.0, -1.0), rank=RANK, loss="one-bit", U="nonneg", V="nonneg"),
    ):
        with pytest.raises(IncompatibleError, match=r"multiplies U with WVᵀ.* hals, ecd and aapb take data of either"):
            bo.solve(signed, method="mu", start=positive_start(M), max_iterations=1)
    latent = bo.compose("relu-nmd", M, rank=RANK, U="nonneg", V="nonneg")  # W is M there, as UV ≥ 0
    one, two = (
        bo.solve(it, method="mu", start=positive_start(M), max_iterations=20) for it in (latent, problem_for("mu", M))
    )
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=1e-9)


def test_gnmf_refuses_what_is_no_graph_and_mu_refuses_a_graph():
    M = data()
    m = M.shape[0]
    with pytest.raises(IncompatibleError, match="gnmf needs a graph in F"):
        bo.solve(problem_for("mu", M), method="gnmf", max_iterations=1)
    with pytest.raises(IncompatibleError, match="knows none for the block 'U'"):
        bo.solve(problem_for("gnmf", M), method="mu", max_iterations=1)
    L = np.full((m, m), 0.25) + np.eye(m)
    for form in (np.asarray, scipy.sparse.csr_array):
        term = bo.make("regularizer", "graph", form(L))
        with pytest.raises(IncompatibleError, match=r"no entry of L off its diagonal may be positive\. Got 0\.25"):
            bo.solve(bo.compose("graph-nmf", M, rank=RANK, graph=term), method="gnmf", max_iterations=1)
    on_V = bo.make("regularizer", "graph", np.eye(RANK))
    for smooth in ({"V": on_V}, {"U": bo.make("regularizer", "graph", np.eye(m)), "V": on_V}):
        problem = bo.compose("low-rank", M, rank=RANK, U="nonneg", V="nonneg", smooth=smooth)
        with pytest.raises(IncompatibleError, match="for the first block and nothing else"):
            bo.solve(problem, method="gnmf", max_iterations=1)
    problem = bo.compose("low-rank", M, rank=RANK, U="nonneg", V="nonneg", smooth={"U": HalfSquare()})
    with pytest.raises(IncompatibleError, match="gnmf needs a graph in F"):
        bo.solve(problem, method="gnmf", max_iterations=1)


def test_gnmf_reads_the_same_graph_from_affinities_and_from_L():
    M = data()
    A = affinities(M.shape[0])
    runs = [
        bo.solve(problem_for("gnmf", M, graph=it), method=GNMF(), start=positive_start(M), max_iterations=15)
        for it in (A, scipy.sparse.csr_array(A), np.diag(A.sum(axis=1)) - A)
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.Y.flat, runs[0].Y.flat, rtol=1e-10)


def test_parameters_out_of_range_are_refused():
    for spec in ("hals(alpha=-1)", "hals(enough=-1)"):
        with pytest.raises(ParameterError):
            bo.make("method", spec)
    with pytest.raises(ParameterError):
        bo.make("start", "nndsvd(fill=nothing)")


# ---- the start nndsvd


def nndsvd_loop(M, rank, fill):
    """As Boutsidis and Gallopoulos have it."""
    left, s, right = np.linalg.svd(M, full_matrices=False)
    U, V = np.zeros((M.shape[0], rank)), np.zeros((rank, M.shape[1]))
    U[:, 0], V[0] = math.sqrt(s[0]) * np.abs(left[:, 0]), math.sqrt(s[0]) * np.abs(right[0])
    for j in range(1, rank):
        x, y = left[:, j], right[j]
        parts = [(np.maximum(x, 0), np.maximum(y, 0)), (np.maximum(-x, 0), np.maximum(-y, 0))]
        sizes = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in parts]
        a, b = parts[int(sizes[1] > sizes[0])]
        size = math.sqrt(s[j] * max(sizes))
        U[:, j], V[j] = size * a / np.linalg.norm(a), size * b / np.linalg.norm(b)
    if fill:
        U[U == 0], V[V == 0] = M.mean(), M.mean()
    return U, V


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fill", [False, True])
def test_nndsvd_has_the_signs_and_the_sizes_of_the_paper(fill, form):
    M, spec = data(13, (25, 20)), "nndsvd(fill=mean)" if fill else "nndsvd"
    problem = bo.compose("nmf", FORMATS[form](M), rank=5)
    Y = next(bo.iterate(problem, method="hals", start=spec)).Y
    U, V = nndsvd_loop(M, 5, fill)
    np.testing.assert_allclose(Y.U, U, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(Y.V, V, rtol=1e-9, atol=1e-12)
    assert Y.flat.all() == fill
    assert Y.flat.min() >= 0


@pytest.mark.parametrize(("fill", "theirs"), [("zero", "nndsvd"), ("mean", "nndsvda")])
def test_nndsvd_begins_where_scikit_learn_does(fill, theirs):
    from sklearn.decomposition._nmf import _initialize_nmf

    M = data(14, (25, 20))
    Y = next(bo.iterate(bo.compose("nmf", M, rank=4), method="hals", start=f"nndsvd({fill})")).Y
    U, V = _initialize_nmf(M, 4, init=theirs, random_state=0)  # by a randomised SVD
    np.testing.assert_allclose(Y.U @ Y.V, U @ V, rtol=0, atol=1e-4 * np.abs(U @ V).max())


def test_nndsvd_takes_missing_entries_for_zero_and_fills_with_the_mean_of_the_known(tmp_path):
    M = data(15, (12, 10))
    known = np.random.default_rng(0).random(M.shape) < 0.7
    U, V = nndsvd_loop(np.where(known, M, 0.0), 3, False)
    mean = M[known].mean()
    np.save(tmp_path / "M.npy", np.where(known, M, np.nan))
    for given in (np.where(known, M, np.nan), np.load(tmp_path / "M.npy", mmap_mode="r")):
        Y = next(bo.iterate(bo.compose("nmf", given, rank=3), method="hals", start="nndsvd(mean)")).Y
        atol = 1e-9 if type(given) is np.ndarray else 2e-2  # by a few passes where M is not in memory
        np.testing.assert_allclose(Y.U, np.where(U == 0, mean, U), rtol=0, atol=atol * np.abs(U).max())
        np.testing.assert_allclose(Y.V, np.where(V == 0, mean, V), rtol=0, atol=atol * np.abs(V).max())


def test_nndsvd_of_a_rank_that_M_does_not_have_is_finite_and_zero_in_the_rest():
    M = np.outer(np.arange(1.0, 7.0), np.ones(5))
    Y = next(bo.iterate(bo.compose("nmf", M, rank=3), method="hals", start="nndsvd")).Y
    np.testing.assert_allclose(Y.U @ Y.V, M, rtol=1e-7)
    assert np.abs(Y.U[:, 1:]).max() <= 1e-6
    for method in METHODS[:2]:
        assert bo.solve(bo.compose("nmf", M, rank=3), method=method, start="nndsvd", max_iterations=5).objective < 1e-12


def test_nndsvd_is_a_better_start_of_hals_than_none():
    M = data(16, (60, 40))
    runs = [
        bo.solve(bo.compose("nmf", M, rank=5), method="hals", start=start, max_iterations=3).objective
        for start in ("nndsvd", "absolute-random")
    ]
    assert runs[0] < runs[1]
