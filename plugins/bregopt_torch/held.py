"""What a device holds of M: dense tensors, or the stored entries of a CSR matrix, both given out tile by tile."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, final

import numpy as np
import torch
from attrs import field, frozen
from bregopt_lowrank import Tile
from numpy.typing import NDArray

Place = tuple[slice, slice]
"""Rows and columns of a tile."""
ON_CPU = 2**17
"""Entries of a tile that stays in the cache of a processor."""
ON_DEVICE = 2**24
"""Entries of a tile that keeps a device busy; a handful of such tiles is there at a time."""


@frozen(eq=False, slots=False)
class Held(ABC):
    """Numbers of M on a device, with nan for what is missing."""

    shape: tuple[int, int]
    dtype: Any
    """torch's, of the products"""
    device: Any

    @property
    def sums(self) -> Any:
        """The precision of the sums; mps has float32 alone, and there the sums of tiles are added up elsewhere."""
        return torch.float32 if self.device.type == "mps" else torch.float64

    @property
    def entries(self) -> int:
        """Of a tile."""
        return ON_CPU if self.device.type == "cpu" else ON_DEVICE

    @property
    @abstractmethod
    def width(self) -> int:
        """Of the tiles; the last of a row may be smaller."""

    def places(self) -> list[Place]:
        """The tiles, row by row; Python's whole numbers have no largest one."""
        (m, n), width = self.shape, self.width
        height = max(1, self.entries // width)
        rows, columns = (
            [slice(k, min(k + step, end)) for k in range(0, end, step)] for step, end in ((height, m), (width, n))
        )
        return [(i, j) for i in rows for j in columns]

    @abstractmethod
    def tile(self, rows: slice, columns: slice) -> Tile:
        """Some rows and columns as dense tensors, in the precision of the products."""

    @abstractmethod
    def times(self, Z: Any, *, transposed: bool) -> Any:
        """MZ, or MᵀZ, with 0 for what is missing."""


@final
@frozen(eq=False, slots=False)
class Dense(Held):
    """Tensors as they were given: a tile is cast and masked when it is visited."""

    M: Any = field(repr=False)
    mask: Any = field(default=None, repr=False)
    zeros: bool = False
    """whether zeros are missing"""
    upper: Any = field(default=None, repr=False)
    weights: Any = field(default=None, repr=False)

    @property
    def width(self) -> int:
        m, n = self.shape
        return min(n, max(2 * math.isqrt(self.entries), self.entries // m))

    def tile(self, rows: slice, columns: slice) -> Tile:
        M: Any = self.M[rows, columns].to(self.dtype)
        upper, weights = (None if it is None else it[rows, columns].to(self.dtype) for it in (self.upper, self.weights))
        if self.mask is not None:
            M = torch.where(self.mask[rows, columns], M, math.nan)
        if self.zeros:
            M = torch.where(M == 0, math.nan, M)
        return Tile(M, upper, weights)

    def times(self, Z: Any, *, transposed: bool) -> Any:
        out = torch.zeros((self.shape[transposed], Z.shape[1]), dtype=self.sums, device=self.device)
        for rows, columns in self.places():
            M = torch.nan_to_num(self.tile(rows, columns).M, nan=0.0, posinf=math.inf, neginf=-math.inf)
            if transposed:
                out[columns] += M.T @ Z[rows]
            else:
                out[rows] += M @ Z[columns]
        return out


@final
@frozen(eq=False, slots=False)
class Stored(Held):
    """CSR: the entries that are not stored are 0, or missing where they are ``sampled``."""

    values: Any = field(repr=False)
    columns: Any = field(repr=False)
    starts: Any = field(repr=False)
    edges: NDArray[np.int64] = field(repr=False)
    """the starts, on the side of the host"""
    upper: Any = field(default=None, repr=False)
    weights: Any = field(default=None, repr=False)
    sampled: bool = False

    @property
    def width(self) -> int:
        return self.shape[1]

    def inside(self, rows: slice) -> tuple[slice, Any]:
        """Where the stored entries of some rows lie, and the row of each."""
        first, last = int(self.edges[rows.start]), int(self.edges[rows.stop])
        numbers = torch.arange(rows.start, rows.stop, device=self.device)
        counts = self.starts[rows.start : rows.stop + 1].diff()
        return slice(first, last), torch.repeat_interleave(numbers, counts, output_size=last - first)

    def parts(self, rank: int) -> Iterator[slice]:
        """Rows with so many stored entries as a pass of this rank may hold at a time, or a single row."""
        top, (m, _), most = 0, self.shape, max(1, 4 * self.entries // max(rank, 1))
        while top < m:
            end = int(np.searchsorted(self.edges, self.edges[top] + most, side="right")) - 1
            end = min(max(end, top + 1), m)
            yield slice(top, end)
            top = end

    def tile(self, rows: slice, columns: slice) -> Tile:
        """Whole rows."""
        entries, lines = self.inside(rows)
        places = (lines - rows.start) * self.shape[1] + self.columns[entries]
        off = math.nan if self.sampled else 0.0

        def spread(numbers: Any, rest: float) -> Any:
            if numbers is None:
                return None
            size = (rows.stop - rows.start) * self.shape[1]
            whole = torch.full((size,), rest, dtype=self.dtype, device=self.device)
            return whole.index_copy_(0, places, numbers[entries]).view(-1, self.shape[1])

        return Tile(spread(self.values, off), spread(self.upper, off), spread(self.weights, 1.0))

    def times(self, Z: Any, *, transposed: bool) -> Any:
        out = torch.zeros((self.shape[transposed], Z.shape[1]), dtype=self.sums, device=self.device)
        for rows in self.parts(Z.shape[1]):
            entries, lines = self.inside(rows)
            values = torch.nan_to_num(self.values[entries], nan=0.0)
            to, of = (self.columns[entries], lines) if transposed else (lines, self.columns[entries])
            out.index_add_(0, to, (values[:, None] * Z[of]).to(self.sums))
        return out
