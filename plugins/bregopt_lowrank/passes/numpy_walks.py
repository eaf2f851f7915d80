"""The walks on NumPy alone: what the compiled ones do, for small matrices and where those are switched off."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bregopt import Array
from bregopt_lowrank.passes.tiling import Accumulators, Factors, Tiling, Walks, Workspace
from bregopt_lowrank.tile_loss import TileLoss, TileSums

Residual = Callable[[Array, slice, slice], TileSums]
"""``(X, rows, block)``: S in place of X, and its sums."""


def sum_of_squares(X: Array) -> float:
    """‖X‖², summed in float64."""
    return float(np.vdot(X, X)) if X.dtype == np.float64 else float(np.square(X).sum(dtype=np.float64))


def walks(loss: TileLoss, *, sparse: bool) -> Walks:
    """The walks over a dense or a CSR M."""
    return Walks(partial(_sparse if sparse else _dense, loss), _add_right)


def _dense(loss: TileLoss, M: Array, shift: int, *walk: Any) -> None:
    def residual(X: Array, rows: slice, block: slice) -> TileSums:
        return loss.residual(X, M[rows.start - shift : rows.stop - shift, block])

    _walk(residual, *walk)


def _sparse(loss: TileLoss, starts: Any, columns: Any, values: Array, *walk: Any) -> None:
    def residual(X: Array, rows: slice, block: slice) -> TileSums:
        entries = slice(starts[rows.start], starts[rows.stop])
        lines = np.repeat(np.arange(len(X)), np.diff(starts[rows.start : rows.stop + 1]))
        inside = (columns[entries] >= block.start) & (columns[entries] < block.stop)
        places = lines[inside], columns[entries][inside] - block.start
        return loss.sparse_residual(X, places, values[entries][inside])

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
            totals.sums[:3] += residual(S, rows, block)
            if gap is not None:
                totals.sums[3] += sum_of_squares(gap + S)  # X̄ − W = (X̄ − X) + (X − W)
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
