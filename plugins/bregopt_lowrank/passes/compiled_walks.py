"""The walks, compiled: tiles of X = UV, their residual by a function of the loss, and products with it.

They call BLAS themselves, so that a thread holds the interpreter only between walks. This module is imported only where
they run, as numba is. All of them are in one file: what numba keeps on disk of a loop is renewed when the loop's own
file changes.
"""

from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  (np.dot calls it: it is to be there when threads are limited)

from bregopt.compiled import first_class, jit
from bregopt_lowrank.losses.loss import MOST_PARAMETERS, ColumnLosses
from bregopt_lowrank.losses.tile_loops import RunLoops
from bregopt_lowrank.passes.threads import read_only
from bregopt_lowrank.passes.tiling import Walks

Indices = tuple[np.dtype[Any], np.dtype[Any]]
"""The types of the starts and the columns of a CSR M."""


def walks(
    loss: ColumnLosses,
    curvature: float,
    values: np.dtype[Any],
    indices: Indices | None,
    *,
    weighted: bool,
    missing: bool,
) -> Walks:
    """The walks over an M with values of this type, dense or CSR."""
    tile = tile_of(loss.loops(weighted, missing), values, indices)
    walk = dense if indices is None else sparse
    return Walks(partial(walk, tile, read_only(loss.table), read_only(loss.numbers(curvature, False))), add_right)


@cache
def tile_of(loops: RunLoops, values: np.dtype[Any], indices: Indices | None) -> Any:
    """The residual of the losses on a tile, compiled."""
    X, sums, numbers = np.empty((1, 1), values), np.empty(1), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    runs = read_only(np.empty((1, 2), np.int64))
    if indices is None:
        held = (read_only(X), read_only(X), read_only(X))
        return first_class(loops.dense, X, *held, 0, 0, runs, numbers, sums, returns=0)
    starts, columns = (read_only(np.empty(1, dtype)) for dtype in indices)
    positions, row = np.empty(1, np.int64), np.empty(1, values)
    held = (read_only(row), read_only(row), read_only(row))
    return first_class(loops.sparse, X, 0, positions, starts, 0, columns, *held, row, runs, numbers, sums, returns=0)


@jit
def dense(
    tile: Any,
    runs: Any,
    numbers: Any,
    M: Any,
    upper: Any,
    weights: Any,
    shift: int,
    a: int,
    b: int,
    tiling: Any,
    factors: Any,
    totals: Any,
    workspace: Any,
) -> None:
    """The walk over rows a to b − 1 of a dense M, whose first row is ``shift``."""
    n = M.shape[1]
    for top in range(a, b, tiling.height):
        end = min(top + tiling.height, b)
        for k in range(workspace.counts.size):
            first, last = k * tiling.width, min(k * tiling.width + tiling.width, n)
            S = _product(factors, top, end, first, last, tiling.kept, workspace)
            _gap(factors, top, end, first, last, S, workspace)
            workspace.counts[k] = tile(S, M, upper, weights, top - shift, first, runs, numbers, totals.sums)
            _distance(S, factors.curvature, workspace, totals.sums)
            _products(S, workspace.counts[k], tiling.few, factors, top, end, first, last, totals, workspace)


@jit
def sparse(
    tile: Any,
    runs: Any,
    numbers: Any,
    starts: Any,
    columns: Any,
    values: Any,
    upper: Any,
    weights: Any,
    a: int,
    b: int,
    tiling: Any,
    factors: Any,
    totals: Any,
    workspace: Any,
) -> None:
    """The walk over rows a to b − 1 of a CSR M."""
    n, positions, spare = factors.VT.shape[0], workspace.positions, workspace.right_part
    for top in range(a, b, tiling.height):
        end = min(top + tiling.height, b)
        for i in range(top, end):
            positions[i - top] = starts[i]
        for k in range(workspace.counts.size):
            first, last = k * tiling.width, min(k * tiling.width + tiling.width, n)
            S = _product(factors, top, end, first, last, tiling.kept, workspace)
            _gap(factors, top, end, first, last, S, workspace)
            workspace.counts[k] = tile(
                S,
                first,
                positions,
                starts,
                top,
                columns,
                values,
                upper,
                weights,
                spare,
                runs,
                numbers,
                totals.sums,
            )
            _distance(S, factors.curvature, workspace, totals.sums)
            _products(S, workspace.counts[k], tiling.few, factors, top, end, first, last, totals, workspace)


@jit
def add_right(U: Any, tiling: Any, right: Any, workspace: Any) -> None:
    """right += SᵀU, for a row of tiles that was kept."""
    h, n = U.shape[0], right.shape[0]
    for k in range(workspace.counts.size):
        first, last = k * tiling.width, min(k * tiling.width + tiling.width, n)
        S = workspace.S[h * first : h * last].reshape(h, last - first)
        if workspace.counts[k] < tiling.few * S.size:
            _few(S, U[:0], right[:0], U, right[first:last])
        else:
            _right(S, U, right[first:last], workspace.right_part)


@jit
def _product(factors: Any, top: int, end: int, first: int, last: int, kept: bool, workspace: Any) -> Any:
    """X, in its place."""
    h = end - top
    begin = h * first if kept else 0
    X = workspace.S[begin : begin + h * (last - first)].reshape(h, last - first)
    np.dot(factors.U[top:end], factors.VT[first:last].T, X)
    return X


@jit
def _gap(factors: Any, top: int, end: int, first: int, last: int, X: Any, workspace: Any) -> None:
    """X̄ − X, where it is asked for."""
    if workspace.gap.size == 0:
        return
    gap = workspace.gap[: X.size].reshape(X.shape)
    np.dot(factors.U_bar[top:end], factors.VT_bar[first:last].T, gap)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            gap[i, j] -= X[i, j]


@jit
def _distance(S: Any, curvature: float, workspace: Any, sums: Any) -> None:
    """‖c(X̄ − W)‖², as c(X̄ − W) = c(X̄ − X) + S."""
    if workspace.gap.size == 0:
        return
    gap = workspace.gap[: S.size].reshape(S.shape)
    total = 0.0
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            x = curvature * float(gap[i, j]) + float(S[i, j])
            total += x * x
    sums[3] += total


@jit
def _products(
    S: Any, count: int, few: float, factors: Any, top: int, end: int, first: int, last: int, totals: Any, workspace: Any
) -> None:
    """Those of a tile that are asked for: whole, or over its non-zeros where there are few."""
    VT, U = factors.VT_bar[first:last], factors.U_bar[top:end]
    left, right = totals.left[top:end], totals.right[first:last]
    if first == 0:
        left[:] = 0.0
    over_few = count < few * S.size
    if over_few and VT.shape[0] + U.shape[0] > 0:
        _few(S, VT, left, U, right)
    if not over_few and VT.shape[0] > 0:
        _left(S, VT, left, workspace.left_part)
    if not over_few and U.shape[0] > 0:
        _right(S, U, right, workspace.right_part)


@jit
def _left(S: Any, VT: Any, out: Any, part: Any) -> None:
    """out += S·VT."""
    h, r = out.shape
    product = part[: h * r].reshape(h, r)
    np.dot(S, VT, product)
    for i in range(h):
        for p in range(r):
            out[i, p] += product[i, p]


@jit
def _right(S: Any, U: Any, out: Any, part: Any) -> None:
    """out += Sᵀ·U."""
    w, r = out.shape
    product = part[: w * r].reshape(w, r)
    np.dot(S.T, U, product)
    for j in range(w):
        for p in range(r):
            out[j, p] += product[j, p]


@jit
def _few(S: Any, VT: Any, left: Any, U: Any, right: Any) -> None:
    """left += S·VT and right += Sᵀ·U, where they have rows, over the non-zeros of S; most blocks of it have none."""
    width, block, r = S.shape[1], 16, U.shape[1]
    on_left, on_right = VT.shape[0] > 0, U.shape[0] > 0
    for i in range(S.shape[0]):
        line = S[i]
        for first in range(0, width, block):
            last = min(first + block, width)
            if last - first == block:
                size = 0.0
                for j in range(first, first + block):
                    size += abs(line[j])
                if size == 0.0:
                    continue
            for j in range(first, last):
                s = line[j]
                if s == 0.0:
                    continue
                if on_left:
                    for p in range(r):
                        left[i, p] += s * VT[j, p]
                if on_right:
                    for p in range(r):
                        right[j, p] += s * U[i, p]
