"""M on a cluster: factors go to the workers, each visits its rows, and the sums come back."""

import operator
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import Matrix, PassRequest, PassResult, as_local_matrix, norm_by_passes, subspace

from bregopt import Array
from bregopt_dask.row_block import Pair, RowBlock
from bregopt_dask.workers import Workers


@final
@frozen(eq=False, slots=False)
class Distributed(Matrix):
    """M, m×n, by blocks of rows on the workers of a cluster."""

    workers: Workers = field(repr=False, metadata={"unsaved": True})
    edges: tuple[int, ...] = field(repr=False, metadata={"unsaved": True})
    """the first row of each block, and m"""
    row_wise_updates: ClassVar[bool] = False

    @cached_property
    def spectral(self) -> float:
        return norm_by_passes(self, self._gram)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        return subspace(self._gram, self._image, self.shape[1], rank)

    def tiles(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(self.edges)]

    def read(self, rows: slice) -> Array:
        """The rows from the blocks that hold them, in the precision of the products."""
        X = np.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        for index, tile in enumerate(self.tiles()):
            first, last = max(rows.start, tile.start), min(rows.stop, tile.stop)
            if first < last:
                part = self.workers.do(self._part, index, slice(first - tile.start, last - tile.start))
                X[first - rows.start : last - rows.start] = as_local_matrix(part, part=True).read(
                    slice(0, last - first)
                )
        return X

    def run_pass(self, request: PassRequest) -> PassResult:
        return self.workers.do(self._sums if request.left is None else self._visit, request)

    def _sent(self, request: PassRequest) -> tuple[Any, list[Any]]:
        """The columns of V and V̄ for all, and to each block its rows of U and Ū."""
        rows = [Pair.of(request.U, request.U_bar, tile) for tile in self.tiles()]
        columns, *parts = self.workers.send(Pair.of(request.V, request.V_bar), *rows)
        return columns, parts

    def _sums(self, request: PassRequest) -> PassResult:
        columns, rows = self._sent(request)
        results = self.workers.each(RowBlock.sums, rows, columns=columns, loss=request.loss)
        result: PassResult = self.workers.total(PassResult.plus, results).result()
        return result

    def _visit(self, request: PassRequest) -> PassResult:
        columns, rows = self._sent(request)
        visits = self.workers.each(RowBlock.visit, rows, columns=columns, loss=request.loss, distance=request.distance)
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
