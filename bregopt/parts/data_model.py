"""What the blocks say about the data, such as max(0, UV) about M: in words, and as numbers, some rows at a time."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import DataError

TILE_ENTRIES = 2**18
"""Entries that are made at a time."""
POOR = 0.5
"""The relative error from which on nothing is said to be reproduced."""
SMALLEST = 1e-3
"""The per cent below which a share is written as a power of ten."""


class DataModel(ABC):
    """What the blocks say about the data: ``result.reconstruct()`` and the first sentence of a summary are made of it.

    A ``SmoothPart`` offers it by ``data_model``. As an attrs class of numbers, arrays and such it is saved with a
    result.
    """

    @property
    @abstractmethod
    def formula(self) -> str:
        """As it is written on paper: ``max(0, UV)``."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of the data."""

    @abstractmethod
    def rows(self, Y: Blocks, rows: slice) -> Array:
        """Some rows of the data as Y has them; the slice has a start, a stop and no step."""

    def answer(self, metrics: Mapping[str, float]) -> str:
        """How well Y explains the data, as a sentence without its full stop; empty where no metric tells."""
        error = metrics.get("relative_error", math.nan)
        return self.reproduces("the data", error) if math.isfinite(error) else ""

    @final
    def reproduces(self, data: str, error: float) -> str:
        """The sentence for a relative error; a large one is no success."""
        told = f"reproduces {data} to" if error < POOR else f"misses {data} by"
        return f"{self.formula} {told} {percent(error)}"


def percent(share: float) -> str:
    """A share as people say it: ``0.007 %``, ``14 %``."""
    value = 100.0 * share
    if not math.isfinite(value) or value == 0:
        return f"{value:g} %"
    if abs(value) < SMALLEST:
        return f"{value:.0e} %"
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


@final
@frozen(eq=False)
class Reconstruction:
    """The data as a result says they are. ``.rows(slice)`` makes some rows; ``np.asarray`` makes all of them."""

    model: DataModel
    Y: Blocks = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[np.float64]:
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, rows: slice) -> Array:
        """Some rows, dense."""
        start, stop, step = rows.indices(len(self))
        if step < 0:
            raise DataError(f"Rows are taken from the first to the last. Got the slice {rows!r}.")
        return self.model.rows(self.Y, slice(start, max(start, stop)))[::step]

    def __getitem__(self, key: Any) -> Array:
        """``X[3]``, ``X[10:20]``, ``X[10:20, :5]``: only these rows are made."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, (int, np.integer)):
            if not -len(self) <= first < len(self):
                raise IndexError(f"There is no row {first}: there are {len(self)}.")
            row = int(first) % len(self)
            return np.asarray(self.rows(slice(row, row + 1))[(0, *rest)])
        if isinstance(first, slice):
            return np.asarray(self.rows(first)[(slice(None), *rest)])
        return np.asarray(self.toarray()[key])

    def toarray(self) -> Array:
        """All rows, as a dense array."""
        whole = np.empty(self.shape)
        size = max(1, TILE_ENTRIES // max(1, math.prod(self.shape[1:])))
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            whole[rows] = self.model.rows(self.Y, rows)
        return whole

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.toarray() if dtype is None else self.toarray().astype(dtype)

    def __repr__(self) -> str:
        return f"Reconstruction({self.model.formula}, {'×'.join(map(str, self.shape))})"
