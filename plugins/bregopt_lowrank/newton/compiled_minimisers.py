"""Minimisers of row models, compiled; imported only where they run, as numba is."""

import math
from functools import cache
from typing import Any

import numpy as np

from bregopt import Array, EntryPenalty
from bregopt.compiled import first_class, jit
from bregopt_lowrank.newton.row_models import ROUNDING, SWEEPS, Gathered, Minimised
from bregopt_lowrank.passes.threads import read_only

VANISHED = 1e-14
"""A pivot below that part of its diagonal entry is rounding."""


@jit
def _root(row: Any, p: int, least: float) -> None:
    """A row of the Cholesky factor above the diagonal, and 1/pivot on it; zeros where the pivot vanishes."""
    scale = 1.0 / math.sqrt(row[p]) if row[p] > least else 0.0
    for k in range(p + 1, row.size):
        row[k] *= scale
    row[p] = scale


@jit
def _solve(B: Any, g: Any, u: Any, ridge: float, z: Any, slope: Any) -> None:
    """z with ``(B + ridge)(z − u) = −(g + ridge·u)`` by Cholesky in place, two rows at a time.

    A pivot that vanishes leaves its z at u.
    """
    r = g.size
    for p in range(r):
        B[p, p] += ridge
        slope[p], z[p] = VANISHED * B[p, p], -(g[p] + ridge * u[p])
    for p in range(0, r, 2):
        a = B[p]
        _root(a, p, slope[p])
        z[p] *= a[p]
        if p + 1 == r:
            break
        b, s = B[p + 1], a[p + 1]
        for k in range(p + 1, r):
            b[k] -= s * a[k]
        _root(b, p + 1, slope[p + 1])
        z[p + 1] = (z[p + 1] - s * z[p]) * b[p + 1]
        x, y = z[p], z[p + 1]
        for q in range(p + 2, r):
            row, s, t = B[q], a[q], b[q]
            z[q] -= s * x + t * y
            for k in range(q, r):
                row[k] -= s * a[k] + t * b[k]
    for p in range(r - 1, -1, -1):
        a, entry = B[p], z[p]
        for k in range(p + 1, r):
            entry -= a[k] * z[k]
        z[p] = entry * a[p]
    for p in range(r):
        z[p] += u[p]
        slope[p] = -ridge * z[p]


@jit
def _sweep(prox: Any, numbers: Any, floor: float, B: Any, z: Any, slope: Any) -> bool:
    """An exact step in one coordinate after the other; ``slope`` follows ``g + B(z − u)``. Whether z was moved."""
    moved = False
    for p in range(z.size):
        row, step = B[p], 1.0 / max(B[p, p], floor)
        x = prox(z[p] - slope[p] * step, step, numbers)
        change = x - z[p]
        if change != 0.0:
            moved = moved or abs(change) > ROUNDING * abs(x)
            z[p] = x
            for q in range(z.size):
                slope[q] += change * row[q]
    return moved


@jit
def _on_the_face(numbers: Any, B: Any, z: Any, slope: Any, free: Any, room: Any) -> None:
    """z on the way to the minimiser over its entries that are neither zero nor at a bound.

    It goes up to the first that gets there; ``h(x) = l1·|x| + (ridge/2)x²`` within bounds is smooth on the way.
    """
    l1, ridge, low, high, count = numbers[0], numbers[1], numbers[2], numbers[3], 0
    for p in range(z.size):
        if (l1 == 0.0 or z[p] != 0.0) and low < z[p] < high:
            free[count] = p
            count += 1
    A, t, zero = room[: count * count].reshape(count, count), np.empty(count), np.zeros(count)
    d, scratch = np.empty(count), np.empty(count)
    for a in range(count):
        p = free[a]
        t[a] = slope[p] + ridge * z[p] + (l1 if z[p] > 0.0 else -l1)
        for b in range(a, count):
            A[a, b] = B[p, free[b]]
    _solve(A, t, zero, ridge, d, scratch)
    share = 1.0
    for a in range(count):
        x, end = z[free[a]], z[free[a]] + d[a]
        if end < low:
            share = min(share, (low - x) / d[a])
        if end > high:
            share = min(share, (high - x) / d[a])
        if l1 > 0.0 and x * end < 0.0:
            share = min(share, -x / d[a])
    for a in range(count):
        p = free[a]
        end = min(max(z[p] + share * d[a], low), high)
        if l1 > 0.0 and z[p] * end < 0.0:
            end = 0.0
        change, row = end - z[p], B[p]
        z[p] = end
        for q in range(z.size):
            slope[q] += change * row[q]


@jit
def _minimise(
    value: Any,
    prox: Any,
    numbers: Any,
    floor: float,
    ridge: float,
    faces: bool,
    damping: Any,
    U: Any,
    G: Any,
    B: Any,
    Z: Any,
    figures: Any,
) -> None:
    """Each row of Z a minimiser of its model, in place of B; by a linear system where h is ``(ridge/2)x²``.

    Else by sweeps over the coordinates; between them, with ``faces``, by one for the entries that are free to move.
    """
    r = U.shape[1]
    slope, free, room = np.empty(r), np.empty(r, np.intp), np.empty(r * r)
    for i in range(U.shape[0]):
        g, u, z = G[i], U[i], Z[i]
        for p in range(u.size):
            B[i, p, p] += damping[i]
        slope[:] = g
        if ridge >= 0.0:
            _solve(B[i], g, u, ridge, z, slope)
        else:
            z[:] = u
            for _ in range(SWEEPS + (2 * r if faces else 0)):
                if not _sweep(prox, numbers, floor, B[i], z, slope):
                    break
                if faces:
                    _on_the_face(numbers, B[i], z, slope, free, room)
        fall = residual = drop = 0.0
        for p in range(u.size):
            fall -= 0.5 * (g[p] + slope[p]) * (z[p] - u[p])
            residual += (slope[p] - g[p]) ** 2
            drop += value(u[p], numbers) - value(z[p], numbers)
        figures[0, i], figures[1, i], figures[2, i] = fall, residual, drop


@cache
def _functions(value: Any, prox: Any) -> tuple[Any, Any]:
    numbers = read_only(np.empty(1))
    return (
        first_class(value, 0.0, numbers, returns=0.0),
        first_class(prox, 0.0, 0.0, numbers, returns=0.0),
    )


def minimise(
    h: EntryPenalty, ridge: float | None, faces: bool, floor: float, it: Gathered, U: Array, damping: Array
) -> Minimised:
    """The minimisers for an h that is compiled: ``(ridge/2)x²`` where that is given, a ScalarPenalty with ``faces``."""
    Z, figures, numbers = np.empty(U.shape), np.empty((3, len(U))), read_only(np.array([*h.parameters, 0.0]))
    U = np.ascontiguousarray(U)
    _minimise(
        *_functions(h.value, h.prox),
        numbers,
        floor,
        -1.0 if ridge is None else float(ridge),
        faces,
        damping,
        U,
        it.G,
        it.B,
        Z,
        figures,
    )
    return Minimised(Z, *figures)
