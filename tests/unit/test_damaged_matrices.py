"""Sparse matrices whose index arrays point elsewhere, and masks: one error, before compiled code follows them."""

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo
from bregopt.errors import DataError


def damaged(form, field, place, value):
    """A right matrix with one entry of an index array changed behind the back of scipy."""
    M = scipy.sparse.random_array((9, 7), density=0.4, format=form, random_state=0)
    array = np.array(getattr(M, field) if field != "coords" else M.coords[place])
    if field == "coords":
        array[1] = value
        M.coords = tuple(array if axis == place else other for axis, other in enumerate(M.coords))
    else:
        array[place] = value
        setattr(M, field, array)
    return M


DAMAGED = {
    "column beyond the last": ("csr", "indices", 3, 7),
    "column far beyond": ("csr", "indices", 3, 10**8),
    "negative column": ("csr", "indices", 3, -1),
    "row pointer beyond the data": ("csr", "indptr", 4, 10**6),
    "last row pointer beyond the data": ("csr", "indptr", -1, 10**6),
    "negative row pointer": ("csr", "indptr", 4, -5),
    "row pointer that falls": ("csr", "indptr", 4, 0),
    "first row pointer": ("csr", "indptr", 0, 2),
    "row beyond the last, by columns": ("csc", "indices", 2, 9),
    "column pointer beyond the data": ("csc", "indptr", 3, 10**6),
    "row of a triplet": ("coo", "coords", 0, 9),
    "negative column of a triplet": ("coo", "coords", 1, -1),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_index_arrays_are_refused(case):
    with pytest.raises(DataError, match=r"index arrays of the sparse M are damaged: .*Build the matrix again"):
        bo.compose("relu-nmd", damaged(*DAMAGED[case]), rank=2)


def test_right_matrices_of_every_format_pass():
    M = np.abs(np.random.default_rng(0).standard_normal((9, 7)))
    for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        problem = bo.compose("relu-nmd", scipy.sparse.csr_array(M).asformat(form), rank=2)
        assert problem.block.M.frobenius == pytest.approx(np.linalg.norm(M))


def test_a_mask_is_not_ignored():
    M = np.ma.masked_greater(np.arange(12.0).reshape(4, 3), 9)
    with pytest.raises(DataError, match=r"masked array with 2 masked entries.*M\.filled\(0\)"):
        bo.compose("relu-nmd", M, rank=2)
    bo.compose("relu-nmd", M.filled(0), rank=2)
    bo.compose("relu-nmd", np.ma.asarray(np.ones((4, 3))), rank=2)


@pytest.mark.parametrize("text", ["l1(" + "9" * 400 + ")", "l1(" + "1" * 3900 + "x)", "l1(1." + "0" * 500 + ")"])
def test_a_number_of_a_spec_is_read_or_refused_at_once(text):
    with pytest.raises(bo.errors.SpecError):
        bo.make("regularizer", text)


def test_a_spec_has_a_length_and_a_depth():
    with pytest.raises(bo.errors.SpecError, match=r"at most 4000 characters\. Got 9004"):
        bo.make("regularizer", "l1(" + "1" * 9000 + ")")
    with pytest.raises(bo.errors.SpecError, match="at most 20 specs within each other"):
        bo.make("regularizer", "scaled(" * 60 + "l1" + ", 2)" * 60)
    bo.make("regularizer", "scaled(" * 19 + "l1" + ", 2)" * 19)
