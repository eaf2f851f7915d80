"""Bad input: one clear error of the library's own tree, that says what was wrong and what was found."""

import numpy as np
import pytest
import scipy.sparse
import sparse

import bregopt as bo
from bregopt.errors import BregoptError, DataError, IncompatibleError, ParameterError, SpecError, UnknownNameError

GOOD = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.5]])


def spoiled(value):
    M = GOOD.copy()
    M[0, 1] = value
    return M


MATRICES = {
    "nan": (spoiled(np.nan), "must be finite. Got 1 entries"),
    "inf": (spoiled(np.inf), "must be finite. Got 1 entries"),
    "negative": (spoiled(-2.0), "non-negative. Got a smallest entry of -2"),
    "empty": (np.empty((0, 3)), "M is empty. Got shape (0, 3)"),
    "1-D": (np.ones(3), "two dimensions. Got shape (3,)"),
    "3-D": (np.ones((2, 2, 2)), "two dimensions. Got shape (2, 2, 2)"),
    "scalar": (3.0, "two dimensions. Got shape ()"),
    "complex": (GOOD.astype(complex), "real numbers. Got dtype complex128"),
    "object": (GOOD.astype(object), "real numbers. Got dtype object"),
    "text": (np.array([["a", "b"]]), "real numbers. Got dtype <U1"),
    "ragged": ([[1.0], [1.0, 2.0]], "cannot be read as a matrix"),
    "none": (None, "real numbers. Got dtype object"),
    "zero": (np.zeros((3, 4)), "zero everywhere"),
    "sparse nan": (scipy.sparse.csr_array(spoiled(np.nan)), "must be finite"),
    "sparse negative": (scipy.sparse.coo_array(spoiled(-1.0)), "non-negative"),
    "sparse zero": (scipy.sparse.csr_array((3, 4)), "zero everywhere"),
    "sparse complex": (scipy.sparse.csc_array(GOOD.astype(complex)), "real numbers"),
    "sparse 3-D": (sparse.COO.from_numpy(np.ones((2, 2, 2))), "two dimensions"),
    "fill value": (sparse.COO.from_numpy(GOOD, fill_value=1.0), "fill value 0. Got"),
}


@pytest.mark.parametrize("case", MATRICES)
def test_a_bad_matrix_is_refused_with_what_was_found(case):
    M, message = MATRICES[case]
    with pytest.raises(DataError) as caught:
        bo.compose("relu-nmd", M, rank=1)
    assert message in str(caught.value)


BEHIND_A_MASK = {
    "complex": (GOOD.astype(complex), "real numbers. Got dtype complex128"),
    "object": (GOOD.astype(object), "real numbers. Got dtype object"),
    "1-D": (np.ones(3), "two dimensions. Got shape (3,)"),
    "negative": (spoiled(-2.0), "non-negative. Got a smallest entry of -2"),
    "inf": (spoiled(np.inf), "must be finite. Got 1 entries that are inf"),
    "masked array": (np.ma.masked_array(GOOD, mask=GOOD == 0), "masked array with 2 masked entries"),
}


@pytest.mark.parametrize("case", BEHIND_A_MASK)
def test_a_mask_does_not_hide_what_is_wrong_with_a_matrix(case):
    M, message = BEHIND_A_MASK[case]
    with pytest.raises(DataError) as caught:
        bo.compose("relu-nmd", M, rank=1, mask=np.ones(M.shape, dtype=bool))
    assert message in str(caught.value)


def test_missing_entries_of_relu_nmd_have_to_be_named():
    M = spoiled(np.nan)
    with pytest.raises(DataError, match=r"mask=~np\.isnan\(M\), or a problem that takes nan as unknown"):
        bo.compose("relu-nmd", M, rank=1)
    problem, Y = bo.compose("relu-nmd", M, rank=1, mask=~np.isnan(M)), _start(1.0)
    assert problem.block.M.missing == 1
    assert problem.oracle.evaluate(Y).value == 0.5 * (
        1.0 + 1.0 + 4.0 + 0.25
    )  # (1 − 2)², max(0, 1)², (1 − 3)², (1 − ½)²


@pytest.mark.parametrize("rank", [0, -1, 3, 2.0, 1.5, "2", None, True, np.nan])
def test_a_bad_rank_is_refused_with_its_range(rank):
    with pytest.raises(ParameterError, match=r"'rank' parameter of relu-nmd must be a whole number from 1 to 2.*Got"):
        bo.compose("relu-nmd", GOOD, rank=rank)


def test_integers_booleans_and_float32_are_read():
    for dtype in (np.int64, np.uint8, bool, np.float32):
        problem = bo.compose("relu-nmd", (GOOD > 0).astype(dtype), rank=1)
        assert bo.solve(problem, max_iterations=2).objective >= 0


def test_stored_zeros_and_duplicates_of_a_sparse_matrix_do_not_count():
    rows, columns, values = [0, 0, 1, 1], [0, 0, 1, 2], [1.0, 2.0, 3.0, 0.0]
    M = scipy.sparse.coo_array((values, (rows, columns)), shape=(2, 3))
    data = bo.compose("relu-nmd", M, rank=1).block.M
    np.testing.assert_array_equal(data.array(), [[3, 0, 0], [0, 3, 0]])
    assert data.nonzeros == 2
    assert M.nnz == 4, "the caller's matrix was changed"


ARGUMENTS = {
    "unknown problem": (lambda: bo.compose("relu-nmf", GOOD, rank=1), UnknownNameError, "Did you mean 'relu-nmd'"),
    "no rank": (lambda: bo.compose("relu-nmd", GOOD), ParameterError, "'rank'"),
    "unknown regularizer": (lambda: bo.compose("relu-nmd", GOOD, rank=1, U="l11"), UnknownNameError, "'l1'"),
    "negative weight": (lambda: bo.compose("relu-nmd", GOOD, rank=1, U="ridge(-3)"), ParameterError, ">= 0. Got -3"),
    "unknown kernel": (lambda: bo.compose("relu-nmd", GOOD, rank=1, kernel="tigth"), UnknownNameError, "'tight'"),
    "regularizer of the wrong type": (lambda: bo.Separable(U=3), IncompatibleError, "must be a Regularizer. Got 3"),
    "kernel of the wrong type": (lambda: bo.Problem(**parts(kernel=3)), ParameterError, "must be a Kernel"),
    "smooth of the wrong type": (lambda: bo.Problem(**parts(smooth=3)), ParameterError, "must be a SmoothPart"),
    "block of the wrong type": (lambda: bo.Problem(**parts(block=3)), ParameterError, "must be a ClosedFormBlock"),
    "no problem": (lambda: bo.solve(3), IncompatibleError, "Expected a bregopt.Problem"),
    "unknown method": (lambda: bo.solve(good(), method="apbb"), UnknownNameError, "Did you mean"),
    "unknown start": (lambda: bo.solve(good(), start="tsv"), UnknownNameError, "'tsvd'"),
    "start of the wrong type": (lambda: bo.solve(good(), start=3), SpecError, "A start is given by its name"),
    "start of the wrong shape": (lambda: bo.solve(good(), start=bo.Blocks(U=[[1.0]], V=[[1.0]])), DataError, "U: 2×1"),
    "start of other names": (lambda: bo.solve(good(), start=bo.Blocks(A=[[1.0]])), DataError, "Got Blocks(A: 1×1)"),
    "start with nan": (lambda: bo.solve(good(), start=_start(np.nan)), DataError, "nan or inf"),
    "negative iterations": (lambda: bo.solve(good(), max_iterations=-1), ParameterError, ">= 0. Got -1"),
    "negative seconds": (lambda: bo.solve(good(), max_seconds=-1), ParameterError, ">= 0. Got -1"),
    "bad tolerance": (lambda: bo.solve(good(), tolerance="small"), ParameterError, "Got 'small'"),
    "bad seed": (lambda: bo.solve(good(), seed="x"), ParameterError, "'seed' parameter of solve"),
    "negative seed": (lambda: bo.solve(good(), seed=-1), ParameterError, ">= 0. Got -1"),
    "bad observer": (lambda: bo.solve(good(), observers=[3]), IncompatibleError, "Got 3"),
    "unknown block": (lambda: _start(1.0)["Z"], DataError, "the blocks are U, V"),
    "blocks that do not match": (lambda: _start(1.0) + bo.Blocks(U=[1.0]), DataError, "do not match"),
    "no blocks": (bo.Blocks, DataError, "at least one"),
    "blocks of text": (lambda: bo.Blocks(U=["a"]), DataError, "real numbers"),
    "zero step": (lambda: bo.solve(good(), method="aapb(step=0)"), ParameterError, "> 0. Got 0"),
    "W-dependent kernel": (lambda: bo.bregman_prox("paper", "l1"), IncompatibleError, "depends on W"),
}  # fmt: skip


def parts(**changes):
    problem = good()
    return {"smooth": problem.smooth, "block": problem.block, "kernel": problem.kernel} | changes


def good():
    return bo.compose("relu-nmd", GOOD, rank=1)


def _start(value):
    return bo.Blocks(U=np.full((2, 1), value), V=np.ones((1, 3)))


@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_bad_argument_gives_one_clear_error(case):
    call, error, message = ARGUMENTS[case]
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert isinstance(caught.value, BregoptError)


def test_an_infeasible_start_is_replaced_by_its_prox_and_the_result_says_so():
    problem = bo.compose("relu-nmd", GOOD, rank=1, U="nonneg", V="l0-ball(2)")
    result = bo.solve(problem, start=_start(-1.0), max_iterations=0)
    np.testing.assert_array_equal(result.Y.U, np.zeros((2, 1)))
    np.testing.assert_array_equal(result.Y.V, [[1.0, 1.0, 0.0]])
    assert any("infeasible" in note for note in result.notes)
    assert "infeasible" in result.certificate.summary()
    feasible = bo.solve(problem, start=bo.Blocks(U=np.ones((2, 1)), V=[[1.0, 0, 0]]), max_iterations=1)
    assert not any("infeasible" in note for note in feasible.notes)


def test_a_run_that_ends_at_zero_says_so():
    result = bo.solve(bo.compose("relu-nmd", GOOD, rank=1, U="l1(100)", V="l1(100)"), max_iterations=50)
    assert not result.Y.flat.any()
    assert "Every block is zero" in result.certificate.summary()


def test_a_run_that_overflows_ends_with_its_best_finite_point():
    result = bo.solve(bo.compose("relu-nmd", 1e6 * GOOD, rank=2, kernel="tight"), method="apb(step=1e9)")
    assert result.status in (bo.Status.NOT_FINITE, bo.Status.DIVERGED)
    assert np.isfinite(result.objective)
    assert np.isfinite(result.Y.flat).all()
    assert not result.converged
