"""The one pass of an iteration: walks over the rows of M in several threads, and what the factors alone bring to it."""

import math
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt.compiled import wanted
from bregopt_lowrank.losses.loss import ColumnLosses, Tile
from bregopt_lowrank.matrices.matrix import PassRequest, PassResult
from bregopt_lowrank.passes import numpy_walks, sampled
from bregopt_lowrank.passes.threads import one_blas_thread, read_only, reader, split, spread
from bregopt_lowrank.passes.tiling import Accumulators, Factors, Tiling, Walks, Workspace

if TYPE_CHECKING:
    from bregopt_lowrank.matrices.local import LocalMatrix

Sums = tuple[float, float, float, float, float]
"""The numbers of a ``PassResult``: ‖S‖², the errors, that for W, the distance and the value."""
NOTHING: Sums = (0.0, 0.0, 0.0, 0.0, 0.0)
SMALL = 200_000
"""Entries of M from which on compiled loops pay for their import."""
ONE_TILE = 2**14
"""Entries of a tile of NumPy, which stays in cache; up to it BLAS has no use for threads either."""
LONG = 2**15
"""Entries of a piece of a row: a longer call of NumPy takes less time for an entry, where little is held."""
FEW = 2**13
"""Entries of M up to which a product takes less time than the Gram matrices that save it."""
ALONE = 2**17
"""Entries of M below which a second thread costs more than it brings."""
WORK = 10**6
"""Multiplications of a product up to which BLAS takes its factors as they lie."""
PIECE = 1024
"""Rows of the factors that are worked on at a time."""
LEAST = 2**12
"""Entries of a tile, whatever the rank: a call costs something too."""
KEPT = 2**20
"""Entries of a row of tiles, where it is kept."""


def run(M: "LocalMatrix", request: PassRequest) -> PassResult:
    """The pass over the whole of M."""
    m, n = M.shape
    if _is_small(M, request):
        return _by_numpy(M, request)
    with one_blas_thread():
        factors = _factors(request, M.dtype)
        if M.by_entries(request.loss):
            job: Any = sampled.job(M, request, factors)
        else:
            sizes = tiling(n, request.V.shape[0], M.dtype, kept=request.update is not None)
            job = _Job(M, request, _walks(M, request.loss, request.curvature), sizes, factors)
        threads = 1 if m * n < ALONE else M.threads

        def over(rows: slice) -> PassResult:
            (residual, error, of_W, distance, value), right = job.over(rows)
            summed = float(residual), float(error), float(of_W), float(distance), float(value)
            return PassResult(*summed, right if len(right) else None, *grams(request, rows))

        parts = spread(over, split(slice(0, m), threads))
    result: PassResult = job.whole(reduce(PassResult.plus, parts))
    return result


def _is_small(M: "LocalMatrix", request: PassRequest) -> bool:
    """Whether M is small or one dense row, in memory, with one loss for all columns that NumPy computes fast.

    A small sparse M is dense for it, where its zeros are data that a pass has to visit.
    """
    m, n = M.shape
    few = (m * n < SMALL and n <= LONG) or (m == 1 and request.update is None and M.resident)
    if not few or not M.in_double:
        return False
    loss = request.loss
    return loss.single is not None and loss.has_arrays and not M.by_entries(loss)


def _by_numpy(M: "LocalMatrix", request: PassRequest) -> PassResult:
    """The pass over a small M by tiles of whole rows, or over one row of any length: three products of NumPy for each.

    Where the gradient lags behind W, a fourth product takes less time than Gram matrices do if M has few entries.
    """
    (m, n), V, V_bar, left = M.shape, request.V, request.V_bar, request.left
    if n > LONG:
        return _by_pieces(M, request)
    lags = request.lags
    by_product = lags and m * n <= FEW
    total, right = NOTHING, None
    for rows, given in M.small_tiles:
        U, U_bar = request.U[rows], None if request.U_bar is None else request.U_bar[rows]
        S, slope, sums = _residual(request, U, V, U_bar, V_bar, given, by_product or request.distance)
        slope = slope if by_product and slope is not None else S
        if left is not None and V_bar is not None:
            on_left = np.matmul(slope, V_bar.T, out=left[rows])
            if request.update is not None:
                U_bar = request.update(rows, on_left)
        if U_bar is not None:
            right = slope.T @ U_bar if right is None else right + slope.T @ U_bar
        total = sums if total is NOTHING else _added(total, sums)
    return PassResult(*total, right, *(grams(request, slice(0, m)) if lags and not by_product else ()))


def _by_pieces(M: "LocalMatrix", request: PassRequest) -> PassResult:
    """The pass over one row of M."""
    n, U, U_bar, V_bar, left = M.shape[1], request.U, request.U_bar, request.V_bar, request.left
    right = None if U_bar is None else np.empty((n, len(request.V)))
    total = NOTHING
    if left is not None:
        left[...] = 0.0
    for block in split(slice(0, n), -(-n // LONG)):
        place = slice(None), block
        there = None if V_bar is None else V_bar[place]
        S, _, sums = _residual(request, U, request.V[place], U_bar, there, M.whole.part(place), request.distance)
        total = _added(total, sums)
        if left is not None and there is not None:
            left += S @ there.T
        if U_bar is not None and right is not None:
            _product(S.T, U_bar, out=right[block])
    return PassResult(*total, right, *grams(request, slice(0, 1)))


def _added(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3], one[4] + other[4]


def _residual(
    request: PassRequest, U: Array, V: Array, U_bar: Array | None, V_bar: Array | None, given: Tile, gap: bool
) -> tuple[Array, Array | None, Sums]:
    """S on some entries, with a ``gap`` also c(ŪV̄ − W), and the sums."""
    loss, c = request.loss.single, request.curvature
    if loss is None:
        raise RuntimeError("A small pass has one loss.")
    S, distance = _product(U, V), 0.0
    slope = _product(U_bar, V_bar) - S if gap and U_bar is not None and V_bar is not None else None
    residual, error, of_W, value = loss.residual(S, given, c)
    if slope is not None:
        slope *= c
        slope += S  # c(X̄ − W) = c(X̄ − X) + S
        distance = float(np.vdot(slope, slope)) if request.distance else 0.0
    return S, slope, (residual, error, of_W, distance, value)


def _product(A: Array, B: Array, out: Array | None = None) -> Array:
    """AB; where there is nothing to sum up NumPy is three times as fast without BLAS."""
    product: Array = np.multiply(A, B, out=out) if A.shape[1] == 1 else np.matmul(A, B, out=out)
    return product


def _walks(M: "LocalMatrix", loss: ColumnLosses, curvature: float) -> Walks:
    """Compiled, or those of NumPy where M is small and they are as fast."""
    weighted = M.weights is not None
    if (M.shape[0] * M.shape[1] < SMALL and loss.has_arrays) or not wanted():
        rest = {"upper": M.upper is not None, "weights": weighted, "complete": not M.missing}
        return numpy_walks.walks(loss, curvature, sparse=M.source is None, **rest)
    from bregopt_lowrank.passes import compiled_walks

    indices = (M.starts.dtype, M.columns.dtype) if M.source is None else None
    return compiled_walks.walks(loss, curvature, M.dtype, indices, weighted=weighted, missing=M.missing > 0)


@final
@frozen(eq=False)
class _Job:
    """A pass, its factors in the precision of M."""

    M: "LocalMatrix"
    request: PassRequest
    walks: Walks
    tiling: Tiling
    factors: Factors

    def over(self, span: slice) -> tuple[Array, Array]:
        """The sums and SᵀŪ over some rows."""
        request, tiling, n, rank = self.request, self.tiling, self.M.shape[1], self.request.V.shape[0]
        workspace = _workspace(tiling, n, rank, self.M.dtype, gap=request.distance)
        right = np.zeros((0 if request.U_bar is None and request.update is None else n, rank))
        totals = Accumulators(np.empty((0, rank)) if request.left is None else request.left, right, np.zeros(5))
        for held, part in _held(self.M, span):
            if request.update is None or request.left is None:
                self.walks.visit(*held, part.start, part.stop, tiling, self.factors, totals, workspace)
                continue
            for top in range(part.start, part.stop, tiling.height):
                rows = slice(top, min(top + tiling.height, part.stop))
                self.walks.visit(*held, rows.start, rows.stop, tiling, self.factors, totals, workspace)
                U = np.ascontiguousarray(request.update(rows, request.left[rows]), dtype=self.M.dtype)
                self.walks.add_right(read_only(U), tiling, right, workspace)
        return totals.sums, right

    def whole(self, result: PassResult) -> PassResult:
        """Nothing is to be added to the sums over all rows."""
        return result


def _factors(request: PassRequest, dtype: Any) -> Factors:
    """In the precision of M, and by rows."""

    def ready(X: Array | None) -> Array:
        there = np.empty((0, rank), dtype) if X is None else np.ascontiguousarray(X, dtype=dtype)
        return np.asarray(read_only(there))

    rank = request.V.shape[0]
    VT = ready(request.V.T)
    VT_bar = VT if request.V_bar is request.V else ready(None if request.V_bar is None else request.V_bar.T)
    return Factors(ready(request.U), VT, ready(request.U_bar), VT_bar, request.curvature)


def tiling(columns: int, rank: int, dtype: Any, *, kept: bool) -> Tiling:
    """Tiles some three times as wide as high, and lower where a row of them is ``kept``."""
    entries = max(LEAST, WORK // rank)
    height = max(1, min(math.isqrt(entries // 3), KEPT // columns if kept else entries))
    width = -(-columns // -(-columns // (entries // height)))
    return Tiling(height if kept else entries // width, width, kept, few_share(rank, np.dtype(dtype).itemsize))


def few_share(rank: int, itemsize: int) -> float:
    """``Tiling.few``.

    Products over non-zeros take some 0.3 + (9 + r/4)·share ns an entry, those of the whole tile 0.011·r for each byte
    of a number.
    """
    return max(0.0, 0.7 * (0.011 * itemsize * rank - 0.3) / (9.0 + 0.25 * rank))


def _workspace(tiling: Tiling, columns: int, rank: int, dtype: Any, *, gap: bool) -> Workspace:
    """The arrays for an M of so many columns; with a ``gap`` where the distance is asked for."""
    height, width = tiling.height, tiling.width
    entries = height * width
    return Workspace(
        S=np.empty(height * columns if tiling.kept else entries, dtype),
        gap=np.empty(entries if gap else 0, dtype),
        left_part=np.empty(height * rank, dtype),
        right_part=np.empty(width * rank, dtype),
        counts=np.empty(-(-columns // width), np.int64),
        positions=np.empty(height, np.int64),
    )


def _held(M: "LocalMatrix", span: slice) -> Iterator[tuple[tuple[Any, ...], slice]]:
    """The arrays of M for some rows, and which; what is not in memory is read ahead, part by part."""
    if M.source is None:
        yield (read_only(M.starts), read_only(M.columns), *_all_three(M.values, M.upper, M.weights)), span
    elif M.resident:
        yield (*_all_three(M.source, M.upper, M.weights), 0), span
    else:
        parts = M.parts(span)
        upcoming = reader().submit(M.read, parts[0])
        for k, part in enumerate(parts):
            read = upcoming.result()
            if k + 1 < len(parts):
                upcoming = reader().submit(M.read, parts[k + 1])
            yield (*_all_three(read.M, read.upper, read.weights), part.start), part


def _all_three(M: Array, upper: Array | None, weights: Array | None) -> tuple[Array, Array, Array]:
    """What is not there is M again: nobody reads it."""
    return read_only(M), read_only(M if upper is None else upper), read_only(M if weights is None else weights)


def grams(request: PassRequest, span: slice) -> tuple[Array | None, Array | None]:
    """Where the gradient lags behind W ŪᵀŪ and Ūᵀ(Ū − U), and c(X̄ − X)V̄ᵀ is added to S V̄ᵀ."""
    V, V_bar, c = request.V, request.V_bar, request.curvature
    if not request.lags or request.U_bar is None or V_bar is None or request.left is None:
        return None, None
    on_dU, on_U = V_bar @ V_bar.T, (V_bar - V) @ V_bar.T
    if c != 1:
        on_dU, on_U = c * on_dU, c * on_U
    bar: Any = 0.0
    cross: Any = 0.0
    for rows in split(span, -(-(span.stop - span.start) // PIECE)):
        U, U_bar, left = request.U[rows], request.U_bar[rows], request.left[rows]
        dU = U_bar - U
        left += dU @ on_dU  # X̄ − X = dU V̄ + U dV
        left += U @ on_U
        bar = bar + U_bar.T @ U_bar
        cross = cross + U_bar.T @ dU
    return bar, cross
