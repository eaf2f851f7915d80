"""Row models, compiled; imported only where they run, as numba is.

All loops are in one file: what numba keeps on disk of a loop is renewed when the loop's own file changes.
"""

import math
from functools import cache
from typing import Any, final

import numpy as np
from attrs import astuple, frozen

from bregopt import Array, ScalarPenalty
from bregopt.compiled import first_class, jit
from bregopt_lowrank.losses.loss import MOST_PARAMETERS, ColumnLosses, Tile
from bregopt_lowrank.losses.tile_loops import RunLoops
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.newton.row_models import SWEEPS, Fit, RowModels
from bregopt_lowrank.passes.threads import read_only

VANISHED = 1e-14
"""A pivot below that part of its diagonal entry is rounding."""


@jit
def _gradient(slopes: Any, places: Any, VT: Any, g: Any) -> None:
    g[:] = 0.0
    for k in range(places.size):
        s, v = slopes[k], VT[places[k]]
        for p in range(g.size):
            g[p] += s * v[p]


@jit
def _hessian(VT: Any, places: Any, bent: Any, B: Any) -> None:
    """``Σ e''_j v_j v_jᵀ``, four terms at a time, below the diagonal; then mirrored."""
    B[:] = 0.0
    r, whole = B.shape[0], places.size - places.size % 4
    for k in range(0, whole, 4):
        a, b, c, d = VT[places[k]], VT[places[k + 1]], VT[places[k + 2]], VT[places[k + 3]]
        on_a, on_b, on_c, on_d = bent[k], bent[k + 1], bent[k + 2], bent[k + 3]
        for p in range(r):  # numbers, as the row might overlap with them
            row, s, t, u, v = B[p], on_a * a[p], on_b * b[p], on_c * c[p], on_d * d[p]
            for q in range(p + 1):
                row[q] += s * a[q] + t * b[q] + u * c[q] + v * d[q]
    for k in range(whole, places.size):
        a = VT[places[k]]
        for p in range(r):
            row, s = B[p], bent[k] * a[p]
            for q in range(p + 1):
                row[q] += s * a[q]
    for p in range(r):
        for q in range(p):
            B[q, p] = B[p, q]


@jit
def _solve(B: Any, g: Any, u: Any, ridge: float, z: Any, slope: Any) -> None:
    """z with ``(B + ridge)(z − u) = −(g + ridge·u)`` by Cholesky in place; a pivot that vanishes leaves its z at u."""
    r = g.size
    for p in range(r):
        own = B[p, p] + ridge
        for q in range(p):
            entry = B[p, q]
            for k in range(q):
                entry -= B[p, k] * B[q, k]
            B[p, q] = entry / B[q, q]
        pivot = own
        for k in range(p):
            pivot -= B[p, k] * B[p, k]
        B[p, p] = math.sqrt(pivot) if pivot > VANISHED * own else math.inf
    for p in range(r):
        entry = -(g[p] + ridge * u[p])
        for k in range(p):
            entry -= B[p, k] * z[k]
        z[p] = entry / B[p, p]
    for p in range(r - 1, -1, -1):
        entry = z[p]
        for k in range(p + 1, r):
            entry -= B[k, p] * z[k]
        z[p] = entry / B[p, p]
    for p in range(r):
        z[p] += u[p]
        slope[p] = -ridge * z[p]


@jit
def _sweep(B: Any, u: Any, l1: float, ridge: float, low: float, high: float, z: Any, slope: Any) -> None:
    """z from u by exact steps in one coordinate after the other; ``slope`` follows ``g + B(z − u)``."""
    z[:] = u
    for _ in range(SWEEPS):
        moved = False
        for p in range(z.size):
            row, b = B[p], B[p, p]
            x = b * z[p] - slope[p]
            x = min(max((x - min(max(x, -l1), l1)) / (b + ridge), low), high)
            change = x - z[p]
            if change != 0.0:
                moved = True
                z[p] = x
                for q in range(z.size):
                    slope[q] += change * row[q]
        if not moved:
            return


@jit
def _fit(
    curve: Any,
    runs: Any,
    numbers: Any,
    X: Any,
    M: Any,
    upper: Any,
    weights: Any,
    U: Any,
    VT: Any,
    damping: Any,
    penalty: Any,
    direct: bool,
    Z: Any,
    fall: Any,
    residual: Any,
) -> int:
    """Each row of Z a minimiser of its model, how far f falls in it, and the size of its step; the active entries."""
    l1, ridge, low, high = penalty
    r, total = VT.shape[1], 0
    g, slope, B = np.empty(r), np.empty(r), np.empty((r, r))
    columns, slopes, bent = np.empty(X.shape[1], np.int64), np.empty(X.shape[1]), np.empty(X.shape[1])
    for i in range(X.shape[0]):
        count = curve(X[i], M[i], upper[i], weights[i], runs, numbers, columns, slopes, bent)
        places = columns[:count]
        total += count
        _gradient(slopes[:count], places, VT, g)
        _hessian(VT, places, bent, B)
        for p in range(r):
            B[p, p] += damping[i]
        slope[:] = g
        if direct:
            _solve(B, g, U[i], ridge, Z[i], slope)
        else:
            _sweep(B, U[i], l1, ridge, low, high, Z[i], slope)
        fall[i] = residual[i] = 0.0
        for p in range(r):
            fall[i] -= 0.5 * (g[p] + slope[p]) * (Z[i, p] - U[i, p])
            residual[i] += (slope[p] - g[p]) ** 2
    return total


@cache
def _loops(loss: RunLoops, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """``measure`` and ``curve`` of the losses, compiled."""
    row, X, places, entries = np.empty(1, dtype), np.empty((1, 1), dtype), np.empty(1, np.int64), np.empty(1)
    runs, numbers = read_only(np.empty((1, 2), np.int64)), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    held, line = [read_only(X)] * 3, [read_only(row)] * 3
    return (
        first_class(loss.measure, X, *held, runs, numbers, entries, entries, returns=0),
        first_class(loss.curve, row, *line, runs, numbers, places, entries, entries, returns=0),
    )


@jit
def _measure(
    measure: Any, X: Any, M: Any, upper: Any, weights: Any, runs: Any, numbers: Any, value: Any, error: Any
) -> None:
    measure(X, M, upper, weights, runs, numbers, value, error)


@final
@frozen(eq=False)
class CompiledModels(RowModels):
    """The models for a scalar penalty."""

    loss: ColumnLosses
    M: LocalMatrix
    VT: Array
    """by rows, in float64"""
    h: ScalarPenalty

    def _prepared(self, rows: slice, tile: Tile) -> tuple[Any, Any, tuple[Any, Any], tuple[Any, Any, Any]]:
        """``measure`` and ``curve``, the runs of columns and the numbers of the losses in these rows, and the data."""
        loss, whole = self.loss, self.M
        measure, curve = _loops(loss.loops(whole.weights is not None, whole.missing > 0), whole.dtype)
        table = loss.table
        if loss.of_rows:
            table = np.array([[whole.shape[1], loss.which[int(np.searchsorted(loss.stops, rows.start, side="right"))]]])
        M, upper, weights = (read_only(tile.M if it is None else it) for it in (tile.M, tile.upper, tile.weights))
        return measure, curve, (read_only(table), read_only(loss.numbers(1.0, False))), (M, upper, weights)

    def measure(self, rows: slice, X: Array, tile: Tile) -> tuple[Array, Array]:
        measure, _, numbers, data = self._prepared(rows, tile)
        value, error = np.zeros(len(X)), np.zeros(len(X))
        _measure(measure, X, *data, *numbers, value, error)
        return value, error

    def fit(self, rows: slice, X: Array, tile: Tile, U: Array, damping: Array) -> Fit:
        _, curve, numbers, data = self._prepared(rows, tile)
        Z, fall, residual = np.empty_like(U), np.empty(len(U)), np.empty(len(U))
        penalty = tuple(map(float, astuple(self.h)))
        count = _fit(curve, *numbers, X, *data, U, self.VT, damping, penalty, self.h.quadratic, Z, fall, residual)
        return Fit(Z, fall, residual, count)


@jit
def _fit_entries(
    curve: Any,
    line: Any,
    runs: Any,
    which: Any,
    numbers: Any,
    starts: Any,
    columns: Any,
    values: Any,
    upper: Any,
    weights: Any,
    a: int,
    b: int,
    U: Any,
    VT: Any,
    gram: Any,
    damping: Any,
    penalty: Any,
    direct: bool,
    Z: Any,
    figures: Any,
) -> int:
    """``_fit`` on the stored entries of rows a to b − 1 alone; ``figures`` get what is known of each row.

    They are f and the error before and after the step, how far f falls in the model, and the size of the step. The
    other entries cost ½x², where ``gram`` is VVᵀ, or nothing, where it is zero. With ``which`` each row has one loss.
    """
    l1, ridge, low, high = penalty
    r, total, longest = VT.shape[1], 0, 0
    for i in range(a, b):
        longest = max(longest, starts[i + 1] - starts[i])
    g, slope, B, sums = np.empty(r), np.empty(r), np.empty((r, r)), np.empty(5)
    square = numbers[0, numbers.shape[1] - 1]
    x, slopes, bent, found = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    places, own = np.empty(longest, np.int64), runs.copy()
    for i in range(a, b):
        begin, end = starts[i], starts[i + 1]
        size, u, z = end - begin, U[i - a], Z[i - a]
        if which.size > 0:
            own[0, 0], own[0, 1] = size, which[i]
        else:
            at = 0
            for k in range(runs.shape[0]):
                while at < size and columns[begin + at] < runs[k, 0]:
                    at += 1
                own[k, 0] = at
        _at_entries(u, VT, columns, begin, end, x)
        count = curve(
            x[:size], values[begin:end], upper[begin:end], weights[begin:end], own, numbers, found, slopes, bent
        )
        for k in range(count):
            places[k] = columns[begin + found[k]]
            slopes[k] -= square * x[found[k]]
            bent[k] -= square
        total += count
        _gradient(slopes[:count], places[:count], VT, g)
        _hessian(VT, places[:count], bent, B)
        for p in range(r):
            for q in range(r):
                B[p, q] += gram[p, q]
                g[p] += gram[p, q] * u[q]
            B[p, p] += damping[i - a]
        slope[:] = g
        if direct:
            _solve(B, g, u, ridge, z, slope)
        else:
            _sweep(B, u, l1, ridge, low, high, z, slope)
        figure = figures[i - a]
        figure[4] = figure[5] = 0.0
        for p in range(r):
            figure[4] -= 0.5 * (g[p] + slope[p]) * (z[p] - u[p])
            figure[5] += (slope[p] - g[p]) ** 2
        for turn in range(2):
            w = u if turn == 0 else z
            if turn == 1:
                _at_entries(z, VT, columns, begin, end, x)
            sums[:] = 0.0
            line(x[:size], columns, values, upper, weights, begin, end, own if which.size > 0 else runs, numbers, sums)
            off = 0.0
            for p in range(r):
                for q in range(r):
                    off += w[p] * gram[p, q] * w[q]
            figure[2 * turn] = sums[4] + 0.5 * off
            figure[2 * turn + 1] = sums[1] + off
    return total


@jit
def _at_entries(u: Any, VT: Any, columns: Any, begin: int, end: int, x: Any) -> None:
    """u·v_j for the stored entries begin to end − 1."""
    for k in range(begin, end):
        v, total = VT[columns[k]], 0.0
        for p in range(u.size):
            total += u[p] * v[p]
        x[k - begin] = total


@cache
def _entry_loops(loss: RunLoops, values: np.dtype[Any], columns: np.dtype[Any]) -> tuple[Any, Any]:
    """``curve`` and ``line`` of the losses for stored entries, compiled."""
    row, x, places = read_only(np.empty(1, values)), np.empty(1), np.empty(1, np.int64)
    runs, numbers = np.empty((1, 2), np.int64), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    where = read_only(np.empty(1, columns))
    return (
        first_class(loss.curve, x, row, row, row, runs, numbers, places, x, x, returns=0),
        first_class(loss.line, x, where, row, row, row, 0, 0, runs, numbers, x, returns=0),
    )


@final
@frozen(eq=False)
class EntryModels:
    """The models on the stored entries of a CSR M alone, for a scalar penalty."""

    loss: ColumnLosses
    M: LocalMatrix
    VT: Array
    """by rows, in float64"""
    h: ScalarPenalty

    def steps(self, rows: slice, U: Array, damping: Array) -> tuple[Array, Array, int]:
        """The minimiser of each row's model, its figures, and the active entries."""
        M, loss, square = self.M, self.loss, not self.M.sampled
        curve, line = _entry_loops(loss.loops(M.weights is not None, True), M.dtype, M.columns.dtype)
        which = np.repeat(loss.which, np.diff([0, *loss.stops])) if loss.of_rows else np.empty(0, np.int64)
        gram = self.VT.T @ self.VT if square else np.zeros((U.shape[1], U.shape[1]))
        Z, figures = np.empty_like(U), np.empty((len(U), 6))
        count = _fit_entries(
            curve,
            line,
            loss.table,
            which,
            read_only(loss.numbers(1.0, square)),
            read_only(M.starts),
            read_only(M.columns),
            read_only(M.values),
            read_only(M.values if M.upper is None else M.upper),
            read_only(M.values if M.weights is None else M.weights),
            rows.start,
            rows.stop,
            U,
            self.VT,
            gram,
            damping,
            tuple(map(float, astuple(self.h))),
            self.h.quadratic,
            Z,
            figures,
        )
        return Z, figures, count
