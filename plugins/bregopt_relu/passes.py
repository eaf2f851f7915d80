"""The one pass of an iteration: walks over the rows of M in several threads, and what the factors alone bring to it."""

from collections.abc import Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_relu.compiled import Cut, Factors, Loops, Sums, few, loops, room, wanted
from bregopt_relu.grid import cut, grid
from bregopt_relu.matrix import Answer, Ask
from bregopt_relu.plain import PLAIN
from bregopt_relu.threads import one_blas_thread, reader, spread

if TYPE_CHECKING:
    from bregopt_relu.data import Data

SMALL = 200_000
"""Entries of M from which on compiled loops pay for their import."""
ALONE = 2**17
"""Entries of M below which a second thread costs more than it brings."""
PIECE = 1024
"""Rows of the factors that are worked on at a time."""


def run(M: "Data", ask: Ask) -> Answer:
    """The pass over the whole of M."""
    m, n = M.shape
    chosen = loops() if wanted() and m * n >= SMALL else PLAIN
    with one_blas_thread():
        job = _Job.of(M, ask, chosen)
        answers = spread(job.over, cut(slice(0, m), 1 if m * n < ALONE else M.threads))
    return reduce(Answer.plus, answers)


@final
@frozen(eq=False)
class _Job:
    """A pass, its factors in the precision of M."""

    M: "Data"
    ask: Ask
    loops: Loops
    cut: Cut
    factors: Factors

    @classmethod
    def of(cls, M: "Data", ask: Ask, chosen: Loops) -> "_Job":
        def ready(X: Array | None) -> Array:
            there = np.empty((0, rank), M.dtype) if X is None else np.ascontiguousarray(X, dtype=M.dtype)
            return np.asarray(_given(there))

        rank = ask.V.shape[0]
        VT = ready(ask.V.T)
        VT_bar = VT if ask.V_bar is ask.V else ready(None if ask.V_bar is None else ask.V_bar.T)
        factors = Factors(ready(ask.U), VT, ready(ask.U_bar), VT_bar)
        kept = ask.update is not None
        tile = grid(M.shape[1], rank, kept=kept)
        return cls(M, ask, chosen, Cut(tile.height, tile.width, kept, few(rank, M.dtype.itemsize)), factors)

    def over(self, span: slice) -> Answer:
        """The pass over some rows."""
        ask, n, rank = self.ask, self.M.shape[1], self.ask.V.shape[0]
        place = room(self.cut, n, rank, self.M.dtype, gap=ask.distance)
        right = np.zeros((0 if ask.U_bar is None and ask.update is None else n, rank))
        sums = Sums(np.empty((0, rank)) if ask.left is None else ask.left, right, np.zeros(4))
        for walk, part in _walks(self.M, self.loops, span):
            if ask.update is None or ask.left is None:
                walk(part.start, part.stop, self.cut, self.factors, sums, place)
                continue
            for top in range(part.start, part.stop, self.cut.height):
                rows = slice(top, min(top + self.cut.height, part.stop))
                walk(rows.start, rows.stop, self.cut, self.factors, sums, place)
                U = np.ascontiguousarray(ask.update(rows, ask.left[rows]), dtype=self.M.dtype)
                self.loops.renewed(_given(U), self.cut, right, place)
        residual, error, below, distance = sums.figures.tolist()
        return Answer(residual, error, below, distance, right if len(right) else None, *_grams(ask, span))


def _walks(M: "Data", chosen: Loops, span: slice) -> Iterator[tuple[Any, slice]]:
    """The walk ``(a, b, …)`` for some rows, and which; what is not in memory is read ahead, part by part."""
    if M.source is None:
        yield partial(chosen.sparse, _given(M.starts), _given(M.columns), _given(M.values)), span
    elif M.resident:
        yield partial(chosen.dense, _given(M.source), 0), span
    else:
        parts = M.parts(span)
        upcoming = reader().submit(M.read, parts[0])
        for k, part in enumerate(parts):
            read = upcoming.result()
            if k + 1 < len(parts):
                upcoming = reader().submit(M.read, parts[k + 1])
            yield partial(chosen.dense, _given(read), part.start), part


def _given(X: Any) -> Any:
    """X to be read only, whoever owns it: a loop is compiled anew for each kind of array it meets."""
    view = X.view()
    view.flags.writeable = False
    return view


def _grams(ask: Ask, span: slice) -> tuple[Array, Array | None, Array | None]:
    """UᵀU; where the gradient lags behind W also ŪᵀŪ and Ūᵀ(Ū − U), and (X̄ − X)V̄ᵀ is added to S V̄ᵀ."""
    if not ask.lags or ask.U_bar is None or ask.V_bar is None or ask.left is None:
        return ask.U[span].T @ ask.U[span], None, None
    on_dU, on_U = ask.V_bar @ ask.V_bar.T, (ask.V_bar - ask.V) @ ask.V_bar.T
    plain, bar, cross = (np.zeros_like(on_U) for _ in range(3))
    for rows in cut(span, -(-(span.stop - span.start) // PIECE)):
        U, U_bar, left = ask.U[rows], ask.U_bar[rows], ask.left[rows]
        dU = U_bar - U
        left += dU @ on_dU  # X̄ − X = dU V̄ + U dV
        left += U @ on_U
        plain += U.T @ U
        bar += U_bar.T @ U_bar
        cross += U_bar.T @ dU
    return plain, bar, cross
