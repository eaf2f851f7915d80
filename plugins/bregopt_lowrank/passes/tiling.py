"""How a pass goes over M: the tiles, the arrays that a walk over some rows works with, and what a walk is."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

WORK = 10**6
"""Multiplications of a product up to which BLAS takes its factors as they lie."""
LEAST = 2**12
"""Entries of a tile, whatever the rank: a call costs something too."""
KEPT = 2**20
"""Entries of a row of tiles, where it is kept."""


class Tiling(NamedTuple):
    """Tiles so small that a product with one needs no copies of its factors; the last of a row may be smaller."""

    height: int
    width: int
    kept: bool
    """whether the tiles of a row are kept until the next row"""
    few: float
    """the share of non-zeros of S below which products over them alone are the faster ones"""


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


def split(whole: slice, count: int) -> list[slice]:
    """A range in so many parts, each as long as the others."""
    first, size = whole.start, whole.stop - whole.start
    count = max(1, min(count, size))
    return [slice(first + size * k // count, first + size * (k + 1) // count) for k in range(count)]


class Factors(NamedTuple):
    """What X, S V̄ᵀ and SᵀŪ are made of, in one precision; what is not asked for has no rows."""

    U: Any
    VT: Any
    U_bar: Any
    VT_bar: Any


class Accumulators(NamedTuple):
    """What a walk adds up."""

    left: Any
    """its rows of S V̄ᵀ; no rows where that is not asked for"""
    right: Any
    """SᵀŪ; no rows where that is not asked for"""
    sums: Any
    """those of ``TileSums``, and ‖ŪV̄ − W‖²"""


class Workspace(NamedTuple):
    """The arrays of one thread."""

    S: Any
    """a tile of S, or the tiles of a row where they are kept"""
    gap: Any
    """a tile of X̄ − X, empty where the distance is not asked for"""
    left_part: Any
    """S V̄ᵀ of a tile"""
    right_part: Any
    """SᵀŪ of a tile; also spare room for a loss"""
    counts: Any
    """non-zeros of S in each tile of a row"""
    positions: Any
    """where in each row of a sparse M the next tile begins"""

    @classmethod
    def of(cls, tiling: Tiling, columns: int, rank: int, dtype: Any, *, gap: bool) -> "Workspace":
        """For an M of so many columns; with a ``gap`` where the distance is asked for."""
        height, width = tiling.height, tiling.width
        entries = height * width
        return cls(
            S=np.empty(height * columns if tiling.kept else entries, dtype),
            gap=np.empty(entries if gap else 0, dtype),
            left_part=np.empty(height * rank, dtype),
            right_part=np.empty(width * rank, dtype),
            counts=np.empty(-(-columns // width), np.int64),
            positions=np.empty(height, np.int64),
        )


class Walks(NamedTuple):
    """How the rows of an M of one kind are visited, for one loss."""

    visit: Callable[..., Any]
    """``(*held, a, b, tiling, factors, totals, workspace)``: fills ``totals`` from rows a to b − 1.

    ``held`` is (M, shift), an array whose first row is row ``shift``, or (starts, columns, values) of a CSR M.
    """
    add_right: Callable[..., Any]
    """``(U, tiling, right, workspace)``: right += SᵀU, for a row of tiles that was kept"""
