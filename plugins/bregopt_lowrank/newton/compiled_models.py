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
from bregopt_lowrank.newton.row_models import SWEEPS, Fit, RowModels
from bregopt_lowrank.passes.run import read_only
from bregopt_lowrank.tile_loss import TileLoops

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
def _hessian(VT: Any, places: Any, B: Any) -> None:
    """``Σ v_j v_jᵀ``, four terms at a time, below the diagonal; then mirrored."""
    B[:] = 0.0
    r, whole = B.shape[0], places.size - places.size % 4
    for k in range(0, whole, 4):
        a, b, c, d = VT[places[k]], VT[places[k + 1]], VT[places[k + 2]], VT[places[k + 3]]
        for p in range(r):
            row, s, t, u, v = B[p], a[p], b[p], c[p], d[p]  # numbers, as the row might overlap with them
            for q in range(p + 1):
                row[q] += s * a[q] + t * b[q] + u * c[q] + v * d[q]
    for k in range(whole, places.size):
        a = VT[places[k]]
        for p in range(r):
            row, s = B[p], a[p]
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
    active: Any,
    X: Any,
    M: Any,
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
    columns, slopes = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    for i in range(X.shape[0]):
        count = active(X[i], M[i], columns, slopes)
        places = columns[:count]
        total += count
        _gradient(slopes[:count], places, VT, g)
        _hessian(VT, places, B)
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
def _loops(loss: TileLoops, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """``measure`` and ``active`` of a loss, compiled."""
    row = np.empty(1, dtype)
    return jit(loss.measure), first_class(
        loss.active, row, read_only(row), np.empty(1, np.int64), np.empty(1), returns=0
    )


@final
@frozen(eq=False)
class CompiledModels(RowModels):
    """The models for a scalar penalty."""

    loss: TileLoops
    VT: Array
    """by rows, in float64"""
    h: ScalarPenalty

    def measure(self, X: Array, M: Array) -> tuple[Array, Array]:
        measure, _ = _loops(self.loss, X.dtype)
        value, error = np.empty(len(X)), np.empty(len(X))
        measure(X, read_only(M), value, error)
        return value, error

    def fit(self, rows: slice, X: Array, M: Array, U: Array, damping: Array) -> Fit:
        _, active = _loops(self.loss, X.dtype)
        Z, fall, residual = np.empty_like(U), np.empty(len(U)), np.empty(len(U))
        penalty = tuple(map(float, astuple(self.h)))
        count = _fit(active, X, read_only(M), U, self.VT, damping, penalty, self.h.quadratic, Z, fall, residual)
        return Fit(Z, fall, residual, count)
