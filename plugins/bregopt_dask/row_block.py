"""What runs on a worker: some rows of M, and the part of a pass that is over them."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from attrs import evolve, frozen
from bregopt_lowrank import (
    ColumnLosses,
    Given,
    LocalMatrix,
    PassRequest,
    PassResult,
    Tile,
    gram,
    image,
    local_matrix,
)

from bregopt import Array
from bregopt.errors import DataError


@final
@frozen(eq=False)
class Pair:
    """A factor with its extrapolated twin, or some rows of both: X̄ is missing, X itself, or another matrix."""

    X: Array
    X_bar: Array | None

    @classmethod
    def of(cls, X: Array, X_bar: Array | None, rows: slice = slice(None)) -> "Pair":
        """These rows; pickled together, an X̄ that is X stays X."""
        part = X[rows]
        return cls(part, part if X_bar is X else None if X_bar is None else X_bar[rows])


@final
@frozen(eq=False)
class Common:
    """What a pass brings to every block."""

    columns: Pair
    """V and V̄"""
    loss: ColumnLosses
    curvature: float
    distance: bool
    complete: bool
    """whether no entry of the whole M is missing: a loss may then sum up W in another way, in all blocks alike"""


@final
@frozen(eq=False)
class Facts:
    """What is to be known of a block where it is not."""

    dtype: np.dtype[Any]
    """of the products"""
    frobenius: float
    nonzeros: int
    lowest: float
    """the smallest entry, or 0"""
    missing: int
    most: float
    """the largest weight"""
    rows: int
    stored: int | None
    """how many entries are stored, if the rows are sparse"""
    sampled: bool
    """whether the others are missing"""

    def visited(self, columns: int, rank: int, *, square: bool) -> int:
        """The entries that a product is over, with what the Gram matrices cost where zeros are a ``square`` loss."""
        if self.stored is None or not (self.sampled or square):
            return self.rows * columns
        return self.stored + (0 if self.sampled else (self.rows + columns) * rank)


@final
@frozen(eq=False)
class RowBlock:
    """Some rows of M; its methods are the tasks."""

    data: LocalMatrix

    def __sizeof__(self) -> int:
        """Bytes of the rows: dask then takes the factors to them, and not them to the factors."""
        data = self.data
        held = (data.source, data.values, data.columns, data.starts, data.upper, data.weights)
        return sum(getattr(array, "nbytes", 0) for array in held)

    def facts(self) -> Facts:
        data = self.data
        numbers = (data.frobenius, data.nonzeros, data.lowest, data.missing, data.most)
        return Facts(data.dtype, *numbers, data.shape[0], self._stored, data.sampled)

    @property
    def _stored(self) -> int | None:
        return len(self.data.values) if self.data.source is None else None

    def unfit(self, loss: ColumnLosses) -> tuple[int, float] | None:
        """The number of a loss, and an entry that it has no use for."""
        found = self.data.unfit(loss)
        if found is None:
            return None
        return next(k for k, part in enumerate(loss.losses) if part is found[0]), found[1]

    def visit(self, rows: Pair, common: Common) -> tuple[PassResult, Array]:
        """The pass, and its rows of S V̄ᵀ."""
        left = np.empty(rows.X.shape)
        return self._pass(rows, common, V_bar=common.columns.X_bar, left=left, distance=common.distance), left

    def sums(self, rows: Pair, common: Common) -> PassResult:
        """The pass without a V̄."""
        return self._pass(rows, common)

    def _pass(self, rows: Pair, common: Common, **wanted: Any) -> PassResult:
        data = self.data if common.complete or self.data.missing else evolve(self.data, missing=1)  # of the whole M
        V = common.columns.X
        return data.run_pass(PassRequest(common.loss, common.curvature, rows.X, V, rows.X_bar, **wanted))

    def gram(self, Z: Array) -> Array:
        """MᵀMZ."""
        if self._stored is None:
            return gram(self.data, Z)
        M = self.data.filled()
        return np.asarray(M.T @ (M @ Z))

    def image(self, Z: Array) -> Array:
        """MZ."""
        return image(self.data, Z) if self._stored is None else np.asarray(self.data.filled() @ Z)

    def part(self, rows: slice) -> LocalMatrix:
        """Some of the rows, dense or CSR as they are held, to be read elsewhere."""
        data, shape = self.data, (rows.stop - rows.start, self.data.shape[1])
        if data.source is not None:
            upper, weights = (None if it is None else it[rows] for it in (data.upper, data.weights))
            return evolve(data, shape=shape, source=data.source[rows], upper=upper, weights=weights)
        starts = data.starts[rows.start : rows.stop + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        upper, weights = (None if it is None else it[inside] for it in (data.upper, data.weights))
        stored = evolve(data, shape=shape, values=data.values[inside], columns=data.columns[inside])
        return evolve(stored, starts=starts - starts[0], upper=upper, weights=weights)


def joined(parts: Sequence[Tile], *, complete: bool) -> Tile:
    """Rows from several blocks."""

    def all_of(arrays: Sequence[Array | None]) -> Array | None:
        there = [array for array in arrays if array is not None]
        return np.concatenate(there) if there else None

    M = np.concatenate([part.M for part in parts])
    return Tile(M, all_of([part.upper for part in parts]), all_of([part.weights for part in parts]), complete)


def hold(chunk: Any, shape: tuple[int, int], threads: int, missing: str | None, **companions: Any) -> RowBlock:
    """A chunk as rows of M, with the same rows of its mask, its weights and ``upper``: finite, and of any size."""
    for name, array in {"M": chunk, **companions}.items():
        found = getattr(array, "shape", shape)
        if found != shape:
            raise DataError(
                f"A chunk of {name} must have the shape {shape} that the dask array says. Got {found} instead."
            )
    return RowBlock(local_matrix(Given(chunk, **companions, missing=missing, part=True), threads=threads))
