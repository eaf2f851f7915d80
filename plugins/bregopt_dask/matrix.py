"""M on a cluster: factors go to the workers, each visits its rows, and the sums come back."""

import operator
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import (
    ColumnLosses,
    EntrywiseLoss,
    Matrix,
    PassRequest,
    PassResult,
    Tile,
    norm_by_passes,
    subspace,
)

from bregopt import Array
from bregopt_dask.row_block import Common, Facts, Pair, RowBlock, joined
from bregopt_dask.workers import Workers


@final
@frozen(eq=False, slots=False)
class Distributed(Matrix):
    """M, m×n, by blocks of rows on the workers of a cluster."""

    companions: tuple[str, ...]
    """what an entry has beside its number: ``upper``, ``weights``"""
    workers: Workers = field(repr=False, metadata={"unsaved": True})
    blocks: tuple[Facts, ...] = field(repr=False, metadata={"unsaved": True})
    row_wise_updates: ClassVar[bool] = False

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """The first row of each block, and m."""
        return tuple(accumulate((block.rows for block in self.blocks), initial=0))

    @property
    def plain(self) -> bool:
        return self._complete and not self.companions

    @cached_property
    def _complete(self) -> bool:
        """Whether no entry is missing, and none is left out of a block as if it were."""
        return not self.missing and not any(block.sampled for block in self.blocks)

    def share(self, loss: ColumnLosses, rank: int) -> float:
        m, n = self.shape
        return sum(block.visited(n, rank, square=loss.square) for block in self.blocks) / (m * n)

    @cached_property
    def spectral(self) -> float:
        return norm_by_passes(self, self._gram)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        return subspace(self._gram, self._image, self.shape[1], rank)

    def tiles(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(self.edges)]

    def read(self, rows: slice) -> Tile:
        """The rows from the blocks that hold them, in the precision of the products."""
        parts = []
        for index, tile in enumerate(self.tiles()):
            first, last = max(rows.start, tile.start), min(rows.stop, tile.stop)
            if first < last:
                part = self.workers.do(self._part, index, slice(first - tile.start, last - tile.start))
                parts.append(part.read(slice(0, last - first)))
        return joined(parts, complete=self._complete)

    def unfit(self, loss: ColumnLosses) -> tuple[EntrywiseLoss, float] | None:
        def all_of_them() -> list[Any]:
            (sent,) = self.workers.send(loss)
            return self.workers.gather(self.workers.each(RowBlock.unfit, loss=sent))

        found = next((it for it in self.workers.do(all_of_them) if it is not None), None)
        return None if found is None else (loss.losses[found[0]], found[1])

    def run_pass(self, request: PassRequest) -> PassResult:
        return self.workers.do(self._sums if request.left is None else self._visit, request)

    def _sent(self, request: PassRequest) -> tuple[Any, list[Any]]:
        """The columns of V and V̄ with the loss for all, and to each block its rows of U and Ū."""
        rows = [Pair.of(request.U, request.U_bar, tile) for tile in self.tiles()]
        columns = Pair.of(request.V, request.V_bar)
        common = Common(columns, request.loss, request.curvature, request.distance, self._complete)
        sent, *parts = self.workers.send(common, *rows)
        return sent, parts

    def _sums(self, request: PassRequest) -> PassResult:
        common, rows = self._sent(request)
        results = self.workers.each(RowBlock.sums, rows, common=common)
        result: PassResult = self.workers.total(PassResult.plus, results).result()
        return result

    def _visit(self, request: PassRequest) -> PassResult:
        common, rows = self._sent(request)
        visits = self.workers.each(RowBlock.visit, rows, common=common)
        results, lefts = (self.workers.then(operator.itemgetter(k), visits) for k in (0, 1))  # S V̄ᵀ is not to travel
        result: PassResult
        result, *parts = self.workers.gather([self.workers.total(PassResult.plus, results), *lefts])
        if request.left is not None:
            np.concatenate(parts, out=request.left)
        return result

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
