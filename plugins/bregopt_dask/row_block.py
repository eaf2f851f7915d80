"""What runs on a worker: some rows of M, and the part of a pass that is over them."""

from typing import Any, final

import numpy as np
from attrs import frozen
from bregopt_lowrank import LocalMatrix, PassRequest, PassResult, TileLoss, as_local_matrix, gram, image

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
class RowBlock:
    """Some rows of M; its methods are the tasks."""

    data: LocalMatrix

    def __sizeof__(self) -> int:
        """Bytes of the rows: dask then takes the factors to them, and not them to the factors."""
        held = (self.data.source, self.data.values, self.data.columns, self.data.starts)
        return sum(getattr(array, "nbytes", 0) for array in held)

    def facts(self) -> tuple[np.dtype[Any], float, int, float]:
        """Of the products the dtype, of the rows ‖·‖_F, the number of non-zeros and the smallest entry, or 0."""
        return self.data.dtype, self.data.frobenius, self.data.nonzeros, self.data.lowest

    def visit(self, rows: Pair, columns: Pair, loss: TileLoss, distance: bool) -> tuple[PassResult, Array]:
        """The pass, and its rows of S V̄ᵀ."""
        left = np.empty(rows.X.shape)
        request = PassRequest(loss, rows.X, columns.X, rows.X_bar, columns.X_bar, left, distance)
        return self.data.run_pass(request), left

    def sums(self, rows: Pair, columns: Pair, loss: TileLoss) -> PassResult:
        """The pass without a V̄."""
        return self.data.run_pass(PassRequest(loss, rows.X, columns.X, rows.X_bar))

    def gram(self, Z: Array) -> Array:
        """MᵀMZ."""
        return gram(self.data, Z)

    def image(self, Z: Array) -> Array:
        """MZ."""
        return image(self.data, Z)

    def part(self, rows: slice) -> Any:
        """Some of the rows, dense or CSR as they are held."""
        return self.data.matrix()[rows]


def hold(chunk: Any, shape: tuple[int, int], threads: int) -> RowBlock:
    """A chunk as rows of M: finite, and of any size."""
    found = getattr(chunk, "shape", shape)
    if found != shape:
        raise DataError(f"A chunk of M must have the shape {shape} that the dask array says. Got {found} instead.")
    return RowBlock(as_local_matrix(chunk, threads=threads, part=True))
