"""What a walk over some rows of M is, and what it works with: the tiles, the factors, the sums and the arrays.

The classes stay in the module of this name: loops that numba keeps on disk name them by it, and it fails to read a loop
whose classes are gone, even one that is out of date.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Tiling(NamedTuple):
    """Tiles so small that a product with one needs no copies of its factors; the last of a row may be smaller."""

    height: int
    width: int
    kept: bool
    """whether the tiles of a row are kept until the next row"""
    few: float
    """the share of non-zeros of S below which products over them alone are the faster ones"""


class Factors(NamedTuple):
    """What X, S V̄ᵀ and SᵀŪ are made of, in one precision; what is not asked for has no rows."""

    U: Any
    VT: Any
    U_bar: Any
    VT_bar: Any
    curvature: float
    """c, with W = X − S/c"""


class Accumulators(NamedTuple):
    """What a walk adds up."""

    left: Any
    """its rows of S V̄ᵀ; no rows where that is not asked for"""
    right: Any
    """SᵀŪ; no rows where that is not asked for"""
    sums: Any
    """‖S‖², the error, what is to tell ‖W‖, ‖c(ŪV̄ − W)‖² and the value"""


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


class Walks(NamedTuple):
    """How the rows of an M of one kind are visited, for one loss."""

    visit: Callable[..., Any]
    """``(*held, a, b, tiling, factors, totals, workspace)``: fills ``totals`` from rows a to b − 1.

    ``held`` is (M, upper, weights, shift), arrays whose first row is row ``shift``, or (starts, columns, values, upper,
    weights) of a CSR M; what is not there is an array without meaning.
    """
    add_right: Callable[..., Any]
    """``(U, tiling, right, workspace)``: right += SᵀU, for a row of tiles that was kept"""
