"""KL-NMF: block-wise Bregman steps are the multiplicative updates, and inertia makes them faster."""

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError


def counts(m=30, n=20, r=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(1.0, 2.0, (m, r)) @ rng.gamma(1.0, 2.0, (r, n))) + (rng.random((m, n)) < 0.5)


def divergence(M, X):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(X - M + np.where(M > 0, M * np.log(M / X), 0.0)))


def start_of(problem, seed=1):
    return problem.first_point(None, np.random.default_rng(seed))


def multiplicative(M, U, V, iterations, l1=0.0):
    for _ in range(iterations):
        U = U * ((M / (U @ V)) @ V.T) / (V.sum(axis=1) + l1)
        V = V * (U.T @ (M / (U @ V))) / U.sum(axis=0)[:, None]
    return U, V


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_bpalm_is_the_multiplicative_update(form, l1):
    M = counts()
    problem = bo.compose("kl-nmf", form(M), 4, U=f"l1({l1})")
    Y = start_of(problem)
    U, V = multiplicative(M, Y.U, Y.V, 60, l1)
    result = bo.solve(problem, method="bpalm", start=Y, max_iterations=60)
    np.testing.assert_allclose(result.Y.U, U, rtol=1e-10)
    np.testing.assert_allclose(result.Y.V, V, rtol=1e-10)
    assert result.objective == pytest.approx(divergence(M, U @ V) + l1 * U.sum(), rel=1e-10)
    assert result.certificate.guaranteed
    assert np.all(np.diff(result.history["objective"]) <= 1e-10 * result.history["objective"][0])


@pytest.mark.parametrize("method", ["bpalm", "bpalm(inertia=true)", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_no_method_is_above_scikit_learns_updates_after_as_many_iterations(method, seed):
    from sklearn.decomposition import non_negative_factorization

    M = counts(seed=seed).astype(float)
    problem = bo.compose("kl-nmf", M, 4)
    Y = start_of(problem)
    options = {"init": "custom", "solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 100, "tol": 0.0}
    U, V, _ = non_negative_factorization(M, W=Y.U.copy(), H=Y.V.copy(), n_components=4, **options)
    result = bo.solve(problem, method=method, start=Y, max_iterations=100)
    assert result.objective <= divergence(M, U @ V) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_inertia_keeps_the_descent_and_ends_lower(seed):
    M = counts(60, 40, 5, seed)
    problem = bo.compose("kl-nmf", M, 5)
    plain, fast = (
        bo.solve(problem, method=f"bpalm(inertia={inertia})", max_iterations=200) for inertia in ("false", "true")
    )
    assert fast.objective < plain.objective
    assert np.all(np.diff(fast.history["objective"]) <= 1e-10 * fast.history["objective"][0])
    assert np.nanmax(fast.history["beta"]) > 0.5


def test_stationarity_is_small_at_an_optimum_that_has_zeros():
    M = counts(12, 10, 2, 3)
    result = bo.solve(bo.compose("kl-nmf", M, 3), method="bpalm(inertia=true)", max_iterations=5000, tolerance=1e-7)
    assert result.converged
    X, Y = result.Y.U @ result.Y.V, result.Y
    for factor, slope in ((Y.U, Y.V.sum(axis=1) - (M / X) @ Y.V.T), (Y.V, Y.U.sum(axis=0)[:, None] - Y.U.T @ (M / X))):
        assert np.abs(np.minimum(factor, slope)).max() < 1e-3
    assert min(Y.U.min(), Y.V.min()) < 1e-6


def test_bpalm_with_quadratic_kernels_is_ppalm():
    rng = np.random.default_rng(0)
    problem = bo.compose("relu-nmd", np.maximum(0, rng.standard_normal((20, 15))), rank=3, U="l1(0.1)", V="nonneg")
    Y = start_of(problem)
    one, other = (bo.solve(problem, method=method, start=Y, max_iterations=30) for method in ("bpalm", "ppalm"))
    np.testing.assert_allclose(one.Y.flat, other.Y.flat, rtol=0, atol=1e-10)


def test_bad_data_are_refused_in_one_sentence():
    good = counts()
    for bad, words in (
        (np.where(good == good.max(), -1, good), "not negative"),
        (np.where(np.eye(30, 20) > 0, np.nan, good), "finite"),
        (np.vstack([good, np.zeros(20)]), "rows without a positive entry, such as row 30"),
        (good.astype(str), "real numbers"),
        (good[0], "must be a matrix"),
    ):
        with pytest.raises(DataError, match=words):
            bo.compose("kl-nmf", bad, 2)
    with pytest.raises(ParameterError, match="from 1 to 20"):
        bo.compose("kl-nmf", good, 21)
    with pytest.raises(DataError, match="U: 30×r and V: r×20"):
        bo.solve(bo.compose("kl-nmf", good, 2), start=bo.Blocks(U=np.ones((30, 2)), V=np.ones((3, 20))))
    with pytest.raises(IncompatibleError, match="PALM-type method"):
        bo.solve(bo.compose("kl-nmf", good, 2), method="palm")
