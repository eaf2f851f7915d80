"""The walk over the stored entries of a CSR M, compiled; imported only where it runs, as numba is."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bregopt.compiled import first_class, jit
from bregopt_lowrank.losses.loss import MOST_PARAMETERS, ColumnLosses
from bregopt_lowrank.losses.tile_loops import RunLoops
from bregopt_lowrank.passes.threads import read_only

if TYPE_CHECKING:
    from bregopt_lowrank.matrices.local import LocalMatrix

TOGETHER = 256
"""Entries of the rows that are visited together: few enough for what they touch of V to stay in cache."""


def line_of(loss: ColumnLosses, M: "LocalMatrix") -> Any:
    """The losses on the stored entries of a row, compiled."""
    return _line(loss.loops(M.weights is not None, True), M.dtype, M.columns.dtype)


@cache
def _line(loops: RunLoops, values: np.dtype[Any], columns: np.dtype[Any]) -> Any:
    row, places = read_only(np.empty(1, values)), read_only(np.empty(1, columns))
    runs, numbers = read_only(np.empty((1, 2), np.int64)), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    return first_class(loops.line, np.empty(1), places, row, row, row, 0, 0, runs, numbers, np.empty(1), returns=0)


@jit
def visit(
    line: Any,
    runs: Any,
    numbers: Any,
    starts: Any,
    columns: Any,
    values: Any,
    upper: Any,
    weights: Any,
    a: int,
    b: int,
    factors: Any,
    left: Any,
    right: Any,
    sums: Any,
    S: Any,
    spare: Any,
    distance: bool,
) -> None:
    """The walk over rows a to b − 1; S gets room for all their entries, or has none.

    Where all columns have one loss, it is called for some rows at a time: for a few entries the call costs more than
    the loss. ``spare`` has room for them, and for the longest row.
    """
    U, VT, U_bar, VT_bar, c = factors
    r, several = VT.shape[1], runs.shape[0] > 1
    on_left, on_right, origin = VT_bar.shape[0] > 0, U_bar.shape[0] > 0, starts[a]
    i = a
    while i < b:
        top, first = i, starts[i]
        i += 1
        while not several and i < b and starts[i + 1] - first <= TOGETHER:
            i += 1
        last = starts[i]
        x = S[first - origin : last - origin] if S.size > 0 else spare[0, : last - first]
        for j in range(top, i):
            u = U[j]
            for k in range(starts[j], starts[j + 1]):
                v, total = VT[columns[k]], 0.0
                for p in range(r):
                    total += u[p] * v[p]
                x[k - first] = total
        if distance:
            for k in range(last - first):
                spare[1, k] = x[k]
        line(x, columns, values, upper, weights, first, last, runs, numbers, sums)
        for j in range(top, i):
            begin, end = starts[j], starts[j + 1]
            if distance:
                square = numbers[0, numbers.shape[1] - 1]
                for k in range(begin, end):
                    v, far = VT_bar[columns[k]], 0.0
                    for p in range(r):
                        far += U_bar[j, p] * v[p]
                    y = spare[1, k - first]
                    off = c * (far - y) + square * y
                    here = off + x[k - first]
                    sums[3] += here * here - off * off
            if on_left:
                out = left[j]
                for p in range(r):
                    out[p] = 0.0
                for k in range(begin, end):
                    s, v = x[k - first], VT_bar[columns[k]]
                    for p in range(r):
                        out[p] += s * v[p]
            if on_right:
                u = U_bar[j]
                for k in range(begin, end):
                    s, out = x[k - first], right[columns[k]]
                    for p in range(r):
                        out[p] += s * u[p]


@jit
def add_right(starts: Any, columns: Any, a: int, b: int, U: Any, S: Any, right: Any) -> None:
    """right += SᵀU for rows a to b − 1, of which U and S are the rows and the entries."""
    r, origin = U.shape[1], starts[a]
    for i in range(a, b):
        u = U[i - a]
        for k in range(starts[i], starts[i + 1]):
            s, out = S[k - origin], right[columns[k]]
            for p in range(r):
                out[p] += s * u[p]
