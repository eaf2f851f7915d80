"""Deep linear networks, blind deconvolution and sparse PCA: against what is known of their minima."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from bregopt_problems import explained_variance

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError

TIGHT = {"stop": "stationarity(1e-9)", "max_iterations": 5000}
BREGMAN = {"auto", "aapb", "apb", "bpg", "bella", "cocain", "palm", "ipalm", "bpalm"}
"""Methods that take a kernel and a proximal map, or a proximal map of each block."""


def start_of(problem, seed=1):
    return problem.first_point(None, np.random.default_rng(seed))


def solved_by(problem):
    """The methods that step downhill in three iterations; the others have to say that they do not fit."""
    solved = set()
    for entry in bo.catalog("method"):
        try:
            result = bo.solve(problem, method=entry.name, max_iterations=3)
        except IncompatibleError:
            continue
        assert result.objective < result.history["objective"][0], entry.name
        solved.add(entry.name)
    return solved


def slope_along(problem, Y, D):
    """The derivative of F by differences, and by the gradient."""
    ends = [problem.oracle.evaluate(Y.plus(t, D)).value for t in (1e-5, -1e-5)]
    return (ends[0] - ends[1]) / 2e-5, problem.oracle.evaluate(Y, at=Y).gradient.dot(D)


# ---- deep linear networks


@pytest.mark.parametrize(("depth", "widths"), [(2, (3,)), (3, (4, 4)), (4, (6, 3, 8)), (6, (2,) * 5), (3, (30, 30))])
@pytest.mark.parametrize("shape", [(12, 9), (9, 12)])
def test_a_deep_linear_network_falls_to_the_best_matrix_of_its_smallest_width(depth, widths, shape):
    M = np.random.default_rng(0).standard_normal(shape)
    best = 0.5 * np.sum(np.linalg.svd(M)[1][min(widths) :] ** 2)
    result = bo.solve(bo.compose("deep-linear", M, depth, widths=widths), method="palm", **TIGHT)
    assert result.objective == pytest.approx(best, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "aapb"])
@pytest.mark.parametrize("features", [4, 7, 30])
def test_a_deep_linear_network_with_inputs_is_reduced_rank_regression(features, method):
    rng = np.random.default_rng(0)
    X, M = rng.standard_normal((features, 20)), rng.standard_normal((6, 20))
    Q = np.linalg.qr(X.T)[0]
    fitted = M @ Q @ Q.T
    best = 0.5 * np.sum((M - fitted) ** 2) + 0.5 * np.sum(np.linalg.svd(fitted)[1][3:] ** 2)
    problem = bo.compose("deep-linear", M, rank=3, inputs=X)
    result = bo.solve(problem, method=method, max_iterations=4000, tolerance=1e-8)
    assert result.objective == pytest.approx(best, rel=1e-8)
    assert [it.shape for it in result.Y] == [(6, 3), (3, 3), (3, features)]


def test_the_balanced_start_has_layers_of_one_size_and_a_product_as_large_as_M():
    rng = np.random.default_rng(0)
    X, M = rng.standard_normal((5, 9)), rng.standard_normal((7, 9))
    for problem in (
        bo.compose("deep-linear", M, 4, widths=(6, 3, 4)),
        bo.compose("deep-linear", M, 4, widths=(8, 3, 9), inputs=X),
        bo.compose("deep-linear", M, 3, rank=40),
    ):
        layers = list(start_of(problem))
        for U, V in pairwise(layers):
            np.testing.assert_allclose(U.T @ U, V @ V.T, rtol=0, atol=1e-12)
        product = np.linalg.multi_dot(layers)
        product = product @ X if product.shape[1] == 5 else product
        assert np.linalg.norm(product) == pytest.approx(np.linalg.norm(M), rel=1e-12)


def test_a_ridge_on_every_layer_is_a_power_of_the_singular_values():
    M = np.random.default_rng(0).standard_normal((8, 6))
    result = bo.solve(bo.compose("deep-linear", M, 3, rank=6, H="ridge(0.3)"), **TIGHT)
    product = np.linalg.multi_dot(list(result.Y))
    sizes = np.linalg.svd(product, compute_uv=False)
    assert result.objective == pytest.approx(
        0.5 * np.sum((M - product) ** 2) + 1.5 * 0.3 * np.sum(sizes ** (2 / 3)), rel=1e-6
    )
    for given, found in zip(np.linalg.svd(M)[1], sizes, strict=True):  # each of them a minimum of its own, or zero
        assert found < 1e-6 or found - given + 0.3 * found ** (-1 / 3) == pytest.approx(0, abs=1e-6)


def test_unknown_outputs_are_left_out():
    rng = np.random.default_rng(0)
    B, X = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4)), rng.standard_normal((4, 40))
    known = rng.random((6, 40)) < 0.5
    problem = bo.compose("deep-linear", np.where(known, B @ X, np.nan), rank=2, inputs=X)
    result = bo.solve(problem, **TIGHT)
    np.testing.assert_allclose(np.linalg.multi_dot(list(result.Y)), B, rtol=0, atol=1e-5)


def test_every_method_trains_a_deep_linear_network_or_says_why_not():
    M = np.random.default_rng(0).standard_normal((6, 5))
    solved = solved_by(bo.compose("deep-linear", M, rank=2))
    assert solved >= BREGMAN
    assert not solved & {"els", "ecd", "hals", "masked-newton"}


def test_layers_that_do_not_fit_are_refused():
    M = np.ones((6, 5))
    for given, found in (({}, "neither"), ({"rank": 2, "widths": (2, 2)}, "both")):
        with pytest.raises(ParameterError, match=f"the 2 hidden layers of deep-linear .* Got {found}"):
            bo.compose("deep-linear", M, **given)
    for widths in ((2,), (2, 0), (2, 2.5), "ab", 3):
        with pytest.raises(ParameterError, match="2 whole numbers >= 1, for 3 layers"):
            bo.compose("deep-linear", M, widths=widths)
    with pytest.raises(ParameterError, match="'depth' parameter of deep-linear must be a whole number >= 2"):
        bo.compose("deep-linear", M, 1, rank=2)
    with pytest.raises(DataError, match="M has 5 columns, and the inputs have 4"):
        bo.compose("deep-linear", M, rank=2, inputs=np.ones((3, 4)))
    for inputs in (np.zeros((3, 5)), np.full((3, 5), np.nan), np.ones(5), "X"):
        with pytest.raises(DataError, match="matrix of finite numbers, not all zero"):
            bo.compose("deep-linear", M, rank=2, inputs=inputs)
    with pytest.raises(IncompatibleError, match="'balanced' is for a product of two or more matrices"):
        bo.solve(bo.compose("symmetric", np.eye(3), rank=1), start="balanced", max_iterations=1)


# ---- blind deconvolution


def convolved(k, x):
    """Σ_j k_j x_{i−j}, periodic, with the middle of k at its centre."""
    X = np.zeros_like(x)
    for place in np.ndindex(*k.shape):
        shift = [p - s // 2 for p, s in zip(place, k.shape, strict=True)]
        X += k[place] * np.roll(x, shift, tuple(range(x.ndim)))
    return X


def blurred(dims, size, noise=0.01, seed=0):
    """A sparse x, a k of positive entries with norm one, and M."""
    rng = np.random.default_rng(seed)
    k = rng.random(size) + 0.2
    k /= np.linalg.norm(k)
    x = 2 * rng.standard_normal(dims) * (rng.random(dims) < 0.08)
    return k, x, convolved(k, x) + noise * rng.standard_normal(dims)


def off(k, truth):
    """1 − the cosine between two blurs, for the best shift of one against the other."""
    pad = [(it, it) for it in k.shape]
    K, T = np.pad(k, pad), np.pad(truth, pad)
    axes = tuple(range(k.ndim))
    shifts = np.ndindex(*[2 * it - 1 for it in k.shape])
    best = max(
        float(np.vdot(np.roll(K, [p - s + 1 for p, s in zip(shift, k.shape, strict=True)], axes), T))
        for shift in shifts
    )
    return 1 - best / np.linalg.norm(K) / np.linalg.norm(T)


@pytest.mark.parametrize(("dims", "size"), [((9,), 4), ((6, 7), (3, 2)), ((4, 5, 3), 3)])
def test_blind_deconvolution_has_the_value_and_the_slope_of_the_sum_over_shifts(dims, size):
    rng = np.random.default_rng(0)
    M = np.where(rng.random(dims) < 0.8, rng.standard_normal(dims), np.nan)
    problem = bo.compose("blind-deconvolution", M, size)
    Y = start_of(problem)
    Y = Y.like(Y.flat + 0.3 * rng.standard_normal(Y.flat.shape))
    value = 0.5 * np.nansum((convolved(Y.k, Y.x) - M) ** 2)
    assert problem.oracle.evaluate(Y).value == pytest.approx(value, rel=1e-12)
    by_differences, by_gradient = slope_along(problem, Y, Y.like(rng.standard_normal(Y.flat.shape)))
    assert by_gradient == pytest.approx(by_differences, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "ipalm"])
@pytest.mark.parametrize(("dims", "size"), [((200,), 7), ((32, 32), (3, 3))])
def test_a_short_blur_of_a_sparse_signal_is_found(dims, size, method):
    k, x, M = blurred(dims, size)
    problem = bo.compose("blind-deconvolution", M, size)
    result = bo.solve(problem, method=method, max_iterations=1000, tolerance=1e-5)
    truth = problem.oracle.evaluate(bo.Blocks(k=k, x=x)).value + 0.1 * np.abs(x).sum()
    assert result.objective < truth
    assert off(result.Y.k, k) < 2e-3  # what l1 shrinks
    assert result.Y.k.min() >= 0
    assert np.linalg.norm(result.Y.k) == pytest.approx(1.0, abs=1e-6)


def test_padding_with_nan_takes_the_wrap_around_away():
    k, x, _ = blurred((200,), 7)
    M = np.convolve(x, k, "same")  # nothing enters from the other end
    wide = np.pad(M, (0, 6), constant_values=np.nan)
    truth = bo.Blocks(k=k, x=np.pad(x, (0, 6)))
    values = [
        bo.compose("blind-deconvolution", it, 7).oracle.evaluate(Y).value
        for it, Y in ((M, bo.Blocks(k=k, x=x)), (wide, truth))
    ]
    assert values[0] > 0.01
    assert values[1] == pytest.approx(0, abs=1e-20)
    assert not bo.compose("blind-deconvolution", wide, 7).notes


def test_a_sum_of_one_does_not_tell_a_blur_from_none_and_a_norm_of_one_does():
    k, x, M = blurred((200,), 7, noise=0.0)
    point, truth = bo.Blocks(k=np.eye(7)[3], x=M), bo.Blocks(k=k / k.sum(), x=k.sum() * x)

    def cost(H, Y):
        problem = bo.compose("blind-deconvolution", M, 7, k=H)
        return problem.oracle.evaluate(Y).value + problem.regularizer.value(Y)

    assert cost("simplex(1, all)", point) <= cost("simplex(1, all)", truth)
    assert cost("with-nonneg(ball(1))", point) > 1.5 * cost("with-nonneg(ball(1))", bo.Blocks(k=k, x=x))


@pytest.mark.parametrize("k", ["with-nonneg(ball(1))", "ball(1)", "simplex(1, all)", "l1-ball(1)"])
@pytest.mark.parametrize("x", ["l1(0.1)", "with-nonneg(l1(0.1))", "tv(0.1)", "l0(0.1)", "none"])
def test_every_usual_H_of_a_blur_and_of_a_signal_is_taken(k, x):
    _, _, M = blurred((8, 9), (3, 2))
    problem = bo.compose("blind-deconvolution", M, (3, 2), k=k, x=x)
    result = bo.solve(problem, method="palm", max_iterations=30)
    assert result.objective <= result.history["objective"][0]
    assert problem.regularizer["k"].value(result.Y.k) == 0
    bregman = bo.solve(problem, method="aapb", max_iterations=30)
    assert bregman.objective <= bregman.history["objective"][0]


def test_the_flat_start_is_the_best_multiple_of_the_steepest_descent_for_a_constant_blur():
    rng = np.random.default_rng(0)
    M = np.where(rng.random((6, 7)) < 0.8, rng.standard_normal((6, 7)), np.nan)
    problem = bo.compose("blind-deconvolution", M, 3, k="simplex(1, all)")
    Y = start_of(problem)
    np.testing.assert_allclose(Y.k, 1 / 9)
    descent = -problem.oracle.evaluate(Y * 0, at=bo.Blocks(k=Y.k, x=0 * Y.x)).gradient.x
    assert np.vdot(Y.x, descent) == pytest.approx(np.linalg.norm(Y.x) * np.linalg.norm(descent), rel=1e-10)
    values = [problem.oracle.evaluate(bo.Blocks(k=Y.k, x=t * Y.x)).value for t in (0.99, 1.0, 1.01)]
    assert values[1] < min(values[0], values[2])


def test_every_method_deconvolves_or_says_why_not():
    solved = solved_by(bo.compose("blind-deconvolution", blurred((8, 9), (3, 2))[2], (3, 2)))
    assert solved >= BREGMAN
    assert not solved & {"els", "ecd", "hals", "masked-newton"}


def test_what_cannot_be_deconvolved_is_refused():
    M = np.random.default_rng(0).standard_normal((6, 5))
    for size in ((3,), (3, 0), 2.5, "ab", True, None):
        with pytest.raises(ParameterError, match=r"a whole number >= 1, or one for each of 2 dimensions"):
            bo.compose("blind-deconvolution", M, size)
    with pytest.raises(DataError, match="at least 6×6"):
        bo.compose("blind-deconvolution", M, 6)
    for wrong in (3.0, scipy.sparse.csr_array(M)):
        with pytest.raises(DataError, match="M must be a dense array"):
            bo.compose("blind-deconvolution", wrong, 2)
    with pytest.raises(ParameterError, match="take low-rank with the model 'linear'"):
        bo.compose("blind-deconvolution", M, 2, k=bo.Fixed(np.ones((2, 2))))
    with pytest.raises(IncompatibleError, match="'flat-blur' is for a convolution"):
        bo.solve(bo.compose("low-rank", M, rank=1), start="flat-blur", max_iterations=1)


# ---- sparse PCA


def samples(m=40, n=12, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((n, 3)))[0]
    return (rng.standard_normal((m, 3)) * [5, 3, 2]) @ axes.T + noise * rng.standard_normal((m, n)) + 5, rng


def shares(M):
    """The share of the variance of each principal component."""
    squares = np.linalg.svd(M - M.mean(axis=0), compute_uv=False) ** 2
    return squares / squares.sum()


def test_without_a_weight_sparse_pca_is_pca_from_any_start():
    M, rng = samples()
    problem = bo.compose("sparse-pca", M, rank=3, eta=0)
    np.testing.assert_allclose(explained_variance(problem, start_of(problem)), shares(M)[:3], rtol=1e-9)
    Y = bo.Blocks(U=np.linalg.qr(rng.standard_normal((40, 3)))[0], V=rng.standard_normal((3, 12)))
    for method in ("palm", "bella"):
        result = bo.solve(problem, method=method, start=Y, **TIGHT)
        assert explained_variance(problem, result.Y).sum() == pytest.approx(shares(M)[:3].sum(), rel=1e-9)
        best = 0.5 * shares(M)[3:].sum() * np.sum((M - M.mean(axis=0)) ** 2)
        assert result.objective == pytest.approx(best, rel=1e-9)


def test_a_larger_weight_gives_fewer_variables_and_explains_less():
    M, _ = samples()
    counts, explained = [], []
    for eta in (0, 1, 3, 6, 10, 40):
        problem = bo.compose("sparse-pca", M, rank=3, eta=eta)
        Y = bo.solve(problem, method="palm", max_iterations=1000, tolerance=1e-8).Y
        np.testing.assert_allclose(Y.U.T @ Y.U, np.eye(3), rtol=0, atol=1e-12)
        counts.append(np.count_nonzero(Y.V))
        explained.append(explained_variance(problem, Y).sum())
    assert counts[0] == 36
    assert counts[-1] == 0
    assert all(a > b for a, b in pairwise(counts))
    assert all(a > b for a, b in pairwise(explained))


def test_components_of_disjoint_variables_are_found():
    rng = np.random.default_rng(0)
    V = np.zeros((2, 20))
    V[0, :5], V[1, 8:12] = 1.0, -1.0
    M = rng.standard_normal((100, 2)) * [3, 2] @ V + 0.1 * rng.standard_normal((100, 20))
    result = bo.solve(bo.compose("sparse-pca", M, rank=2, eta=3), max_iterations=500)
    assert {tuple(np.flatnonzero(v)) for v in result.Y.V} == {tuple(range(5)), tuple(range(8, 12))}


def test_the_loadings_are_the_shrunken_projections():
    M, _ = samples()
    Y = bo.solve(bo.compose("sparse-pca", M, rank=3), method="palm", max_iterations=3000, tolerance=1e-10).Y
    C = M - M.mean(axis=0)
    eta = 0.1 * np.linalg.norm(C, axis=0).max()
    wanted = np.sign(Y.U.T @ C) * np.maximum(np.abs(Y.U.T @ C) - eta, 0)
    np.testing.assert_allclose(Y.V, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_what_two_components_share_is_explained_once():
    M, rng = samples()
    problem = bo.compose("sparse-pca", M, rank=3, eta=0)
    C = M - M.mean(axis=0)
    v, w = rng.standard_normal((2, 12))
    U = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    found = explained_variance(problem, bo.Blocks(U=U, V=np.stack([v, 2 * v, w])))
    Q = np.linalg.qr(np.stack([v, w]).T)[0]
    np.testing.assert_allclose(found[[0, 2]], np.sum((C @ Q) ** 2, axis=0) / np.sum(C**2), rtol=1e-10)
    assert found[1] == 0
    deep = bo.compose("deep-linear", M, rank=2)
    with pytest.raises(IncompatibleError, match="has no components"):
        explained_variance(deep, start_of(deep))


@pytest.mark.parametrize("form", ["nan", "mask", "weights"])
def test_means_are_those_of_the_known_entries(form):
    M, rng = samples()
    known = rng.random(M.shape) < 0.7
    given = {
        "nan": (np.where(known, M, np.nan), {}),
        "mask": (np.where(known, M, 1e3), {"mask": known}),
        "weights": (np.where(known, M, 1e3), {"weights": known.astype(float)}),
    }[form]
    problem = bo.compose("sparse-pca", given[0], rank=2, eta=1, **given[1])
    C = np.where(known, M - np.nanmean(np.where(known, M, np.nan), axis=0), 0.0)
    Y = start_of(problem)
    assert problem.oracle.evaluate(Y * 0).value == pytest.approx(0.5 * np.sum(C**2), rel=1e-12)


def test_a_sparse_M_is_taken_as_it_is():
    M, _ = samples()
    M = np.where(M > 6, M, 0.0)
    one, other = (bo.compose("sparse-pca", it, 2, center=False) for it in (M, scipy.sparse.csr_array(M)))
    assert one.regularizer["V"].eta == pytest.approx(other.regularizer["V"].eta, rel=1e-12)
    assert one.regularizer["V"].eta == pytest.approx(0.1 * np.linalg.norm(M, axis=0).max(), rel=1e-12)
    results = [bo.solve(it, max_iterations=50) for it in (one, other)]
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-9)
    found = [explained_variance(one, it.Y) for it in results]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    with pytest.raises(ParameterError, match="'center' parameter of sparse-pca must be False for a sparse M"):
        bo.compose("sparse-pca", scipy.sparse.csr_array(M), 2)


def test_every_method_makes_sparse_components_or_says_why_not():
    solved = solved_by(bo.compose("sparse-pca", samples(12, 8)[0], rank=2))
    assert solved >= BREGMAN
    assert not solved & {"els", "ecd", "hals", "masked-newton"}


def test_wrong_weights_of_sparse_pca_are_refused(tmp_path):
    M, _ = samples()
    for eta in (-1, np.inf, "a", True):
        with pytest.raises(ParameterError, match="'eta' parameter of sparse-pca must be a finite number >= 0"):
            bo.compose("sparse-pca", M, 2, eta=eta)
    with pytest.raises(ParameterError, match="'center' parameter of sparse-pca must be True or False"):
        bo.compose("sparse-pca", M, 2, center="no")
    with pytest.raises(DataError, match="must have the shape of M"):
        bo.compose("sparse-pca", M, 2, mask=np.ones((2, 2), bool))
    stored = np.memmap(tmp_path / "M", dtype=float, mode="w+", shape=M.shape)
    stored[:] = M
    with pytest.raises(ParameterError, match="False for an M that is not in memory"):
        bo.compose("sparse-pca", stored, 2)
    with pytest.raises(ParameterError, match="'eta' parameter of sparse-pca must be given for an M that is not in"):
        bo.compose("sparse-pca", stored, 2, center=False)
    assert bo.solve(bo.compose("sparse-pca", stored, 2, 1.0, center=False), max_iterations=2).iterations == 2
    with pytest.raises(IncompatibleError, match="'pca' is for a product UV"):
        bo.solve(bo.compose("cp", M, rank=2), start="pca", max_iterations=1)
