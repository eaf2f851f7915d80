"""Row models, compiled: f, its gradient and its curvature on tiles of X = UV, or on stored entries alone.

This module is imported only where the loops run, as numba is. All of them are in one file: what numba keeps on disk of
a loop is renewed when the loop's own file changes.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, final

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  (np.dot calls it: it is to be there when threads are limited)
from attrs import frozen

from bregopt import Array
from bregopt.compiled import first_class, jit
from bregopt_lowrank.losses.loss import MOST_PARAMETERS, ColumnLosses
from bregopt_lowrank.losses.tile_loops import RunLoops
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.newton.row_models import Gathered, RowModels
from bregopt_lowrank.passes.threads import read_only

HEIGHT, WIDTH = 32, 1024
"""Rows and columns of a tile of X: with its part of M it is in cache."""
OUTER_RANK = 32
"""Up to that rank the v_jv_jᵀ of a tile's columns are made once for many rows: loops over few q ≤ p are slow."""
OUTER_ENTRIES = 2**17
"""Numbers of the v_jv_jᵀ of a tile's columns."""
KEPT_ENTRIES = 2**19
"""Numbers of the B_i that are held at a time, 4 MiB: what is made for a tile of columns serves all of their rows."""


@jit
def _add_slopes(VT: Any, places: Any, slopes: Any, g: Any) -> None:
    """g += Σ s_j v_j, four terms at a time."""
    whole = places.size - places.size % 4
    for k in range(0, whole, 4):
        a, b, c, d = VT[places[k]], VT[places[k + 1]], VT[places[k + 2]], VT[places[k + 3]]
        s, t, u, v = slopes[k], slopes[k + 1], slopes[k + 2], slopes[k + 3]
        for p in range(g.size):
            g[p] += s * a[p] + t * b[p] + u * c[p] + v * d[p]
    for k in range(whole, places.size):
        a, s = VT[places[k]], slopes[k]
        for p in range(g.size):
            g[p] += s * a[p]


@jit
def _add_outer(VT: Any, places: Any, bent: Any, B: Any) -> None:
    """B += Σ e''_j v_j v_jᵀ below the diagonal, row after row: four terms and two rows at a time."""
    r, whole = VT.shape[1], places.size - places.size % 4
    for k in range(0, whole, 4):
        a, b, c, d = VT[places[k]], VT[places[k + 1]], VT[places[k + 2]], VT[places[k + 3]]
        on_a, on_b, on_c, on_d = bent[k], bent[k + 1], bent[k + 2], bent[k + 3]
        for p in range(0, r - 1, 2):  # numbers, as the rows might overlap with them
            here, below = B[p * (p + 1) // 2 :], B[(p + 1) * (p + 2) // 2 :]
            s, t, u, v = on_a * a[p], on_b * b[p], on_c * c[p], on_d * d[p]
            w, x, y, z = on_a * a[p + 1], on_b * b[p + 1], on_c * c[p + 1], on_d * d[p + 1]
            for q in range(p + 1):
                here[q] += s * a[q] + t * b[q] + u * c[q] + v * d[q]
                below[q] += w * a[q] + x * b[q] + y * c[q] + z * d[q]
            below[p + 1] += w * a[p + 1] + x * b[p + 1] + y * c[p + 1] + z * d[p + 1]
        if r % 2 == 1:
            p = r - 1
            last, s, t, u, v = B[p * (p + 1) // 2 :], on_a * a[p], on_b * b[p], on_c * c[p], on_d * d[p]
            for q in range(r):
                last[q] += s * a[q] + t * b[q] + u * c[q] + v * d[q]
    for k in range(whole, places.size):
        a = VT[places[k]]
        for p in range(r):
            row, s = B[p * (p + 1) // 2 :], bent[k] * a[p]
            for q in range(p + 1):
                row[q] += s * a[q]


@jit
def _outer(VT: Any, K: Any) -> None:
    """v_j v_jᵀ below the diagonal, for each j."""
    for j in range(VT.shape[0]):
        v, at = VT[j], 0
        for p in range(v.size):
            s = v[p]
            for q in range(p + 1):
                K[j, at] = s * v[q]
                at += 1


@jit
def _add_rows(K: Any, places: Any, bent: Any, B: Any) -> None:
    """B += Σ e''_j K_j, eight terms at a time."""
    whole = places.size - places.size % 8
    for k in range(0, whole, 8):
        a, b, c, d = K[places[k]], K[places[k + 1]], K[places[k + 2]], K[places[k + 3]]
        e, f, g, h = K[places[k + 4]], K[places[k + 5]], K[places[k + 6]], K[places[k + 7]]
        s, t, u, v = bent[k], bent[k + 1], bent[k + 2], bent[k + 3]
        w, x, y, z = bent[k + 4], bent[k + 5], bent[k + 6], bent[k + 7]
        for q in range(B.size):
            four = s * a[q] + t * b[q] + u * c[q] + v * d[q]
            B[q] += four + (w * e[q] + x * f[q] + y * g[q] + z * h[q])
    for k in range(whole, places.size):
        a, s = K[places[k]], bent[k]
        for q in range(B.size):
            B[q] += s * a[q]


@jit
def _own_runs(runs: Any, which: Any, i: int, first: int, width: int, own: Any) -> None:
    """The runs of losses within the columns of a tile; with ``which`` each row has one loss."""
    if which.size > 0:
        own[:, 0], own[:, 1] = width, which[i]  # the first is all of them, and the others are empty
        return
    for k in range(runs.shape[0]):
        own[k, 0], own[k, 1] = min(max(runs[k, 0] - first, 0), width), runs[k, 1]


def _fill_dense(data: Any, top: int, first: int, positions: Any, given: Any, high: Any, weight: Any) -> None:
    """The part of M in a tile, and of what belongs to it where that has a place."""
    M, upper, weights = data
    for i in range(given.shape[0]):
        for j in range(given.shape[1]):
            given[i, j] = M[top + i, first + j]
    if upper.size > 0:
        for i in range(given.shape[0]):
            for j in range(given.shape[1]):
                high[i, j] = upper[top + i, first + j]
    if weights.size > 0:
        for i in range(given.shape[0]):
            for j in range(given.shape[1]):
                weight[i, j] = weights[top + i, first + j]


def _clear_dense(data: Any, top: int, first: int, positions: Any, given: Any, high: Any, weight: Any) -> None:
    """The next tile is filled anew."""


def _fill_sparse(data: Any, top: int, first: int, positions: Any, given: Any, high: Any, weight: Any) -> None:
    """The same into a tile of zeros, of weight 1."""
    starts, columns, values, upper, weights = data
    for i in range(given.shape[0]):
        k = positions[i]
        while k < starts[top + i + 1] and columns[k] < first + given.shape[1]:
            given[i, columns[k] - first] = values[k]
            if upper.size > 0:
                high[i, columns[k] - first] = upper[k]
            if weights.size > 0:
                weight[i, columns[k] - first] = weights[k]
            k += 1


def _clear_sparse(data: Any, top: int, first: int, positions: Any, given: Any, high: Any, weight: Any) -> None:
    """The zeros again; ``positions`` move on to the tile on the right."""
    starts, columns, _, upper, weights = data
    for i in range(given.shape[0]):
        k = positions[i]
        while k < starts[top + i + 1] and columns[k] < first + given.shape[1]:
            given[i, columns[k] - first] = 0.0
            if upper.size > 0:
                high[i, columns[k] - first] = 0.0
            if weights.size > 0:
                weight[i, columns[k] - first] = 1.0
            k += 1
        positions[i] = k


def _start_dense(data: Any, top: int, positions: Any) -> None:
    """Nothing is to be found."""


def _start_sparse(data: Any, top: int, positions: Any) -> None:
    """Where the entries of each row begin."""
    for i in range(positions.size):
        positions[i] = data[0][top + i]


@cache
def _walk(sparse: bool) -> Any:
    """The walk over some rows of a CSR M, or of a dense one."""
    forms: tuple[Callable[..., None], ...] = (_start_dense, _fill_dense, _clear_dense)
    if sparse:
        forms = (_start_sparse, _fill_sparse, _clear_sparse)
    start, fill, clear = (jit(form, kept=False) for form in forms)

    def walk(
        measure: Any,
        curve: Any,
        runs: Any,
        which: Any,
        numbers: Any,
        data: Any,
        U: Any,
        V: Any,
        VT: Any,
        shift: int,
        tile: Any,
        K: Any,
        value: Any,
        error: Any,
        G: Any,
        B: Any,
    ) -> int:
        """f and the error of the rows of U, the first of which is ``shift``; g and B where G has rows.

        The tiles of the same columns are visited one after the other: K is made once for them. The active entries are
        returned.
        """
        X, given, high, weight = tile
        m, n, width = U.shape[0], V.shape[0], X.shape[1]
        own, positions, active = runs.copy(), np.empty(m, np.int64), 0
        places, slopes, bent = np.empty(X.shape, np.int64), np.empty(X.shape), np.empty(X.shape)
        counts = np.empty(X.shape[0], np.int64)
        start(data, shift, positions)
        for first in range(0, n, width):
            w = min(width, n - first)
            wide = VT[first : first + w]
            if K.size > 0:
                _outer(wide, K)
            for top in range(0, m, X.shape[0]):
                h = min(X.shape[0], m - top)
                x, M = X.ravel()[: h * w].reshape(h, w), given.ravel()[: h * w].reshape(h, w)
                upper, weights = M, M
                if high.size > 0:
                    upper = high.ravel()[: h * w].reshape(h, w)
                if weight.size > 0:
                    weights = weight.ravel()[: h * w].reshape(h, w)
                np.dot(U[top : top + h], V[first : first + w].T, x)
                fill(data, shift + top, first, positions[top : top + h], M, upper, weights)
                counts[:] = 0
                for i in range(1 if which.size == 0 else h):  # all rows at once, or each with its own loss
                    t, e = top + i, i + 1 if which.size > 0 else h
                    _own_runs(runs, which, shift + t, first, w, own)
                    x_, M_, upper_, weights_ = x[i:e], M[i:e], upper[i:e], weights[i:e]
                    if G.shape[0] == 0:
                        measure(x_, M_, upper_, weights_, own, numbers, value[t:], error[t:])
                        continue
                    curve(
                        x_,
                        M_,
                        upper_,
                        weights_,
                        own,
                        numbers,
                        places[i:],
                        slopes[i:],
                        bent[i:],
                        counts[i:],
                        value[t:],
                        error[t:],
                    )
                for i in range(h if G.shape[0] > 0 else 0):
                    count, there, c = counts[i], places[i, : counts[i]], bent[i]
                    active += count
                    _add_slopes(wide, there, slopes[i], G[top + i])
                    if K.size > 0:
                        _add_rows(K, there, c, B[top + i])
                    else:
                        _add_outer(wide, there, c, B[top + i])
                clear(data, shift + top, first, positions[top : top + h], M, upper, weights)
        return active

    return jit(walk)


@cache
def _loops(loss: RunLoops, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """``measure`` and ``curve`` of the losses, compiled."""
    X, held, figures = np.empty((1, 1), dtype), np.empty((1, 1)), np.empty(1)
    runs, numbers = np.empty((1, 2), np.int64), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    places, counts = np.empty((1, 1), np.int64), np.empty(1, np.int64)
    rest = (runs, numbers, places, held, held, counts, figures, figures)
    return (
        first_class(loss.measure, X, X, X, X, runs, numbers, figures, figures, returns=0),
        first_class(loss.curve, X, X, X, X, *rest, returns=0),
    )


@jit
def _unpack(packed: Any, B: Any) -> None:
    """Whole matrices of their lower halves."""
    for i in range(B.shape[0]):
        at = 0
        for p in range(B.shape[1]):
            for q in range(p + 1):
                B[i, p, q] = B[i, q, p] = packed[i, at]
                at += 1


@final
@frozen(eq=False)
class TileModels(RowModels):
    """The models by tiles of X."""

    loss: ColumnLosses
    M: LocalMatrix
    V: Array
    """by rows, in the precision of M"""
    VT: Array
    """the same in float64"""

    @classmethod
    def of(cls, loss: ColumnLosses, M: LocalMatrix, V: Array) -> "TileModels":
        VT = np.array(V.T, order="C")
        return cls(loss, M, read_only(VT.astype(M.dtype, copy=False)), read_only(VT))

    def height(self, rank: int) -> int:
        return max(HEIGHT, KEPT_ENTRIES // rank**2)

    def gather(self, rows: slice, U: Array) -> Gathered:
        (m, r), half = U.shape, U.shape[1] * (U.shape[1] + 1) // 2
        G, packed, B = np.zeros((m, r)), np.zeros((m, half)), np.empty((m, r, r))
        value, error, active = self._over(rows, U, G, packed)
        _unpack(packed, B)
        return Gathered(value, error, G, B, active)

    def measure(self, rows: slice, U: Array) -> tuple[Array, Array]:
        return self._over(rows, U, np.empty((0, U.shape[1])), np.empty((0, 0)))[:2]

    def _over(self, rows: slice, U: Array, G: Array, B: Array) -> tuple[Array, Array, int]:
        M, loss, r, half = self.M, self.loss, U.shape[1], B.shape[1]
        sparse = M.source is None
        measure, curve = _loops(loss.loops(M.weights is not None, M.missing > 0), M.dtype)
        outer = half > 0 and r <= OUTER_RANK
        width = min(M.shape[1], WIDTH, OUTER_ENTRIES // half if outer else WIDTH)
        size = min(HEIGHT, len(U)), width
        tile = (
            np.empty(size, M.dtype),
            np.zeros(size, M.dtype),
            np.zeros(size if M.upper is not None else (0, 0), M.dtype),
            np.ones(size if M.weights is not None else (0, 0), M.dtype),
        )
        value, error = np.zeros(len(U)), np.zeros(len(U))
        active = _walk(sparse)(
            measure,
            curve,
            loss.table,
            _losses_of_rows(loss),
            read_only(loss.numbers(1.0, False)),
            _sparse_data(M) if sparse else _dense_data(M),
            read_only(np.ascontiguousarray(U, dtype=M.dtype)),
            self.V,
            self.VT,
            rows.start,
            tile,
            np.empty((width if outer else 0, half)),
            value,
            error,
            G,
            B,
        )
        return value, error, active


def _losses_of_rows(loss: ColumnLosses) -> Any:
    """The number of each row's loss, where the losses are those of the rows; else nothing."""
    return np.repeat(loss.which, np.diff([0, *loss.stops])) if loss.of_rows else np.empty(0, np.int64)


def _dense_data(M: LocalMatrix) -> tuple[Any, ...]:
    return tuple(read_only(np.empty((0, 0), M.dtype) if it is None else it) for it in (M.source, M.upper, M.weights))


def _sparse_data(M: LocalMatrix) -> tuple[Any, ...]:
    upper, weights = (np.empty(0, M.dtype) if it is None else it for it in (M.upper, M.weights))
    return tuple(map(read_only, (M.starts, M.columns, M.values, upper, weights)))


@jit
def _over_entries(
    curve: Any,
    line: Any,
    runs: Any,
    which: Any,
    numbers: Any,
    data: Any,
    U: Any,
    VT: Any,
    shift: int,
    gram: Any,
    value: Any,
    error: Any,
    G: Any,
    B: Any,
) -> int:
    """``walk`` on stored entries alone: the others cost ½x², where ``gram`` is VVᵀ, or nothing, where it is zero."""
    starts, columns, values, upper, weights = data
    m, r, active, longest = U.shape[0], U.shape[1], 0, 0
    for i in range(shift, shift + m):
        longest = max(longest, starts[i + 1] - starts[i])
    sums, square = np.empty(5), numbers[0, numbers.shape[1] - 1]
    x, slopes, bent = np.empty(longest), np.empty((1, longest)), np.empty((1, longest))
    found, places, own = np.empty((1, longest), np.int64), np.empty(longest, np.int64), runs.copy()
    counts, spare = np.empty(1, np.int64), np.empty(1)
    for i in range(m):
        begin, end, u = starts[shift + i], starts[shift + i + 1], U[i]
        size = end - begin
        for k in range(size):
            v, total = VT[columns[begin + k]], 0.0
            for p in range(r):
                total += u[p] * v[p]
            x[k] = total
        if which.size > 0:
            own[:, 0], own[:, 1] = size, which[shift + i]
        if G.shape[0] > 0:
            if which.size == 0:
                at = 0
                for k in range(runs.shape[0]):
                    while at < size and columns[begin + at] < runs[k, 0]:
                        at += 1
                    own[k, 0] = at
            counts[0] = 0
            curve(
                x[:size].reshape(1, size),
                values[begin:end].reshape(1, size),
                upper[begin:end].reshape(1, size),
                weights[begin:end].reshape(1, size),
                own,
                numbers,
                found,
                slopes,
                bent,
                counts,
                spare,
                spare,
            )
            count = counts[0]
            for k in range(count):
                places[k] = columns[begin + found[0, k]]
                slopes[0, k] -= square * x[found[0, k]]
                bent[0, k] -= square
            active += count
            _add_slopes(VT, places[:count], slopes[0], G[i])
            _add_outer(VT, places[:count], bent[0], B[i])
        off, at = 0.0, 0
        for p in range(r):
            slope = 0.0
            for q in range(r):
                slope += gram[p, q] * u[q]
            off += u[p] * slope
            if G.shape[0] > 0:
                G[i, p] += slope
                for q in range(p + 1):
                    B[i, at] += gram[p, q]
                    at += 1
        sums[:] = 0.0
        line(x[:size], columns, values, upper, weights, begin, end, own if which.size > 0 else runs, numbers, sums)
        value[i], error[i] = sums[4] + 0.5 * off, sums[1] + off
    return active


@cache
def _entry_loops(loss: RunLoops, values: np.dtype[Any], columns: np.dtype[Any]) -> tuple[Any, Any]:
    """``curve`` and ``line`` of the losses for stored entries, compiled."""
    row, x, X = read_only(np.empty(1, values)), np.empty(1), np.empty((1, 1))
    runs, numbers = np.empty((1, 2), np.int64), read_only(np.empty((1, MOST_PARAMETERS + 2)))
    where, line = read_only(np.empty(1, columns)), read_only(np.empty((1, 1), values))
    rest = (runs, numbers, np.empty((1, 1), np.int64), X, X, np.empty(1, np.int64), x, x)
    return (
        first_class(loss.curve, X, line, line, line, *rest, returns=0),
        first_class(loss.line, x, where, row, row, row, 0, 0, runs, numbers, x, returns=0),
    )


@final
@frozen(eq=False)
class EntryModels(RowModels):
    """The models on the stored entries of a CSR M alone."""

    loss: ColumnLosses
    M: LocalMatrix
    VT: Array
    """by rows, in float64"""
    gram: Array
    """VVᵀ where an entry that is not stored costs ½x², else 0"""

    @classmethod
    def of(cls, loss: ColumnLosses, M: LocalMatrix, V: Array) -> "EntryModels":
        return cls(loss, M, read_only(np.array(V.T, order="C")), (0.0 if M.sampled else 1.0) * (V @ V.T))

    def height(self, rank: int) -> int:
        return max(HEIGHT, KEPT_ENTRIES // rank**2)

    def gather(self, rows: slice, U: Array) -> Gathered:
        (m, r), half = U.shape, U.shape[1] * (U.shape[1] + 1) // 2
        G, packed, B = np.zeros((m, r)), np.zeros((m, half)), np.empty((m, r, r))
        value, error, active = self._over(rows, U, G, packed)
        _unpack(packed, B)
        return Gathered(value, error, G, B, active)

    def measure(self, rows: slice, U: Array) -> tuple[Array, Array]:
        return self._over(rows, U, np.empty((0, U.shape[1])), np.empty((0, 0)))[:2]

    def _over(self, rows: slice, U: Array, G: Array, B: Array) -> tuple[Array, Array, int]:
        M, loss = self.M, self.loss
        curve, line = _entry_loops(loss.loops(M.weights is not None, True), M.dtype, M.columns.dtype)
        starts, columns, values, upper, weights = _sparse_data(M)
        value, error = np.empty(len(U)), np.empty(len(U))
        active = _over_entries(
            curve,
            line,
            loss.table,
            _losses_of_rows(loss),
            read_only(loss.numbers(1.0, not M.sampled)),
            (starts, columns, values, upper if upper.size else values, weights if weights.size else values),
            read_only(np.ascontiguousarray(U)),
            self.VT,
            rows.start,
            self.gram,
            value,
            error,
            G,
            B,
        )
        return value, error, active
