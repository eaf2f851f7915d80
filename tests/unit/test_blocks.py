"""Named arrays over one vector."""

import numpy as np
import pytest

import bregopt as bo


def pair():
    return bo.Blocks(U=np.arange(6.0).reshape(3, 2), V=np.ones((2, 4)))


def test_blocks_are_views_into_one_read_only_vector():
    Y = pair()
    assert Y.names == ("U", "V")
    assert np.shares_memory(Y.U, Y.flat)
    assert np.shares_memory(Y["V"], Y.flat)
    assert Y.flat.size == 14
    for array in (Y.flat, Y.U, Y["V"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_input_is_copied():
    U = np.ones((2, 2))
    Y = bo.Blocks(U=U)
    U[0, 0] = 5
    assert Y.U[0, 0] == 1


def test_arithmetic_is_that_of_one_vector():
    Y, Z = pair(), pair() * 2.0
    np.testing.assert_array_equal((Y + Z).flat, 3 * Y.flat)
    np.testing.assert_array_equal((Z - Y).U, Y.U)
    np.testing.assert_array_equal((-Y).flat, -Y.flat)
    np.testing.assert_array_equal((0.5 * Z).flat, Y.flat)
    np.testing.assert_array_equal(Y.plus(2.0, Z).flat, 5 * Y.flat)
    assert Y.dot(Z) == 2 * (55 + 8)
    assert Y.norm() == pytest.approx(np.sqrt(63))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'Q'"):
        pair().Q  # noqa: B018  (the attribute access is what is tested)
    assert not hasattr(pair(), "Q")


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-150, 1.0, 1e150, 1e200, 1e307])
def test_the_norm_is_right_where_its_square_is_no_number(size):
    Y = bo.Blocks(U=np.full((2, 2), size), V=[0.0])
    assert Y.norm() == pytest.approx(2.0 * size, rel=1e-3 if size < 1e-300 else 1e-15)


def test_the_norm_of_what_is_not_finite_is_not_finite():
    assert bo.Blocks(U=[np.inf, 1.0]).norm() == np.inf
    assert np.isnan(bo.Blocks(U=[np.nan, 1e200]).norm())
    assert bo.Blocks(U=np.zeros(3)).norm() == 0.0


def test_blocks_unpack_in_their_order_and_list_their_names_for_completion():
    Y = bo.Blocks(U=np.ones((3, 2)), V=np.zeros((2, 4)))
    U, V = Y
    assert U is Y.U
    assert V is Y.V
    assert len(Y) == 2
    assert {"U", "V", "norm"} <= set(dir(Y))
