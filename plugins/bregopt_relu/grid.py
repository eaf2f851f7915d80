"""How a pass cuts M: tiles so small that a product with one needs no copies of its factors."""

import math
from typing import final

from attrs import frozen

WORK = 10**6
"""Multiplications of a product up to which BLAS takes its factors as they lie."""
LEAST = 2**12
"""Entries of a tile, whatever the rank: a call costs something too."""
KEPT = 2**20
"""Entries of a row of tiles, where it is kept."""


@final
@frozen
class Grid:
    """Tiles of this size, the last of a row and of a column excepted."""

    height: int
    width: int


def grid(n: int, rank: int, kept: bool) -> Grid:
    """The grid for n columns: tiles some three times as wide as high, and lower where a row of them is ``kept``."""
    entries = max(LEAST, WORK // rank)
    height = max(1, min(math.isqrt(entries // 3), KEPT // n if kept else entries))
    width = -(-n // -(-n // (entries // height)))
    return Grid(height if kept else entries // width, width)


def cut(whole: slice, count: int) -> list[slice]:
    """A range in so many parts, each as long as the others."""
    first, size = whole.start, whole.stop - whole.start
    count = max(1, min(count, size))
    return [slice(first + size * k // count, first + size * (k + 1) // count) for k in range(count)]
