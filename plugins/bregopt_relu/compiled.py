"""The loops over a tile, compiled: its residual in place with the sums for the history, products with few entries."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, final

from attrs import frozen

SWITCH = "BREGOPT_COMPILE"
"""Set to 0 to run on NumPy alone."""


def wanted() -> bool:
    return os.environ.get(SWITCH, "1") != "0"


@final
@frozen
class Loops:
    """The loops; ``compress`` is missing where products always take the whole tile."""

    dense: Callable[..., Any]
    """(X, M, i, j): X − W in place of X, for a tile whose corner lies at (i, j) of M; the sums"""
    sparse: Callable[..., Any]
    """(X, j, first, last, columns, values, aside): the same for CSR; ``first`` moves on to the next tile"""
    compress: Callable[..., Any] | None = None
    """(S, columns, ends): where the non-zeros of S are, row by row"""
    pull: Callable[..., Any] | None = None
    """(S, columns, ends, VT, out): out += S·VT"""
    push: Callable[..., Any] | None = None
    """(S, columns, ends, U, out): out += Sᵀ·U"""


@cache
def loops() -> Loops:
    """Compiled at the first use, kept on disk where that is possible; they run without the GIL."""
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
    parts = (_dense, _sparse, _compress, _pull, _push)
    try:
        return Loops(*(njit(cache=True, **options)(part) for part in parts))
    except RuntimeError:  # no folder to keep them in
        return Loops(*(njit(**options)(part) for part in parts))


def _dense(X: Any, M: Any, i0: int, j0: int) -> Any:
    residual = error = below = 0.0
    count, width = 0, X.shape[1]
    for i in range(X.shape[0]):
        line, given = X[i], M[i0 + i, j0 : j0 + width]
        for j in range(width):
            x, m = line[j], given[j]
            above = max(x, 0.0)
            s = x - m if m > 0.0 else above
            clipped = max(s, -m)
            w = 0.0 if m > 0.0 else x - above
            line[j] = s
            residual += s * s
            error += clipped * clipped
            below += w * w
            count += 1 if s != 0.0 else 0
    return residual, error, below, count


def _sparse(X: Any, j0: int, first: Any, last: Any, columns: Any, values: Any, aside: Any) -> Any:
    residual = error = below = 0.0
    count, width = 0, X.shape[1]
    for i in range(X.shape[0]):
        line, begin, end = X[i], first[i], first[i]
        while end < last[i] and columns[end] < j0 + width:  # the support is put aside: it leaves zeros, no branch
            m = values[end]
            s = line[columns[end] - j0] - m
            clipped = max(s, -m)
            residual += s * s
            error += clipped * clipped
            aside[end - begin] = s
            line[columns[end] - j0] = 0.0
            end += 1
        off = low = 0.0
        positive = 0
        for j in range(width):
            x = line[j]
            above = max(x, 0.0)
            off += above * above
            low += (x - above) * (x - above)
            positive += 1 if x > 0.0 else 0
            line[j] = above
        for k in range(begin, end):
            line[columns[k] - j0] = aside[k - begin]
        first[i] = end
        count += positive + end - begin
        residual += off
        error += off
        below += low
    return residual, error, below, count


def _compress(S: Any, columns: Any, ends: Any) -> None:
    width, found, block = S.shape[1], 0, 16
    whole = width - width % block
    for i in range(S.shape[0]):
        line = S[i]
        for start in range(0, whole, block):
            size = 0.0
            for j in range(start, start + block):
                size += abs(line[j])
            if size > 0.0:
                for j in range(start, start + block):
                    columns[found] = j
                    found += 1 if line[j] != 0.0 else 0
        for j in range(whole, width):
            columns[found] = j
            found += 1 if line[j] != 0.0 else 0
        ends[i] = found


def _pull(S: Any, columns: Any, ends: Any, VT: Any, out: Any) -> None:
    first = 0
    for i in range(S.shape[0]):
        for k in range(first, ends[i]):
            j = columns[k]
            s = S[i, j]
            for p in range(VT.shape[1]):
                out[i, p] += s * VT[j, p]
        first = ends[i]


def _push(S: Any, columns: Any, ends: Any, U: Any, out: Any) -> None:
    first = 0
    for i in range(S.shape[0]):
        for k in range(first, ends[i]):
            j = columns[k]
            s = S[i, j]
            for p in range(U.shape[1]):
                out[j, p] += s * U[i, p]
        first = ends[i]
