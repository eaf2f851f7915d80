"""The walks on NumPy alone: what the compiled ones do, for small matrices and where those are switched off."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bregopt import Array
from bregopt_relu.compiled import Cut, Factors, Loops, Room, Sums

Residual = Callable[[Array, slice, slice], None]
"""``(X, rows, block)``: X − W in place of X, the figures added up."""


def _square(X: Array) -> float:
    """‖X‖², summed in float64."""
    return float(np.vdot(X, X)) if X.dtype == np.float64 else float(np.square(X).sum(dtype=np.float64))


def _dense(M: Array, shift: int, a: int, b: int, cut: Cut, factors: Factors, sums: Sums, room: Room) -> None:
    def residual(X: Array, rows: slice, block: slice) -> None:
        tile = M[rows.start - shift : rows.stop - shift, block]
        X -= tile
        S = np.maximum(X, 0)
        np.copyto(S, X, where=tile > 0)
        X -= S
        below = _square(X)
        np.copyto(X, S)
        np.maximum(S, -tile, out=S)
        sums.figures[:3] += _square(X), _square(S), below

    _walk(residual, a, b, cut, factors, sums, room)


def _sparse(
    starts: Any, columns: Any, values: Array, a: int, b: int, cut: Cut, factors: Factors, sums: Sums, room: Room
) -> None:
    def residual(X: Array, rows: slice, block: slice) -> None:
        places = slice(starts[rows.start], starts[rows.stop])
        lines = np.repeat(np.arange(len(X)), np.diff(starts[rows.start : rows.stop + 1]))
        inside = (columns[places] >= block.start) & (columns[places] < block.stop)
        spots, given = (lines[inside], columns[places][inside] - block.start), values[places][inside]
        x = X[spots]
        X[spots] = 0
        S = np.maximum(X, 0)
        X -= S
        above, below = _square(S), _square(X)
        np.copyto(X, S)
        x -= given
        X[spots] = x
        sums.figures[:3] += above + _square(x), above + _square(np.maximum(x, -given)), below

    _walk(residual, a, b, cut, factors, sums, room)


def _walk(residual: Residual, a: int, b: int, cut: Cut, factors: Factors, sums: Sums, room: Room) -> None:
    """Tile by tile; the products always take the whole of it."""
    n = len(factors.VT)
    for top in range(a, b, cut.height):
        rows = slice(top, min(top + cut.height, b))
        for first in range(0, n, cut.width):
            block = slice(first, min(first + cut.width, n))
            S = _tile(room.S, rows.stop - top, block, cut.kept)
            np.matmul(factors.U[rows], factors.VT[block].T, out=S)
            gap = factors.U_bar[rows] @ factors.VT_bar[block].T - S if room.gap.size else None
            residual(S, rows, block)
            if gap is not None:
                sums.figures[3] += _square(gap + S)  # X̄ − W = (X̄ − X) + (X − W)
            if len(factors.VT_bar):
                product = S @ factors.VT_bar[block]
                sums.left[rows] = product if first == 0 else sums.left[rows] + product
            if len(factors.U_bar):
                sums.right[block] += S.T @ factors.U_bar[rows]


def _renewed(U: Array, cut: Cut, right: Array, room: Room) -> None:
    for first in range(0, len(right), cut.width):
        block = slice(first, min(first + cut.width, len(right)))
        right[block] += _tile(room.S, len(U), block, kept=True).T @ U


def _tile(S: Array, height: int, block: slice, kept: bool) -> Array:
    begin, size = height * block.start if kept else 0, height * (block.stop - block.start)
    return S[begin : begin + size].reshape(height, -1)


PLAIN = Loops(_dense, _sparse, _renewed)
