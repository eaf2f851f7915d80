"""The problems that have names, each against an independent reference, and what they refuse."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from bregopt_problems import outliers
from bregopt_problems.hooks import PROBLEMS, bregopt_examples

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError

EXAMPLES = dict(bregopt_examples("problem"))
TIGHT = {"stop": "stationarity(1e-9)", "max_iterations": 5000}


def low_rank_matrix(m=25, n=20, rank=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) + noise * rng.standard_normal((m, n)), rng


def gaussian(M, rank, rng):
    return bo.Blocks(U=rng.standard_normal((M.shape[0], rank)), V=rng.standard_normal((rank, M.shape[1])))


def soft(X, t):
    return np.sign(X) * np.maximum(np.abs(X) - t, 0.0)


def shrunk(X, t):
    """The singular values of X, less t."""
    left, s, right = np.linalg.svd(X, full_matrices=False)
    return (left * np.maximum(s - t, 0.0)) @ right


def nuclear(X):
    return float(np.linalg.svd(X, compute_uv=False).sum())


# ---- every problem


def test_every_problem_has_an_example():
    assert set(PROBLEMS) == {label.split(",")[0] for label in EXAMPLES}
    assert set(PROBLEMS) <= {entry.name for entry in bo.catalog("problem")}


@pytest.mark.parametrize("label", EXAMPLES)
def test_every_example_is_solved_from_its_own_start(label):
    problem, _ = EXAMPLES[label]
    result = bo.solve(problem, max_iterations=60)
    inertial = any("picked nipalm" in note for note in result.notes)  # it has no safeguard
    assert result.certificate.monotone or inertial
    assert result.objective < result.history["objective"][0]
    assert not any("infeasible" in note for note in result.notes)


# ---- NMF


def nmf_case(kind, seed):
    rng = np.random.default_rng(seed)
    M = np.abs(rng.standard_normal((40, 4))) @ np.abs(rng.standard_normal((4, 30)))
    if kind == "noise":
        M = np.abs(M + rng.standard_normal(M.shape))
    if kind == "sparse":
        M *= rng.random(M.shape) < 0.2
    U, V = np.abs(rng.standard_normal((40, 4))), np.abs(rng.standard_normal((4, 30)))
    size = np.sqrt(np.linalg.norm(M))
    return M, bo.Blocks(U=U * size / np.linalg.norm(U), V=V * size / np.linalg.norm(V))


def by_coordinates(M, start, weight):
    """The objective of scikit-learn's coordinate descent after 200 iterations."""
    from sklearn.decomposition import NMF

    (m, n), rank = M.shape, start.U.shape[1]
    model = NMF(
        rank, init="custom", solver="cd", max_iter=200, tol=0, alpha_W=weight / n, alpha_H=weight / m, l1_ratio=1.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it has not converged
        U = model.fit_transform(M.copy(), W=start.U.copy(), H=start.V.copy())
    V = model.components_
    return 0.5 * np.sum((M - U @ V) ** 2) + weight * (U.sum() + V.sum())


@pytest.mark.parametrize(
    ("kind", "method", "weight", "missed"),
    [
        ("exact", "auto", 0, 0),
        ("sparse", "auto", 0, 0),
        ("exact", "auto", 0.5, 1),  # several minima: scikit-learn finds a lower one on 2 of the seeds 0 to 11, we on 10
        ("noise", "ecd", 0, 0),  # by coordinates as well: it falls into the same of several minima
    ],
)
def test_nmf_is_not_above_scikit_learn_from_the_same_start_after_200_iterations(kind, method, weight, missed):
    above = 0
    for seed in range(4):
        M, start = nmf_case(kind, seed)
        H = f"l1({weight})" if weight else "nonneg"
        it = bo.compose("nmf", scipy.sparse.csr_array(M) if kind == "sparse" else M, rank=4, U=H, V=H)
        result = bo.solve(it, method=method, start=start, stop="max-iterations(200)")
        assert result.Y.U.min() >= 0
        assert result.Y.V.min() >= 0
        above += not result.objective <= by_coordinates(M, start, weight) * (1 + 1e-12)
    assert above <= missed


def test_the_weights_of_nmf_hold_on_the_non_negative_orthant():
    it = bo.compose("nmf", np.ones((4, 3)), rank=2, U="l1(0.1)", V="none")
    assert it.regularizer["U"].value(np.full((4, 2), -1.0)) == np.inf
    assert it.regularizer["U"].value(np.ones((4, 2))) == pytest.approx(0.8)
    assert it.regularizer["V"] == bo.make("regularizer", "nonneg")


def test_semi_nmf_leaves_U_free_and_fits_data_of_either_sign_better_than_nmf_of_its_positive_part():
    M, _ = low_rank_matrix(noise=0.0, rank=3)
    M = M @ np.diag(np.sign(np.random.default_rng(1).standard_normal(20)))
    result = bo.solve(bo.compose("semi-nmf", M, rank=6), max_iterations=300)
    assert result.Y.V.min() >= 0
    assert result.Y.U.min() < 0
    assert result.metrics["relative_error"] < 0.05


# ---- completion and robust PCA: a ridge on both factors is the nuclear norm, and the optimum that of a convex problem


def soft_impute(M, known, weight):
    X = np.zeros_like(M)
    for _ in range(2000):
        previous, X = X, shrunk(np.where(known, M, X), weight)
        if np.linalg.norm(X - previous) <= 1e-12 * np.linalg.norm(X):
            break
    return X


@pytest.mark.parametrize("form", ["mask", "nan", "sparse"])
def test_completion_with_a_ridge_reaches_the_optimum_of_soft_impute(form):
    M, rng = low_rank_matrix()
    known, weight = rng.random(M.shape) < 0.5, 1.5
    X = soft_impute(M, known, weight)
    reference = 0.5 * np.sum((M - X)[known] ** 2) + weight * nuclear(X)
    assert np.linalg.matrix_rank(X, 1e-8) < 8  # so that factors of rank 8 hold it
    data = {"mask": M, "nan": np.where(known, M, np.nan), "sparse": scipy.sparse.csr_array(np.where(known, M, 0.0))}
    ridge = {"U": f"ridge({weight})", "V": f"ridge({weight})"}
    it = bo.compose("completion", data[form], rank=8, mask=known if form == "mask" else None, **ridge)
    result = bo.solve(it, **TIGHT)
    assert result.converged
    found = result.Y.U @ result.Y.V
    # the dual value of the residual, shrunk until it is feasible, bounds the optimum from below
    R = np.where(known, M - found, 0.0)
    R *= min(1.0, weight / np.linalg.norm(R, 2))
    gap = result.objective - (np.vdot(R, M) - 0.5 * np.vdot(R, R))
    assert gap <= 1e-8 * reference
    assert result.objective == pytest.approx(reference, rel=1e-10)
    np.testing.assert_allclose(found, X, atol=1e-6)


def with_outliers(m, n, rank, seed=1):
    M, rng = low_rank_matrix(m, n, rank, 0.05, seed)
    hit = rng.random(M.shape) < 0.1
    return M + 10.0 * hit * rng.standard_normal(M.shape)


def robust_objective(M, X, d, weight):
    S = soft(M - X, d)
    return 0.5 * np.sum((M - X - S) ** 2) + d * np.abs(S).sum() + weight * nuclear(X)


def by_admm(M, d, weight):
    """min h(Z) + weight‖X‖_* with X + Z = M, h the Huber function, by ADMM with the parameter 1."""
    Z, Y = np.zeros_like(M), np.zeros_like(M)
    for _ in range(3000):
        X = shrunk(M - Z - Y, weight)
        A = M - X - Y
        Z = np.where(np.abs(A) <= 2 * d, 0.5 * A, soft(A, d))
        Y = Y + X + Z - M
        if np.linalg.norm(X + Z - M) <= 1e-12 * np.linalg.norm(M):
            break
    return X


def by_fista(M, d, weight):
    X = X_bar = np.zeros_like(M)
    theta = 1.0
    for _ in range(3000):
        previous, X = X, shrunk(X_bar + np.clip(M - X_bar, -d, d), weight)
        theta = 1.0 if np.vdot(X_bar - X, X - previous) > 0 else theta
        theta_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * theta**2))
        X_bar, theta = X + (theta - 1.0) / theta_next * (X - previous), theta_next
        if np.linalg.norm(X - previous) <= 1e-12 * np.linalg.norm(X):
            break
    return X


@pytest.mark.parametrize(
    ("shape", "rank", "weight", "solver"), [((12, 10), 10, 1.0, by_admm), ((60, 40), 12, 2.0, by_fista)]
)
def test_robust_pca_with_a_ridge_reaches_the_optimum_of_a_convex_solver(shape, rank, weight, solver):
    M, d = with_outliers(*shape, rank=3), 0.3
    X = solver(M, d, weight)
    assert np.linalg.matrix_rank(X, 1e-8) < rank
    reference = robust_objective(M, X, d, weight)
    it = bo.compose("robust-pca", M, rank=rank, d=d, U=f"ridge({weight})", V=f"ridge({weight})")
    result = bo.solve(it, **TIGHT)
    found = result.Y.U @ result.Y.V
    R = np.clip(M - found, -d, d)  # feasible for the dual, once its largest singular value is at most the weight
    R *= min(1.0, weight / np.linalg.norm(R, 2))
    assert result.objective - (np.vdot(R, M) - 0.5 * np.vdot(R, R)) <= 1e-8 * reference
    assert result.objective == pytest.approx(reference, rel=1e-10)
    np.testing.assert_allclose(found, X, atol=1e-6)
    np.testing.assert_allclose(outliers(it, result.Y).toarray(), soft(M - X, d), atol=1e-6)


def test_the_huber_loss_is_the_explicit_sparse_part_minimised_out():
    M, rng = low_rank_matrix(20, 15, noise=0.0, seed=4)
    M[rng.random(M.shape) < 0.1] += 5.0
    d, eta, start = 0.4, 0.5, gaussian(M, 3, rng)
    U, V, ridge = start.U, start.V, eta * np.eye(3)
    for _ in range(5000):  # S, U and V in turn, each exactly
        previous, L = V, M - soft(M - U @ V, d)
        U = np.linalg.solve(V @ V.T + ridge, V @ L.T).T
        V = np.linalg.solve(U.T @ U + ridge, U.T @ L)
        if np.abs(V - previous).max() < 1e-12:
            break
    S = soft(M - U @ V, d)
    explicit = 0.5 * np.sum((M - U @ V - S) ** 2) + d * np.abs(S).sum() + 0.5 * eta * (np.sum(U**2) + np.sum(V**2))
    it = bo.compose("robust-pca", M, rank=3, d=d, U=f"ridge({eta})", V=f"ridge({eta})")
    result = bo.solve(it, method="els", start=start, **TIGHT)
    assert result.objective == pytest.approx(explicit, rel=1e-10)
    found = outliers(it, result.Y)
    assert found.nnz == np.count_nonzero(S)
    np.testing.assert_allclose(found.toarray(), S, atol=1e-6)
    np.testing.assert_allclose(M - result.W.toarray(), found.toarray(), atol=1e-12)


def test_outliers_are_zero_where_an_entry_is_unknown_and_do_not_depend_on_weights():
    M, rng = low_rank_matrix()
    known, Y = rng.random(M.shape) < 0.7, gaussian(M, 2, rng)
    options = {"mask": known, "weights": rng.random(M.shape)}
    it = bo.compose("robust-pca", M, rank=2, d=0.5, **options)
    expected = np.where(known, soft(M - Y.U @ Y.V, 0.5), 0.0)
    np.testing.assert_allclose(outliers(it, Y).toarray(), expected, atol=1e-14)


def test_the_usual_size_of_an_outlier_follows_the_data_and_not_the_outliers():
    M, rng = low_rank_matrix(60, 50, 3, 0.0)

    def d(M, **options):
        return bo.compose("robust-pca", M, rank=2, **options).block.loss.single.d

    assert d(M) == pytest.approx(0.1 * 1.4826 * np.median(np.abs(M - np.median(M))), rel=1e-12)
    assert d(100 * M) == pytest.approx(100 * d(M), rel=1e-12)
    hit = rng.random(M.shape) < 0.05
    assert d(np.where(hit, 1e6, M)) == pytest.approx(d(M), rel=0.2)
    assert d(np.where(hit, 1e6, M), mask=~hit) == pytest.approx(d(np.where(hit, np.nan, M)), rel=1e-12)
    assert d(scipy.sparse.csr_array(np.where(hit, M, 0.0))) > 0
    with pytest.raises(DataError, match="give d"):
        d(np.ones((5, 4)))


# ---- labels


def sign_matrix(seed=0):
    M, rng = low_rank_matrix(rank=3, noise=0.3, seed=seed)
    M = np.sign(M)
    M[rng.random(M.shape) < 0.2] = np.nan
    return M, rng


def smooth_objective(name, M, rank, eta):
    """``y -> (Φ, ∇Φ)`` by NumPy."""
    (m, n), known, labels = M.shape, ~np.isnan(M), np.nan_to_num(M)

    def value_and_gradient(y):
        U, V = y[: m * rank].reshape(m, rank), y[m * rank :].reshape(rank, n)
        Z = labels * (U @ V)
        if name == "logistic":
            value, S = np.logaddexp(0.0, -Z)[known].sum(), -labels / (1.0 + np.exp(Z))
        else:
            short = np.maximum(0.0, 1.0 - Z)
            value, S = 0.5 * np.sum(short[known] ** 2), -labels * short
        return value + 0.5 * eta * y @ y, np.concatenate([(S @ V.T).ravel(), (U.T @ S).ravel()]) + eta * y

    return value_and_gradient


@pytest.mark.parametrize("name", ["logistic", "one-bit"])
@pytest.mark.parametrize("method", ["auto", "bella", "masked-newton"])
def test_labels_are_fitted_as_l_bfgs_b_fits_them_from_the_same_start_to_eight_digits(name, method):
    M, rng = sign_matrix()
    start = gaussian(M, 4, rng)
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9}
    reference = scipy.optimize.minimize(
        smooth_objective(name, M, 4, 1.0), start.flat, jac=True, method="L-BFGS-B", options=options
    )
    it = bo.compose(name, M, rank=4, U="ridge(1)", V="ridge(1)")
    result = bo.solve(it, method=method, start=start, stop="stationarity(1e-8)", max_iterations=3000)
    assert result.objective == pytest.approx(reference.fun, rel=1e-8)


@pytest.mark.parametrize("name", ["logistic", "one-bit"])
def test_labels_may_be_signs_zeros_and_ones_truth_values_or_sparse(name):
    M, rng = sign_matrix()
    Y, known = gaussian(M, 2, rng), ~np.isnan(M)
    zero_one = np.where(known, (M + 1) / 2, np.nan)
    full = np.where(known, M, 1.0)
    csr = scipy.sparse.csr_array(np.nan_to_num(M))
    stored = csr.copy()
    stored.data = (stored.data + 1) / 2  # zeros are stored: they are labels
    forms = [
        bo.compose(name, M, rank=2),
        bo.compose(name, np.nan_to_num(M), rank=2),
        bo.compose(name, csr, rank=2),
        bo.compose(name, zero_one, rank=2, labels="01"),
        bo.compose(name, stored, rank=2, labels="01"),
        bo.compose(name, full > 0, rank=2, labels="01", mask=known),
        bo.compose(name, np.where(known, (M + 1) / 2, 7.0), rank=2, labels="01", mask=scipy.sparse.csr_array(known)),
        bo.compose(name, zero_one.astype(np.float32), rank=2, labels="01", dtype="float64"),
    ]
    values = [it.oracle.evaluate(Y).value for it in forms]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert stored.data.min() == 0  # what was given is left as it is


def test_binary_is_logistic_with_every_zero_a_label():
    rng = np.random.default_rng(0)
    M = (rng.random((12, 9)) < 0.3).astype(float)
    Y = gaussian(M, 2, rng)
    X = Y.U @ Y.V
    expected = np.sum(np.logaddexp(0.0, X) - M * X)
    for form in (M, M > 0, M.astype(int), scipy.sparse.csr_array(M), scipy.sparse.coo_array(M > 0)):
        it = bo.compose("binary", form, rank=2, model="product")
        assert it.oracle.evaluate(Y).value == pytest.approx(expected, rel=1e-12)
    result = bo.solve(bo.compose("binary", M, rank=2), max_iterations=300)
    assert result.Y.names == ("U", "V", "a", "b")
    assert result.metrics["mistakes"] < 0.2


# ---- symmetric, dictionary, graphs


def test_symmetric_least_squares_are_the_leading_eigenvalues_that_are_positive():
    A = np.random.default_rng(0).standard_normal((12, 12))
    M = A + A.T
    values = np.linalg.eigvalsh(M)
    kept = values[-3:]
    result = bo.solve(bo.compose("symmetric", M, rank=3), **TIGHT)
    assert result.objective == pytest.approx(0.5 * (np.sum(values**2) - np.sum(kept**2)), rel=1e-8)
    result = bo.solve(bo.compose("symmetric", scipy.sparse.csr_array(M), rank=3), **TIGHT)
    assert result.objective == pytest.approx(0.5 * (np.sum(values**2) - np.sum(kept**2)), rel=1e-8)


def test_symmetric_nmf_finds_the_blocks_of_a_graph():
    M = scipy.linalg.block_diag(np.ones((5, 5)), np.ones((4, 4)), np.ones((6, 6)))
    result = bo.solve(bo.compose("symmetric", M, rank=3, nonneg=True), seed=1, max_iterations=1000)
    assert result.Y.U.min() >= 0
    clusters = result.Y.U.argmax(axis=1)
    assert [len(set(clusters[rows])) for rows in (slice(0, 5), slice(5, 9), slice(9, 15))] == [1, 1, 1]
    assert len(set(clusters)) == 3


def test_dictionary_atoms_have_norm_one_and_the_code_is_sparse():
    rng = np.random.default_rng(0)
    atoms, code = rng.standard_normal((10, 15)), rng.standard_normal((15, 80)) * (rng.random((15, 80)) < 0.15)
    M = atoms / np.linalg.norm(atoms, axis=0) @ code
    result = bo.solve(bo.compose("dictionary", M, rank=15), max_iterations=500)  # more atoms than rows
    U, V = result.Y.U, result.Y.V
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), 1.0, rtol=1e-10)
    assert np.mean(V == 0) > 0.5
    assert result.metrics["relative_error"] < 0.2
    assert result.objective == pytest.approx(0.5 * np.sum((M - U @ V) ** 2) + 0.1 * np.abs(V).sum(), rel=1e-10)


def test_codes_for_atoms_that_are_fixed_are_those_of_the_lasso():
    M, rng = low_rank_matrix()
    U = rng.standard_normal((25, 6))
    U /= np.linalg.norm(U, axis=0)
    result = bo.solve(bo.compose("dictionary", M, U=bo.Fixed(U), V="l1(0.3)"), method="aapb", **TIGHT)
    slope = U.T @ (M - U @ result.Y.V)
    assert np.abs(slope).max() <= 0.3 * (1 + 1e-6)
    on = result.Y.V != 0
    np.testing.assert_allclose(slope[on], 0.3 * np.sign(result.Y.V[on]), atol=1e-6)


def affinities(m=12):
    S = np.zeros((m, m))
    for i in range(m):
        S[i, (i + 1) % m] = S[(i + 1) % m, i] = 1.0 + i % 3
    return S


@pytest.mark.parametrize("name", ["graph-relu-nmd", "graph-nmf"])
def test_a_graph_may_be_affinities_a_laplacian_or_a_term(name):
    rng = np.random.default_rng(0)
    M, S = np.maximum(0.0, rng.standard_normal((12, 8))), affinities()
    L = np.diag(S.sum(axis=1)) - S
    Y = bo.Blocks(U=np.abs(rng.standard_normal((12, 3))), V=np.abs(rng.standard_normal((3, 8))))
    X = Y.U @ Y.V
    fit = 0.5 * np.sum((X - M) ** 2 if name == "graph-nmf" else np.where(M > 0, X - M, np.maximum(X, 0.0)) ** 2)
    expected = fit + 0.5 * 2.0 * np.trace(Y.U.T @ L @ Y.U)
    for graph in (S, scipy.sparse.csr_array(S), S + np.eye(12), L, scipy.sparse.coo_array(L), S.astype(int)):
        it = bo.compose(name, M, rank=3, graph=graph, mu=2.0)
        assert it.oracle.evaluate(Y).value == pytest.approx(expected, rel=1e-12)
    term = bo.make("regularizer", "graph", L, mu=2.0)
    assert bo.compose(name, M, rank=3, graph=term).oracle.evaluate(Y).value == pytest.approx(expected, rel=1e-12)


def test_a_strong_graph_makes_neighbours_alike():
    rng = np.random.default_rng(0)
    M = np.abs(rng.standard_normal((12, 8)))

    def spread(mu):
        result = bo.solve(
            bo.compose("graph-nmf", M, rank=2, graph=affinities(), mu=mu, V="ridge(0.1)"), max_iterations=300
        )
        U = result.Y.U
        return np.linalg.norm(U - U.mean(axis=0)) / np.linalg.norm(U)

    assert spread(100.0) < 0.1 * spread(0.01)


# ---- blocks that stay


@pytest.mark.parametrize(
    ("name", "options"),
    [("completion", {"mask": True}), ("nmf", {}), ("logistic", {}), ("robust-pca", {"d": 0.3})],
    ids=["completion", "nmf", "logistic", "robust-pca"],
)
def test_freezing_V_on_the_training_rows_gives_back_the_fitted_U(name, options):
    M, rng = low_rank_matrix(30, 20, 4, 0.3)
    if "mask" in options:
        options = {"mask": rng.random(M.shape) < 0.7}
    data = {"nmf": np.abs(M), "logistic": np.sign(M)}.get(name, M)
    it = bo.compose(name, data, rank=4, U="ridge(0.5)", V="ridge(0.5)", **options)
    fit = bo.solve(it, stop="stationarity(1e-10)", max_iterations=5000)
    frozen = it.freeze(V=fit.Y.V)
    for method in ("bella", "masked-newton"):
        result = bo.solve(frozen, method=method, stop="stationarity(1e-8)", max_iterations=2000)
        assert result.Y.names == ("U",)
        assert result.converged
        np.testing.assert_allclose(result.Y.U, fit.Y.U, atol=1e-6)


def test_new_rows_of_nmf_are_those_of_non_negative_least_squares():
    rng = np.random.default_rng(0)
    V, new = np.abs(rng.standard_normal((3, 15))), np.abs(rng.standard_normal((4, 15)))
    it = bo.compose("nmf", new, V=bo.Fixed(V), U="ridge(0.5)")
    result = bo.solve(it, method="bella", **TIGHT)
    A = np.concatenate([V.T, np.sqrt(0.5) * np.eye(3)])
    expected = [scipy.optimize.nnls(A, np.concatenate([row, np.zeros(3)]))[0] for row in new]
    np.testing.assert_allclose(result.Y.U, expected, atol=1e-7)


# ---- a table of columns of several kinds


def ordinal_loss(X, M, levels):
    value = np.zeros_like(X)
    for t in range(1, levels):
        value += 0.5 * np.maximum(0.0, 1.0 + np.where(t < M, -1.0, 1.0) * (X - t - 0.5)) ** 2
    return value


def test_a_table_of_numbers_labels_and_grades_with_a_tenth_missing_is_fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20))
    table = X.copy()
    table[:, 8:14] = np.where(X[:, 8:14] > 0, 1.0, -1.0)
    table[:, 14:] = np.clip(np.round(X[:, 14:] + 3.0), 1, 5)
    table[:5, 0] = 0.0  # a number like any other
    table[rng.random(table.shape) < 0.1] = np.nan
    known = ~np.isnan(table)
    it = bo.compose(
        "low-rank",
        table,
        rank=3,
        loss={"0:8": "huber(1)", "8:14": "logistic", "14:": "ordinal(5)"},
        model="with-bias",
        U="ridge(0.1)",
        V="ridge(0.1)",
    )
    assert it.block.M.known == known.sum()
    result = bo.solve(it, method="aapb", max_iterations=600)
    named = next(note for note in result.notes if note.startswith("The losses are"))
    assert named == (
        "The losses are columns 0 to 7: Huber(d=1); columns 8 to 13: Logistic(); columns 14 to 19: Ordinal(levels=5)."
    )
    U, V, a, b = (result.Y[name] for name in ("U", "V", "a", "b"))
    fitted, table = U @ V + a + b, np.nan_to_num(table)
    gap = np.abs(fitted - table)
    values = np.concatenate(
        [
            np.where(gap <= 1, 0.5 * gap**2, gap - 0.5)[:, :8],
            np.logaddexp(0.0, -table * fitted)[:, 8:14],
            ordinal_loss(fitted[:, 14:], table[:, 14:], 5),
        ],
        axis=1,
    )
    ridge = 0.05 * (np.sum(U**2) + np.sum(V**2))
    assert result.objective == pytest.approx(values[known].sum() + ridge, rel=1e-10)
    assert np.median(gap[:, :8][known[:, :8]]) < 0.1
    assert np.mean((table * fitted)[:, 8:14][known[:, 8:14]] > 0) > 0.95
    grades = np.clip(np.round(fitted), 1, 5)
    assert np.mean((grades == table)[:, 14:][known[:, 14:]]) > 0.8


# ---- bad input

M6 = np.random.default_rng(0).standard_normal((6, 5))
NAN = np.full((6, 5), np.nan)
WRONG_DATA = {
    "all missing": ("completion", NAN, {}, "Every entry of M is missing"),
    "all masked": ("nmf", np.abs(M6), {"mask": np.zeros((6, 5), bool)}, "Every entry of M is missing"),
    "nothing stored": ("completion", scipy.sparse.csr_array((6, 5)), {}, "Every entry of M is missing"),
    "nothing missing": ("completion", M6, {}, "nothing to complete"),
    "a weight below 0": ("semi-nmf", M6, {"weights": M6}, "finite numbers >= 0"),
    "a weight that is nan": ("robust-pca", M6, {"weights": np.where(M6 > 1, np.nan, 1.0)}, "Got nan among them"),
    "weights of another shape": ("dictionary", M6, {"weights": np.ones((5, 6))}, "the shape of M, 6×5. Got 5×6"),
    "a mask of another shape": ("one-bit", np.sign(M6), {"mask": np.ones((5, 6), bool)}, "the shape of M, 6×5"),
    "a mask of numbers": ("nmf", np.abs(M6), {"mask": np.abs(M6)}, "True where an entry is known"),
    "a label of 2": ("logistic", np.where(M6 > 1, 2.0, np.sign(M6)), {}, "M must be 1 or -1"),
    "truth values": ("logistic", M6 > 0, {}, "say labels='01'"),
    "zeros and ones": ("one-bit", (M6 > 0).astype(int), {}, "say labels='01'"),
    "sparse ones": ("one-bit", scipy.sparse.csr_array((M6 > 0).astype(float)), {}, "take the problem binary"),
    "signs for 0 and 1": ("logistic", np.sign(M6), {"labels": "01"}, "M must be 0 or 1 for logistic"),
    "a three for 0 and 1": ("binary", 3.0 * (M6 > 0), {}, "Got 3 instead"),
    "negative entries": ("nmf", M6, {}, "Use semi-nmf"),
    "negative entries with a graph": ("graph-nmf", M6, {"graph": np.eye(6)}, "must be non-negative for graph-nmf"),
    "a fixed block below 0": ("nmf", np.abs(M6), {"rank": None, "V": bo.Fixed(M6[:2])}, "The fixed block 'V'"),
    "no symmetry": ("symmetric", np.tri(4), {}, "differ by 1"),
    "no square": ("symmetric", M6, {}, "square"),
    "a graph of another size": ("graph-nmf", np.abs(M6), {"graph": np.ones((5, 5))}, "5 nodes"),
    "a graph with directions": ("graph-relu-nmd", np.abs(M6), {"graph": np.tri(6)}, "symmetric"),
}
WRONG_PARAMETERS = {
    "an unknown option": ("nmf", np.abs(M6), {"loss": "huber"}, "takes no 'loss'"),
    "a V that is not there": ("symmetric", M6 @ M6.T, {"V": "l1"}, "takes no 'V'"),
    "held out of a symmetric M": ("symmetric", M6 @ M6.T, {"held_out": 0.2}, "as m_ji tells m_ij"),
    "a share above 1": ("completion", M6, {"held_out": 2}, "held_out"),
    "a size of 0": ("robust-pca", M6, {"d": 0}, "'d' parameter of robust-pca"),
    "other labels": ("logistic", np.sign(M6), {"labels": "yes"}, "'labels' parameter"),
    "zeros that are both": ("binary", (M6 > 0).astype(float), {"missing": "zeros"}, "as 0 is a label"),
    "no graph": ("graph-nmf", np.abs(M6), {}, "'graph' parameter of graph-nmf"),
    "two weights of a graph": (
        "graph-nmf",
        np.abs(M6),
        {"graph": bo.make("regularizer", "graph", np.eye(6)), "mu": 2.0},
        "'mu' parameter",
    ),
    "no rank": ("nmf", np.abs(M6), {"rank": None}, "'rank' parameter of nmf"),
    "no atoms": ("dictionary", M6, {"rank": 0}, "'rank' parameter of dictionary"),
}


@pytest.mark.parametrize("what", WRONG_DATA)
def test_data_that_cannot_be_used_are_refused_with_one_clear_sentence(what):
    name, M, options, told = WRONG_DATA[what]
    with pytest.raises(DataError) as refused:
        bo.compose(name, M, **{"rank": 2} | options)
    assert told in str(refused.value)


@pytest.mark.parametrize("what", WRONG_PARAMETERS)
def test_parameters_that_a_problem_has_no_use_for_are_refused(what):
    name, M, options, told = WRONG_PARAMETERS[what]
    with pytest.raises(ParameterError) as refused:
        bo.compose(name, M, **{"rank": 2} | options)
    assert told in str(refused.value)


def test_a_weight_without_a_proximal_map_on_the_orthant_is_refused():
    with pytest.raises(IncompatibleError, match="non-negative orthant is not known"):
        bo.compose("nmf", np.abs(M6), rank=2, U="tv(0.1)")


def test_outliers_of_another_problem_are_refused():
    class Other(bo.ClosedFormBlock):
        def argmin(self, smooth, Y):
            return 0.0

        def value(self, W):
            return 0.0

    smooth = bo.compose("nmf", np.abs(M6), rank=2).smooth
    other = bo.Problem(smooth=smooth, block=Other(), kernel=bo.make("kernel", "psi1"))
    with pytest.raises(IncompatibleError, match="robust-pca"):
        outliers(other, bo.Blocks(U=np.ones((6, 2)), V=np.ones((2, 5))))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_row_without_entries_is_noted_and_its_factor_is_what_H_alone_says(form):
    M, rng = low_rank_matrix()
    known = rng.random(M.shape) < 0.6
    known[4], known[:, 7] = False, False
    data = np.where(known, M, np.nan) if form == "dense" else scipy.sparse.csr_array(np.where(known, M, 0.0))
    it = bo.compose("completion", data, rank=2, U="ridge(1)", V="ridge(1)")
    result = bo.solve(it, stop="stationarity(1e-8)", max_iterations=3000)
    assert any(note.startswith("1 row has no known entry (the first is row 4)") for note in result.notes)
    assert any(note.startswith("1 column has no known entry (the first is column 7)") for note in result.notes)
    np.testing.assert_allclose(result.Y.U[4], 0.0, atol=1e-6)
    np.testing.assert_allclose(result.Y.V[:, 7], 0.0, atol=1e-6)


@pytest.mark.parametrize("nonneg", [False, True])
def test_symmetric_factors_agree_with_lbfgs_from_the_same_start(nonneg):
    rng = np.random.default_rng(0)
    Q = np.abs(rng.standard_normal((15, 3)))
    noise = 0.1 * rng.standard_normal((15, 15))
    M = Q @ Q.T + noise + noise.T
    problem = bo.compose("symmetric", M, rank=3, nonneg=nonneg)
    Y = problem.first_point(None, np.random.default_rng(1))

    def both(flat):
        U = flat.reshape(15, 3)
        R = U @ U.T - M
        return 0.5 * np.sum(R**2), (2 * R @ U).ravel()

    bounds = [(0, None)] * 45 if nonneg else None
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-10}
    best = scipy.optimize.minimize(both, Y.flat, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    result = bo.solve(problem, start=Y, max_iterations=5000, tolerance=1e-10)
    assert result.objective == pytest.approx(best.fun, rel=1e-8)


@pytest.mark.parametrize("kind", ["dense", "sparse", "masked", "nearly"])
def test_a_mirrored_matrix_takes_a_product_less_and_has_the_same_gradient(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 40)) * (rng.random((40, 40)) < 0.3)
    M = A + A.T
    options = {"mask": rng.random(M.shape) < 0.5} if kind == "masked" else {}
    given = scipy.sparse.csr_array(M) if kind == "sparse" else M + (np.triu(M, 1) * 1e-12 if kind == "nearly" else 0.0)
    run = bo.iterate(bo.compose("symmetric", given, rank=3, **options), method="apb")
    Y = next(run).Y
    found = run.problem.oracle.evaluate(Y, at=Y)
    known = options.get("mask", np.ones(M.shape, dtype=bool))
    S = np.where(known, Y.U @ Y.U.T - M, 0.0)
    np.testing.assert_allclose(found.gradient.U, (S + S.T) @ Y.U, atol=1e-9)
    before, block = run.problem.oracle.spent, run.problem.block
    next(run)
    products = (run.problem.oracle.spent - before) / block.M.share(block.loss, 3)
    assert products == pytest.approx(2.0 if kind in ("dense", "sparse") else 3.0)
