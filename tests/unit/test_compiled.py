"""The wrapper of numba."""

import numba
import numpy as np
import pytest

from bregopt import compiled

SOURCE = """
def double(x, out):
    for i in range(x.size):
        out[i] = 2.0 * x[i]
    return x.size


def call(function, x, out):
    return function(x, out)
"""


@pytest.fixture
def loops():
    """Functions that lie in no file, so that there is no folder to keep them in."""
    found = {}
    exec(SOURCE, found)
    return found["double"], found["call"]


@pytest.mark.parametrize(("value", "wanted"), [(None, True), ("1", True), ("0", False)])
def test_one_variable_switches_compiled_loops_off(value, wanted, monkeypatch):
    monkeypatch.delenv("BREGOPT_COMPILE", raising=False)
    if value is not None:
        monkeypatch.setenv("BREGOPT_COMPILE", value)
    assert compiled.wanted() is wanted


def test_loops_are_compiled_where_nothing_can_be_kept(loops):
    double, call = loops
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(double)
    x, out = np.arange(3.0), np.empty(3)
    function = compiled.first_class(double, x, out, returns=0)
    outer = compiled.jit(call)
    assert outer(function, x, out) == 3
    np.testing.assert_array_equal(out, 2 * x)
    assert compiled.jit(double)(x, out) == 3


def test_a_loop_is_compiled_once_for_all_functions_of_the_same_types(loops):
    double, call = loops
    x, out = np.arange(3.0), np.empty(3)

    def negative(x, out):
        for i in range(x.size):
            out[i] = -x[i]
        return 0

    outer = compiled.jit(call)
    for function, scale in ((double, 2.0), (negative, -1.0)):
        outer(compiled.first_class(function, x, out, returns=0), x, out)
        np.testing.assert_array_equal(out, scale * x)
    assert len(outer.signatures) == 1
