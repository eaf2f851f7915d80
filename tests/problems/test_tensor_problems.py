"""CP and tensor completion against plain NumPy, SciPy and HALS, and what they refuse."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import sparse

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError

LETTERS = "abcd"
TIGHT = {"stop": "stationarity(1e-9)", "max_iterations": 5000}


def built(Y):
    """Σ_p u1_p ∘ … ∘ un_p."""
    letters = LETTERS[: len(tuple(Y))]
    return np.einsum(",".join(f"{it}p" for it in letters) + "->" + letters, *Y)


def tensor(dims=(9, 8, 7), rank=2, noise=0.1, seed=0, draw=None):
    rng = np.random.default_rng(seed)
    T = built([(draw or rng.standard_normal)((n, rank)) for n in dims])
    return T + noise * rng.standard_normal(dims), rng


def slopes(R, Y):
    """Of ½‖R‖², R = X − T, for each factor."""
    letters = LETTERS[: R.ndim]
    for i, own in enumerate(letters):
        rest = [X for j, X in enumerate(Y) if j != i]
        form = ",".join([letters, *(f"{it}p" for it in letters if it != own)])
        yield np.einsum(f"{form}->{own}p", R, *rest)


def start_of(problem, seed=1):
    return problem.first_point(None, np.random.default_rng(seed))


def relative(X, T):
    return np.linalg.norm(X - T) / np.linalg.norm(T)


# ---- CP


@pytest.mark.parametrize("dims", [(6, 5), (5, 4, 3), (4, 3, 2, 3)])
def test_cp_is_the_sum_over_the_entries_and_over_the_blocks(dims):
    T, _ = tensor(dims)
    problem = bo.compose("cp", T, rank=2, H="ridge(0.3)", U2="l1(0.2)")
    Y = start_of(problem)
    assert Y.names == tuple(f"U{i + 1}" for i in range(len(dims)))
    F = 0.5 * np.sum((built(Y) - T) ** 2)
    H = 0.15 * sum(np.sum(Y[name] ** 2) for name in Y.names if name != "U2") + 0.2 * np.abs(Y.U2).sum()
    seen = problem.oracle.evaluate(Y, at=Y)
    assert seen.value + problem.regularizer.value(Y) == pytest.approx(F + H, rel=1e-12)
    for found, slope in zip(seen.gradient, slopes(built(Y) - T, Y), strict=True):
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-11 * np.abs(slope).max())


@pytest.mark.parametrize("dims", [(9, 8, 7), (5, 4, 4, 3)])
def test_cp_with_a_ridge_is_what_lbfgs_finds_from_the_same_start(dims):
    T, _ = tensor(dims, noise=0.3)
    problem = bo.compose("cp", T, rank=2, H="ridge(0.1)")
    Y = start_of(problem)

    def both(flat):
        blocks = list(Y.like(flat.copy()))
        R = built(blocks) - T
        slope = np.concatenate([it.ravel() for it in slopes(R, blocks)]) + 0.1 * flat
        return 0.5 * np.sum(R**2) + 0.05 * flat @ flat, slope

    options = {"maxiter": 10000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-10}
    best = scipy.optimize.minimize(both, Y.flat, jac=True, method="L-BFGS-B", options=options)
    for method in ("auto", "palm"):
        result = bo.solve(problem, method=method, start=Y, **TIGHT)
        assert result.objective == pytest.approx(best.fun, rel=1e-8)
        assert relative(built(result.Y), built(Y.like(best.x))) < 1e-4


def test_the_same_ridge_on_all_factors_makes_the_vectors_of_a_product_equally_long():
    T, _ = tensor(noise=0.3)
    Y = bo.solve(bo.compose("cp", T, rank=2, H="ridge(0.1)"), **TIGHT).Y
    lengths = np.array([np.linalg.norm(X, axis=0) for X in Y])
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], lengths.shape), rtol=1e-6)


def hals(T, Y, iterations):
    """½‖T − X‖² after so many rounds over the columns of every factor, each column the best one ≥ 0."""
    blocks = [X.copy() for X in Y]
    for _ in range(iterations):
        for i in range(T.ndim):
            P = list(slopes(T, blocks))[i]
            G = np.prod([X.T @ X for j, X in enumerate(blocks) if j != i], axis=0)
            for p in range(len(G)):
                blocks[i][:, p] = np.maximum(0, blocks[i][:, p] + (P[:, p] - blocks[i] @ G[:, p]) / G[p, p])
    return 0.5 * np.sum((built(blocks) - T) ** 2)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_non_negative_cp_is_not_above_hals_after_as_many_iterations(noise):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        T = np.abs(tensor((12, 10, 8), 3, noise, seed, draw=rng.random)[0])
        problem = bo.compose("cp", T, rank=3, nonneg=True)
        Y = start_of(problem)
        result = bo.solve(problem, method="ecd", start=Y, max_iterations=60)
        assert all(X.min() >= 0 for X in result.Y)
        assert result.objective <= hals(T, Y, 60) * (1 + 1e-9)


def test_non_negative_cp_starts_with_absolute_values_and_keeps_weights_on_the_orthant():
    T, _ = tensor()
    problem = bo.compose("cp", T, rank=2, nonneg=True, H="l1(0.1)", U3="none")
    Y = start_of(problem)
    assert all(X.min() > 0 for X in Y)
    assert problem.regularizer["U1"].value(Y.U1) == pytest.approx(0.1 * Y.U1.sum())
    assert problem.regularizer["U1"].value(-Y.U1) == np.inf
    assert problem.regularizer["U3"] == bo.make("regularizer", "nonneg")
    random = bo.solve(problem, start="absolute-random", max_iterations=1)
    assert random.history["objective"][0] < np.inf


def test_cp_of_a_matrix_is_a_product_of_two_factors():
    M, _ = tensor((8, 6), noise=0.5)
    best = 0.5 * np.sum(np.linalg.svd(M)[1][2:] ** 2)
    assert bo.solve(bo.compose("cp", M, rank=2), **TIGHT).objective == pytest.approx(best, rel=1e-9)
    stored = scipy.sparse.csr_array(np.where(M > 1, M, 0.0))
    best = 0.5 * np.sum(np.linalg.svd(stored.toarray())[1][2:] ** 2)
    assert bo.solve(bo.compose("cp", stored, rank=2), **TIGHT).objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("form", [sparse.COO, sparse.GCXS])
def test_a_sparse_tensor_is_the_dense_one(form):
    T, rng = tensor()
    T = np.where(rng.random(T.shape) < 0.3, T, 0.0)
    known = rng.random(T.shape) < 0.8
    for options in ({}, {"missing": "zeros"}, {"mask": known}):
        dense, stored = (bo.compose("cp", it, rank=2, **options) for it in (T, form(T)))
        Y = start_of(dense)
        one, other = (it.oracle.evaluate(Y, at=Y) for it in (dense, stored))
        assert other.value == pytest.approx(one.value, rel=1e-10)
        np.testing.assert_allclose(other.gradient.flat, one.gradient.flat, rtol=0, atol=1e-10 * one.gradient.norm())


def test_a_tensor_of_signs_takes_the_logistic_loss():
    T, _ = tensor((12, 10, 8), noise=0.0)
    problem = bo.compose("cp", np.sign(T), rank=2, loss="logistic", H="ridge(0.1)")
    result = bo.solve(problem, max_iterations=300)
    assert np.mean(np.sign(built(result.Y)) != np.sign(T)) < 0.05


def test_a_known_part_of_a_tensor_leaves_a_convex_problem():
    T, rng = tensor()
    fixed = {name: bo.Fixed(rng.standard_normal((size, 2))) for name, size in (("U2", 8), ("U3", 7))}
    result = bo.solve(bo.compose("cp", T, rank=2, **fixed), max_iterations=300, tolerance=1e-10)
    R = np.einsum("jp,kp->pjk", fixed["U2"].X, fixed["U3"].X).reshape(2, -1)
    best = np.linalg.lstsq(R.T, T.reshape(9, -1).T, rcond=None)[0].T
    np.testing.assert_allclose(result.Y.U1, best, rtol=0, atol=1e-6)


# ---- tensor completion


@pytest.mark.parametrize("seed", range(3))
def test_a_low_rank_tensor_comes_back_from_two_fifths_of_its_entries(seed):
    T, rng = tensor((15, 14, 13), 3, 0.0, seed)
    known = rng.random(T.shape) < 0.4
    given = {
        "nan": (np.where(known, T, np.nan), {}),
        "mask": (T, {"mask": known}),
        "sparse": (sparse.COO(np.where(known, T, 0.0)), {}),
    }
    for M, options in given.values():
        exact = bo.solve(bo.compose("tensor-completion", M, rank=3, ridge=0, **options), **TIGHT)
        assert relative(built(exact.Y)[~known], T[~known]) < 1e-7
        usual = bo.solve(bo.compose("tensor-completion", M, rank=3, **options), max_iterations=500)
        assert relative(built(usual.Y)[~known], T[~known]) < 0.01


def test_products_that_are_not_needed_go_to_zero():
    T, rng = tensor((15, 14, 13), 3, 0.01)
    known = rng.random(T.shape) < 0.4
    result = bo.solve(bo.compose("tensor-completion", T, rank=6, mask=known), max_iterations=2000, tolerance=1e-8)
    lengths = np.prod([np.linalg.norm(X, axis=0) for X in result.Y], axis=0)
    assert np.sum(lengths > 1e-6 * lengths.max()) == 3
    assert relative(built(result.Y)[~known], T[~known]) < 0.01


@pytest.mark.parametrize("dims", [(40, 30), (15, 12, 9), (8, 7, 6, 5)])
def test_the_default_ridge_shrinks_a_product_as_large_as_T_by_a_thousandth_in_every_unit(dims):
    for unit in (1e-6, 1.0, 1e6):
        T = unit * np.abs(tensor(dims, 1, 0.0)[0])
        T.flat[0] = np.nan
        result = bo.solve(bo.compose("tensor-completion", T, rank=1), max_iterations=2000, tolerance=1e-9)
        known = ~np.isnan(T)
        assert 1 - np.vdot(built(result.Y)[known], T[known]) / np.vdot(T[known], T[known]) == pytest.approx(
            1e-3, rel=0.01
        )


def test_the_error_of_what_is_held_out_tells_that_of_what_is_unknown():
    T, rng = tensor((15, 14, 13), 3, 0.3)
    known = rng.random(T.shape) < 0.5
    problem = bo.compose("tensor-completion", T, rank=3, mask=known, held_out=0.2)
    result = bo.solve(problem, max_iterations=300)
    told = relative(built(result.Y)[~known], T[~known])
    assert result.metrics["held_out_error"] == pytest.approx(told, rel=0.2)
    assert result.metrics["relative_error"] < told


def test_zeros_that_a_sparse_tensor_stores_are_known():
    T = sparse.COO(np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]), np.array([0.0, 2.0, 3.0, 0.0]), (2, 2, 2))
    problem = bo.compose("tensor-completion", T, rank=1, ridge=0)
    ones = bo.Blocks(**{f"U{i}": np.ones((2, 1)) for i in (1, 2, 3)})
    assert problem.oracle.evaluate(ones).value == pytest.approx(0.5 * (1 + 1 + 4 + 1))


def test_one_factor_may_have_another_H_than_the_ridge():
    T, rng = tensor()
    problem = bo.compose("tensor-completion", T, rank=2, ridge=0.5, U2="nonneg", mask=rng.random(T.shape) < 0.5)
    assert problem.regularizer["U1"] == problem.regularizer["U3"] == bo.make("regularizer", "ridge(0.5)")
    assert problem.regularizer["U2"] == bo.make("regularizer", "nonneg")


@pytest.mark.parametrize("share", [0.05, 0.6])
def test_slices_without_a_known_entry_are_named(share):
    T, rng = tensor()
    T[rng.random(T.shape) > share] = np.nan
    T[0, :, 0] = T[:, 0, 1] = 1.0
    T[5] = T[:, 2] = np.nan
    empty = {i + 1: np.flatnonzero(np.isnan(T).all(axis=tuple({0, 1, 2} - {i}))) for i in range(3)}
    notes = bo.compose("tensor-completion", T, rank=2).notes
    assert len(notes) == sum(len(it) > 0 for it in empty.values())
    for i, places in empty.items():
        found = [note for note in notes if f"of dimension {i} " in note]
        assert len(found) == (len(places) > 0)
        assert all(f"{len(places)} slice" in note and f"the first is {places[0]}" in note for note in found)


# ---- both


@pytest.mark.parametrize("name", ["cp", "cp, non-negative", "tensor-completion"])
def test_every_method_steps_downhill_or_says_why_not(name):
    T, rng = tensor((5, 4, 3))
    problem = {
        "cp": lambda: bo.compose("cp", T, rank=2),
        "cp, non-negative": lambda: bo.compose("cp", np.abs(T), rank=2, nonneg=True),
        "tensor-completion": lambda: bo.compose("tensor-completion", T, rank=2, mask=rng.random(T.shape) < 0.7),
    }[name]()
    solved = set()
    for entry in bo.catalog("method"):
        try:
            result = bo.solve(problem, method=entry.name, max_iterations=3)
        except IncompatibleError:
            continue
        assert result.objective < result.history["objective"][0], entry.name
        solved.add(entry.name)
    assert {"auto", "aapb", "apb", "bpg", "bella", "cocain", "palm", "ipalm", "bpalm", "ecd"} <= solved
    assert ("els" in solved) == (name != "cp, non-negative")


def test_what_is_no_tensor_or_no_rank_is_refused():
    T, _ = tensor((5, 4, 3))
    for wrong in (3.0, np.ones(4), np.ones((3, 0, 2))):
        with pytest.raises(DataError, match="two or more dimensions"):
            bo.compose("cp", wrong, rank=1)
    for rank in (None, 0, 13, 2.0, True):
        with pytest.raises(ParameterError, match="from 1 to 12, which any 5×4×3 tensor can do with"):
            bo.compose("cp", T, rank=rank)
    for block in ("U", "V", "U4"):
        with pytest.raises(ParameterError, match="the blocks are U1 to U3, as T has 3 dimensions"):
            bo.compose("cp", T, rank=2, **{block: "l1(0.1)"})
    with pytest.raises(ParameterError, match="'cp' takes no 'center'"):
        bo.compose("cp", T, rank=2, center=True)
    with pytest.raises(ParameterError, match="'nonneg' parameter of cp must be True or False"):
        bo.compose("cp", T, rank=2, nonneg="yes")
    with pytest.raises(DataError, match="fixed block 'U2' must be non-negative"):
        bo.compose("cp", T, rank=2, nonneg=True, U2=bo.Fixed(-np.ones((4, 2))), U3=bo.Fixed(np.ones((3, 2))))
    with pytest.raises(DataError, match="nothing to complete"):
        bo.compose("tensor-completion", T, rank=2)
    with pytest.raises(ParameterError, match="'ridge' parameter of tensor-completion must be a finite number >= 0"):
        bo.compose("tensor-completion", np.where(T > 0, T, np.nan), rank=2, ridge=-1)


def test_lists_of_lists_are_a_tensor():
    T, _ = tensor((5, 4, 3))
    Y = start_of(bo.compose("cp", T, rank=2))
    values = [bo.compose("cp", it, rank=2).oracle.evaluate(Y).value for it in (T, T.tolist())]
    assert values[0] == values[1]
