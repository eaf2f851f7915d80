"""The one pass of an iteration: walks over the rows of M in several threads, and what the factors alone bring to it."""

import math
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt.compiled import wanted
from bregopt_lowrank.matrices.matrix import PassRequest, PassResult
from bregopt_lowrank.passes import numpy_walks
from bregopt_lowrank.passes.threads import one_blas_thread, reader, split, spread
from bregopt_lowrank.passes.tiling import Accumulators, Factors, Tiling, Walks, Workspace
from bregopt_lowrank.tile_loss import TileLoss

if TYPE_CHECKING:
    from bregopt_lowrank.matrices.local import LocalMatrix

SMALL = 200_000
"""Entries of M from which on compiled loops pay for their import."""
ALONE = 2**17
"""Entries of M below which a second thread costs more than it brings."""
PIECE = 1024
"""Rows of the factors that are worked on at a time."""
WORK = 10**6
"""Multiplications of a product up to which BLAS takes its factors as they lie."""
LEAST = 2**12
"""Entries of a tile, whatever the rank: a call costs something too."""
KEPT = 2**20
"""Entries of a row of tiles, where it is kept."""


def run(M: "LocalMatrix", request: PassRequest) -> PassResult:
    """The pass over the whole of M."""
    m, n = M.shape
    walks = _walks(M, request.loss)
    with one_blas_thread():
        job = _Job.of(M, request, walks)
        results = spread(job.over, split(slice(0, m), 1 if m * n < ALONE else M.threads))
    return reduce(PassResult.plus, results)


def _walks(M: "LocalMatrix", loss: TileLoss) -> Walks:
    """Compiled, or those of NumPy where M is small."""
    if M.shape[0] * M.shape[1] < SMALL or not wanted():
        return numpy_walks.walks(loss, sparse=M.source is None)
    from bregopt_lowrank.passes import compiled_walks

    return compiled_walks.walks(loss.loops, M.dtype, (M.starts.dtype, M.columns.dtype) if M.source is None else None)


@final
@frozen(eq=False)
class _Job:
    """A pass, its factors in the precision of M."""

    M: "LocalMatrix"
    request: PassRequest
    walks: Walks
    tiling: Tiling
    factors: Factors

    @classmethod
    def of(cls, M: "LocalMatrix", request: PassRequest, walks: Walks) -> "_Job":
        def ready(X: Array | None) -> Array:
            there = np.empty((0, rank), M.dtype) if X is None else np.ascontiguousarray(X, dtype=M.dtype)
            return np.asarray(read_only(there))

        rank = request.V.shape[0]
        VT = ready(request.V.T)
        VT_bar = VT if request.V_bar is request.V else ready(None if request.V_bar is None else request.V_bar.T)
        factors = Factors(ready(request.U), VT, ready(request.U_bar), VT_bar)
        return cls(M, request, walks, tiling(M.shape[1], rank, M.dtype, kept=request.update is not None), factors)

    def over(self, span: slice) -> PassResult:
        """The pass over some rows."""
        request, tiling, n, rank = self.request, self.tiling, self.M.shape[1], self.request.V.shape[0]
        workspace = _workspace(tiling, n, rank, self.M.dtype, gap=request.distance)
        right = np.zeros((0 if request.U_bar is None and request.update is None else n, rank))
        totals = Accumulators(np.empty((0, rank)) if request.left is None else request.left, right, np.zeros(4))
        for held, part in _held(self.M, span):
            if request.update is None or request.left is None:
                self.walks.visit(*held, part.start, part.stop, tiling, self.factors, totals, workspace)
                continue
            for top in range(part.start, part.stop, tiling.height):
                rows = slice(top, min(top + tiling.height, part.stop))
                self.walks.visit(*held, rows.start, rows.stop, tiling, self.factors, totals, workspace)
                U = np.ascontiguousarray(request.update(rows, request.left[rows]), dtype=self.M.dtype)
                self.walks.add_right(read_only(U), tiling, right, workspace)
        residual, error, of_W, distance = totals.sums.tolist()
        return PassResult(residual, error, of_W, distance, right if len(right) else None, *_grams(request, span))


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
        yield (read_only(M.starts), read_only(M.columns), read_only(M.values)), span
    elif M.resident:
        yield (read_only(M.source), 0), span
    else:
        parts = M.parts(span)
        upcoming = reader().submit(M.read, parts[0])
        for k, part in enumerate(parts):
            read = upcoming.result()
            if k + 1 < len(parts):
                upcoming = reader().submit(M.read, parts[k + 1])
            yield (read_only(read), part.start), part


def read_only(X: Any) -> Any:
    """A view of the array to be read only, whoever owns it: each kind of array has a compiled loop of its own."""
    view = X.view()
    view.flags.writeable = False
    return view


def _grams(request: PassRequest, span: slice) -> tuple[Array, Array | None, Array | None]:
    """UᵀU; where the gradient lags behind W also ŪᵀŪ and Ūᵀ(Ū − U), and (X̄ − X)V̄ᵀ is added to S V̄ᵀ."""
    V, V_bar = request.V, request.V_bar
    if request.U_bar is None or request.U_bar is request.U or V_bar is None or request.left is None:
        return request.U[span].T @ request.U[span], None, None
    on_dU, on_U = V_bar @ V_bar.T, (V_bar - V) @ V_bar.T
    plain, bar, cross = (np.zeros_like(on_U) for _ in range(3))
    for rows in split(span, -(-(span.stop - span.start) // PIECE)):
        U, U_bar, left = request.U[rows], request.U_bar[rows], request.left[rows]
        dU = U_bar - U
        left += dU @ on_dU  # X̄ − X = dU V̄ + U dV
        left += U @ on_U
        plain += U.T @ U
        bar += U_bar.T @ U_bar
        cross += U_bar.T @ dU
    return plain, bar, cross
