"""The walk over some rows of a pass, compiled: tiles of X = UV, their residual in place, and products with it.

It calls BLAS itself, so that a thread holds the interpreter only between walks.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np
from attrs import frozen

SWITCH = "BREGOPT_COMPILE"
"""Set to 0 to run on NumPy alone."""


def wanted() -> bool:
    return os.environ.get(SWITCH, "1") != "0"


class Cut(NamedTuple):
    """How a walk goes: tiles of this size; whether those of a row are kept; below which share non-zeros are few."""

    height: int
    width: int
    kept: bool
    limit: float


class Factors(NamedTuple):
    """What X, S V̄ᵀ and SᵀŪ are made of, in one precision; what is not asked for has no rows."""

    U: Any
    VT: Any
    U_bar: Any
    VT_bar: Any


class Sums(NamedTuple):
    """What a walk adds up: SᵀŪ, no rows where it is not asked for; its rows of S V̄ᵀ; figures."""

    left: Any
    right: Any
    figures: Any
    """‖S‖², ‖M − max(0, X)‖², ‖min(0, X)‖² off the support of M, ‖ŪV̄ − W‖²"""


class Room(NamedTuple):
    """Where a thread works: a tile of S, or the tiles of a row where they are kept, and what is made of one."""

    S: Any
    gap: Any
    """a tile of X̄ − X, empty where the distance is not asked for"""
    tall: Any
    wide: Any
    counts: Any
    """non-zeros of each tile of a row"""
    place: Any
    """where each row of a sparse M is at"""


@final
@frozen
class Loops:
    """The walks; M is dense, from row ``shift`` on, or CSR."""

    dense: Callable[..., Any]
    """(M, shift, a, b, cut, factors, sums, room)"""
    sparse: Callable[..., Any]
    """(starts, columns, values, a, b, cut, factors, sums, room)"""
    renewed: Callable[..., Any]
    """(U, cut, right, room): right += SᵀU, for a row of tiles that was kept"""


@cache
def loops() -> Loops:
    """Compiled at the first use, kept on disk where that is possible; they run without the GIL."""
    from bregopt_relu import walk_loops

    return Loops(walk_loops.dense, walk_loops.sparse, walk_loops.renewed)


def few(rank: int, itemsize: int) -> float:
    """The share of non-zeros below which products over them alone are the faster ones.

    They take some 0.3 + (9 + r/4)·share ns an entry, those of the whole tile 0.011·r for each byte of a number.
    """
    return max(0.0, 0.7 * (0.011 * itemsize * rank - 0.3) / (9.0 + 0.25 * rank))


def room(cut: Cut, columns: int, rank: int, dtype: Any, *, gap: bool) -> Room:
    """Room for tiles of a row of so many columns."""
    height, width = cut.height, cut.width
    entries = height * width
    return Room(
        S=np.empty(height * columns if cut.kept else entries, dtype),
        gap=np.empty(entries if gap else 0, dtype),
        tall=np.empty(height * rank, dtype),
        wide=np.empty(width * rank, dtype),
        counts=np.empty(-(-columns // width), np.int64),
        place=np.empty(height, np.int64),
    )
