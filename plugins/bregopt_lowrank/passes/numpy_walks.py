"""The walks on NumPy alone: what the compiled ones do, for small matrices and where those are switched off."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bregopt import Array
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss, Tile, TileSums
from bregopt_lowrank.passes.tiling import Accumulators, Factors, Tiling, Walks, Workspace

Residual = Callable[[Array, slice, slice], TileSums]
"""``(X, rows, block)``: S in place of X, and its sums."""


def sum_of_squares(X: Array) -> float:
    """‖X‖², summed in float64."""
    if X.dtype != np.float64:
        return float(np.square(X).sum(dtype=np.float64))
    x = X.ravel("K")
    return float(x.dot(x))


def walks(loss: ColumnLosses, curvature: float, *, sparse: bool, upper: bool, weights: bool, complete: bool) -> Walks:
    """The walks over a dense or a CSR M, with a second number or a weight for each entry or without."""

    def tile(M: Array, high: Array, weight: Array, place: Any) -> Tile:
        rest = (high[place] if upper else None, weight[place] if weights else None)
        return Tile(M[place], *rest, complete and loss.single is not None)

    return Walks(partial(_sparse if sparse else _dense, loss, curvature, tile), _add_right)


Given = Callable[[Array, Array, Array, Any], Tile]
"""``(M, upper, weights, place)``: the data there."""


def _by_runs(
    loss: ColumnLosses, X: Array, block: slice, residual: Callable[[EntrywiseLoss, Array, slice], TileSums]
) -> TileSums:
    """The residual of each run of columns with one loss."""
    if loss.single is not None:
        return residual(loss.single, X, block)
    sums = np.zeros(4)
    for run, part in loss.runs(block):
        inside = slice(run.start - block.start, run.stop - block.start)
        S = X[:, inside].copy()
        sums += residual(part, S, run)
        X[:, inside] = S
    return TileSums(*sums.tolist())


def _dense(
    loss: ColumnLosses,
    curvature: float,
    given: Given,
    M: Array,
    upper: Array,
    weights: Array,
    shift: int,
    *walk: Any,
) -> None:
    def residual(X: Array, rows: slice, block: slice) -> TileSums:
        lines = slice(rows.start - shift, rows.stop - shift)

        def of_run(loss: EntrywiseLoss, X: Array, run: slice) -> TileSums:
            return loss.residual(X, given(M, upper, weights, (lines, run)), curvature)

        return _by_runs(loss, X, block, of_run)

    _walk(residual, *walk)


def _sparse(
    loss: ColumnLosses,
    curvature: float,
    given: Given,
    starts: Any,
    columns: Any,
    values: Array,
    upper: Array,
    weights: Array,
    *walk: Any,
) -> None:
    def residual(X: Array, rows: slice, block: slice) -> TileSums:
        entries = slice(starts[rows.start], starts[rows.stop])
        lines = np.repeat(np.arange(len(X)), np.diff(starts[rows.start : rows.stop + 1]))

        def of_run(loss: EntrywiseLoss, X: Array, run: slice) -> TileSums:
            inside = (columns[entries] >= run.start) & (columns[entries] < run.stop)
            places = lines[inside], columns[entries][inside] - run.start
            tile = given(values[entries], upper[entries], weights[entries], inside)
            return loss.sparse_residual(X, places, tile, curvature)

        return _by_runs(loss, X, block, of_run)

    _walk(residual, *walk)


def _walk(
    residual: Residual,
    a: int,
    b: int,
    tiling: Tiling,
    factors: Factors,
    totals: Accumulators,
    workspace: Workspace,
) -> None:
    """Tile by tile; the products always take the whole of it."""
    n = len(factors.VT)
    for top in range(a, b, tiling.height):
        rows = slice(top, min(top + tiling.height, b))
        for first in range(0, n, tiling.width):
            block = slice(first, min(first + tiling.width, n))
            S = _tile(workspace.S, rows.stop - top, block, tiling.kept)
            np.matmul(factors.U[rows], factors.VT[block].T, out=S)
            gap = factors.U_bar[rows] @ factors.VT_bar[block].T - S if workspace.gap.size else None
            totals.sums[[0, 1, 2, 4]] += residual(S, rows, block)
            if gap is not None:
                totals.sums[3] += sum_of_squares(factors.curvature * gap + S)  # c(X̄ − W) = c(X̄ − X) + S
            if len(factors.VT_bar):
                product = S @ factors.VT_bar[block]
                totals.left[rows] = product if first == 0 else totals.left[rows] + product
            if len(factors.U_bar):
                totals.right[block] += S.T @ factors.U_bar[rows]


def _add_right(U: Array, tiling: Tiling, right: Array, workspace: Workspace) -> None:
    for first in range(0, len(right), tiling.width):
        block = slice(first, min(first + tiling.width, len(right)))
        right[block] += _tile(workspace.S, len(U), block, kept=True).T @ U


def _tile(S: Array, height: int, block: slice, kept: bool) -> Array:
    begin, size = height * block.start if kept else 0, height * (block.stop - block.start)
    return S[begin : begin + size].reshape(height, -1)
