"""Sizes on the command line: ROWSxCOLUMNS:RANK, with a density where the matrix is to be sparse."""

import re
from collections.abc import Callable
from typing import Any, final

import click
from attrs import frozen

PATTERN = re.compile(r"([1-9]\d*)[x×]([1-9]\d*):(\d+)(?::(\d*\.?\d+(?:e-\d+)?))?", re.ASCII)

DTYPES = ("float64", "float32")


@final
@frozen
class Size:
    """An m×n matrix to be decomposed with rank r; one with a density is sparse."""

    m: int
    n: int
    rank: int
    density: float | None = None

    def __str__(self) -> str:
        return f"{self.m}×{self.n}"

    @property
    def spec(self) -> str:
        """As the command line takes it."""
        return f"{self.m}x{self.n}:{self.rank}" + ("" if self.density is None else f":{self.density:g}")


def size_type(density: bool | None = None) -> Callable[[Any], Size]:
    """The type of an option: ``6000x8000:30:0.004``; the density may be left out, must be given, or is refused."""
    form, example = {
        None: ("ROWSxCOLUMNS:RANK[:DENSITY]", "6000x8000:30 or 6000x8000:30:0.004"),
        True: ("ROWSxCOLUMNS:RANK:DENSITY", "6000x8000:30:0.004"),
        False: ("ROWSxCOLUMNS:RANK", "6000x8000:30"),
    }[density]

    def size(value: Any) -> Size:
        if isinstance(value, Size):
            return value
        found = PATTERN.fullmatch(value)
        if not found or density not in (None, found[4] is not None):
            raise click.BadParameter(f"{value!r} is not of the form {form}, as in {example}.")
        m, n, rank = (int(number) for number in found.groups()[:3])
        if not 1 <= rank <= min(m, n):
            raise click.BadParameter(f"{value!r} has rank {rank}; for {m}×{n} it must be from 1 to {min(m, n)}.")
        share = float(found[4]) if found[4] else None
        if share is not None and not 1 <= share * m * n <= m * n:
            raise click.BadParameter(f"{value!r} has the density {found[4]}; it must be from 1/{m * n} to 1.")
        return Size(m, n, rank, share)

    return size


GRID = (
    Size(10000, 784, 45),
    Size(6000, 8000, 30, 0.004),
    Size(2856, 1024, 68),
    Size(1440, 1024, 20),
    Size(1535, 1535, 25, 0.05),
    Size(1500, 500, 12),
)
"""Shapes and ranks of the matrices that ReLU-NMD is tried on: MNIST, a graph, faces and objects."""
