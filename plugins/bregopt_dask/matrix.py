"""M on a cluster: factors go to the workers, each visits its rows, and the sums come back."""

import operator
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from attrs import field, frozen
from bregopt_relu import Answer, Ask, Matrix, as_data, perron_bound, subspace

from bregopt import Array
from bregopt_dask.row_block import Pair, RowBlock
from bregopt_dask.workers import Workers


@final
@frozen(eq=False, slots=False)
class Distributed(Matrix):
    """M ≥ 0, m×n, by blocks of rows on the workers of a cluster."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    frobenius: float
    nonzeros: int
    workers: Workers = field(repr=False)
    edges: tuple[int, ...] = field(repr=False)
    """the first row of each block, and m"""
    row_wise_updates: ClassVar[bool] = False

    @cached_property
    def spectral(self) -> float:
        return min(perron_bound(self._gram, self.shape[1]), self.frobenius)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        return subspace(self._gram, self._image, self.shape[1], rank)

    def tiles(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(self.edges)]

    def put(self, rows: slice, X: Array) -> None:
        for index, tile in enumerate(self.tiles()):
            first, last = max(rows.start, tile.start), min(rows.stop, tile.stop)
            if first < last:
                part = self.workers.do(self._part, index, slice(first - tile.start, last - tile.start))
                as_data(part, zero=True).put(slice(0, last - first), X[first - rows.start : last - rows.start])

    def ask(self, ask: Ask) -> Answer:
        return self.workers.do(self._sums if ask.left is None else self._visit, ask)

    def _sent(self, ask: Ask) -> tuple[Any, list[Any]]:
        """The columns of V and V̄ for all, and to each block its rows of U and Ū."""
        rows = [Pair.of(ask.U, ask.U_bar, tile) for tile in self.tiles()]
        columns, *parts = self.workers.send(Pair.of(ask.V, ask.V_bar), *rows)
        return columns, parts

    def _sums(self, ask: Ask) -> Answer:
        columns, rows = self._sent(ask)
        answers = self.workers.each(RowBlock.sums, rows, columns=columns)
        answer: Answer = self.workers.total(Answer.plus, answers).result()
        return answer

    def _visit(self, ask: Ask) -> Answer:
        columns, rows = self._sent(ask)
        visits = self.workers.each(RowBlock.visit, rows, columns=columns, distance=ask.distance)
        answers, lefts = (self.workers.then(operator.itemgetter(k), visits) for k in (0, 1))  # S V̄ᵀ is not to travel
        answer: Answer
        answer, *parts = self.workers.gather([self.workers.total(Answer.plus, answers), *lefts])
        if ask.left is not None:
            np.concatenate(parts, out=ask.left)
        return answer

    def _part(self, index: int, rows: slice) -> Any:
        return self.workers.client.submit(RowBlock.part, self.workers.blocks[index], rows, pure=False).result()

    def _gram(self, Z: Array) -> Array:
        """MᵀMZ."""

        def total() -> Array:
            (sent,) = self.workers.send(Z)
            return np.asarray(self.workers.total(operator.add, self.workers.each(RowBlock.gram, Z=sent)).result())

        return self.workers.do(total)

    def _image(self, Z: Array) -> Array:
        """MZ."""

        def parts() -> list[Array]:
            (sent,) = self.workers.send(Z)
            return self.workers.gather(self.workers.each(RowBlock.image, Z=sent))

        return np.concatenate(self.workers.do(parts))
