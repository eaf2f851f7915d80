"""The one pass of an iteration: row tiles of X = UV over threads, their residual in place, and products with it."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_relu.compiled import Loops, loops, wanted
from bregopt_relu.matrix import Answer, Ask
from bregopt_relu.plain import PLAIN, square
from bregopt_relu.threads import one_blas_thread, reader, spread

if TYPE_CHECKING:
    from bregopt_relu.data import Data

SMALL = 2**16
"""Entries of M from which on compiled loops pay for their import."""
ALONE = 2**17
"""Entries of M below which a second thread costs more than it brings."""
FEW = {8: 0.06, 4: 0.03}
"""Density of a residual below which products over its non-zeros are the faster ones, by the size of a number."""


def run(M: "Data", ask: Ask) -> Answer:
    """The pass over the whole of M."""
    size = M.shape[0] * M.shape[1]
    job = _Job.of(M, ask, loops() if wanted() and size >= SMALL else PLAIN)
    tiles, workers = M.tiles(), 1 if size < ALONE else M.threads
    shares = [tiles[len(tiles) * k // workers : len(tiles) * (k + 1) // workers] for k in range(workers)]
    with one_blas_thread():
        answers = spread(job.over, [share for share in shares if share])
    return reduce(Answer.plus, answers)


@final
@frozen(eq=False)
class _Job:
    """A pass, its factors in the precision of M; V̄ᵀ by rows, as the products over non-zeros want it."""

    M: "Data"
    ask: Ask
    loops: Loops
    U: Array
    V: Array
    U_bar: Array | None
    VT_bar: Array | None

    @classmethod
    def of(cls, M: "Data", ask: Ask, chosen: Loops) -> "_Job":
        def ready(X: Array) -> Array:
            return np.ascontiguousarray(X, dtype=M.dtype)

        U_bar = None if ask.U_bar is None else ready(ask.U_bar)
        VT_bar = None if ask.V_bar is None else ready(ask.V_bar.T)
        return cls(M, ask, chosen, ready(ask.U), ready(ask.V), U_bar, VT_bar)

    def over(self, tiles: Sequence[slice]) -> Answer:
        """The pass over some row tiles."""
        M, ask = self.M, self.ask
        height = max(rows.stop - rows.start for rows in tiles)
        blocks = M.column_blocks(whole=ask.update is not None)
        width = max(block.stop - block.start for block in blocks)
        room = _Room(self.loops, height, width, self.V.shape[0], M.dtype)
        right = None if self.U_bar is None and ask.update is None else np.zeros((M.shape[1], self.V.shape[0]))
        grams = _Grams(ask)
        residual = error = below = distance = 0.0
        for rows, sweep in _read(M, self.loops, tiles, width):
            U, U_bar = self.U[rows], None if self.U_bar is None else self.U_bar[rows]
            left = None if ask.left is None else ask.left[rows]
            for block in blocks:
                X = np.matmul(U, self.V[:, block], out=room.tile(U, block))
                gap = None
                if ask.distance and U_bar is not None and self.VT_bar is not None:
                    gap = U_bar @ self.VT_bar[block].T
                    gap -= X
                sums = sweep(X, block.start)
                residual, error, below = residual + sums[0], error + sums[1], below + sums[2]
                if gap is not None:
                    gap += X  # X̄ − W = (X̄ − X) + (X − W)
                    distance += square(gap)
                if left is not None or U_bar is not None:
                    room.note(X, sums[3])
                if left is not None and self.VT_bar is not None:
                    room.left(X, self.VT_bar[block], left, fresh=block.start == 0)
                    if ask.update is not None:
                        U_bar = np.ascontiguousarray(ask.update(rows, left), dtype=M.dtype)
                if right is not None and U_bar is not None:
                    room.right(X, U_bar, right[block])
            grams.add(rows, left)
        return Answer(residual, error, below, distance, right, grams.plain, grams.bar, grams.cross)


@final
class _Grams:
    """What a pass needs of the factors alone: Gram matrices, and (X̄ − X)V̄ᵀ where the gradient lags behind W."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.plain = np.zeros((ask.V.shape[0], ask.V.shape[0]))
        self.bar: Array | None = None
        self.cross: Array | None = None
        if ask.lags and ask.V_bar is not None:
            self.bar, self.cross = np.zeros_like(self.plain), np.zeros_like(self.plain)
            self._turns = (ask.V_bar @ ask.V_bar.T, (ask.V_bar - ask.V) @ ask.V_bar.T)

    def add(self, rows: slice, left: Array | None) -> None:
        U = self._ask.U[rows]
        self.plain += U.T @ U
        if self.bar is not None and self.cross is not None and self._ask.U_bar is not None and left is not None:
            U_bar = self._ask.U_bar[rows]
            dU = U_bar - U
            left += dU @ self._turns[0]  # X̄ − X = dU V̄ + U dV
            left += U @ self._turns[1]
            self.bar += U_bar.T @ U_bar
            self.cross += U_bar.T @ dU


@final
class _Room:
    """The room of one thread: a tile, and its two products, whole or over its few non-zeros."""

    def __init__(self, chosen: Loops, height: int, width: int, rank: int, dtype: np.dtype[Any]) -> None:
        self._loops, self._limit, self._few = chosen, FEW[dtype.itemsize], False
        self._tile = np.empty(height * width, dtype)
        self._columns = np.empty(int(self._limit * height * width) + 1, np.int32)
        self._ends = np.empty(height, np.int64)
        self._tall = np.empty((height, rank), dtype)
        self._wide = np.empty((width, rank), dtype)

    def tile(self, U: Array, block: slice) -> Array:
        """Room for these rows and columns."""
        shape = U.shape[0], block.stop - block.start
        return self._tile[: shape[0] * shape[1]].reshape(shape)

    def note(self, S: Array, count: int) -> None:
        """List the non-zeros of S if there are few."""
        self._few = self._loops.compress is not None and count < self._limit * S.size
        if self._few and self._loops.compress is not None:
            self._loops.compress(S, self._columns, self._ends)

    def left(self, S: Array, VT: Array, out: Array, fresh: bool) -> None:
        """out = S·VT, or out += S·VT after the first block of columns."""
        if self._few and self._loops.pull is not None:
            if fresh:
                out[...] = 0.0
            self._loops.pull(S, self._columns, self._ends, VT, out)
        elif fresh and S.dtype == out.dtype:
            np.matmul(S, VT, out=out)
        elif fresh:
            out[...] = np.matmul(S, VT, out=self._tall[: S.shape[0]])
        else:
            out += np.matmul(S, VT, out=self._tall[: S.shape[0]])

    def right(self, S: Array, U: Array, out: Array) -> None:
        """out += Sᵀ·U."""
        if self._few and self._loops.push is not None:
            self._loops.push(S, self._columns, self._ends, U, out)
        else:
            out += np.matmul(S.T, U, out=self._wide[: S.shape[1]])


def _read(M: "Data", chosen: Loops, tiles: Sequence[slice], width: int) -> Iterator[tuple[slice, Any]]:
    """Each row tile with its sweep ``(X, j) -> sums``; what is not in memory is read one tile ahead."""
    if M.source is None:
        aside = np.empty(width, M.dtype)
        for rows in tiles:
            first, last = M.starts[rows].astype(np.int64), M.starts[rows.start + 1 : rows.stop + 1].astype(np.int64)
            yield (
                rows,
                lambda X, j, first=first, last=last: chosen.sparse(X, j, first, last, M.columns, M.values, aside),
            )
    elif M.resident:
        for rows in tiles:
            yield rows, lambda X, j, i=rows.start: chosen.dense(X, M.source, i, j)
    else:
        upcoming = reader().submit(M.read, tiles[0])
        for k, rows in enumerate(tiles):
            tile = upcoming.result()
            if k + 1 < len(tiles):
                upcoming = reader().submit(M.read, tiles[k + 1])
            yield rows, lambda X, j, tile=tile: chosen.dense(X, tile, 0, j)
