"""How large M and the factors of a start may be, so that nothing a method computes leaves the numbers of its precision.

With ‖M‖_F = s the factors have the size √s, or 1 and s. Methods compute with s⁴, the square of a gradient, in float64,
and with the squares of the entries of UV, s², in the precision of M. The limits leave room for the rounding of these
squares, for sums over many entries, and for factors of unequal size.
"""

import math
import sys
from typing import Any

import numpy as np

from bregopt import Blocks
from bregopt.errors import DataError

MATRIX = {"float64": 160, "float32": 44}
"""k by precision: ‖M‖_F lies between 2^−k and 2^k."""
START = {"float64": 120, "float32": 30}
"""k by precision: the largest entry of U, and that of V, is zero or lies between 2^−k and 2^k."""
APART = 32
"""The largest entries of U and V differ by 2^k at most: rounding a factor of size K√s brings K⁴ε²s² into Φ."""
FARTHEST = {"float64": 1000, "float32": 120}
"""The most powers of two that are advised at once: 2^1000 is a number, and 2^1060 is none."""


def has_norm(largest: float, dtype: np.dtype[Any]) -> bool:
    """Whether numbers of this size can be cast and squared."""
    return _within(largest, 2 * MATRIX[dtype.name])


def check_matrix(norm: float, dtype: np.dtype[Any]) -> None:
    """Refuse an M of this norm where it is too small or too large for the precision, and say what to multiply it by."""
    limit = MATRIX[dtype.name]
    if _within(norm, limit):
        return
    norm = min(norm, sys.float_info.max)
    farthest = FARTHEST[dtype.name if np.finfo(dtype).smallest_subnormal <= norm <= np.finfo(dtype).max else "float64"]
    power = max(-farthest, min(farthest, -2 * (math.frexp(norm)[1] // 2)))
    other = ", or take it in float64" if dtype == np.float32 and _within(norm, MATRIX["float64"]) else ""
    raise DataError(
        f"M is too {_kind(norm)} for {dtype.name}: ‖M‖_F is {norm:.2g}, and it must be {_range(limit)}. "
        f"Multiply M by 2^{power}{other}; U and V are then 2^{power // 2} times as large."
    )


def check_start(Y: Blocks, dtype: np.dtype[Any]) -> None:
    """Refuse the factors of a start whose products would vanish or overflow, or that differ too much in size."""
    largest, limit = {name: float(np.abs(Y[name]).max(initial=0.0)) for name in Y.names}, START[dtype.name]
    for name, size in largest.items():
        if size != 0 and not _within(size, limit):
            raise DataError(
                f"The start is too {_kind(size)} for {dtype.name}: the largest entry of {name} is {size:.2g}, and it "
                f"must be zero or {_range(limit)}. Scale the start, at best to the size √‖M‖_F."
            )
    U, V = largest.get("U", 0.0), largest.get("V", 0.0)
    if U and V and not _within(U / V, APART):
        power = (math.frexp(V)[1] - math.frexp(U)[1]) // 2
        raise DataError(
            f"The factors of the start are too far apart: the largest entries of U and V are {U:.2g} and {V:.2g}, and "
            f"one may be {2.0**APART:.2g} times the other. Multiply U by 2^{power} and V by 2^{-power}: UV stays."
        )


def _within(size: float, limit: int) -> bool:
    return 2.0**-limit <= size <= 2.0**limit


def _kind(size: float) -> str:
    return "small" if size < 1 else "large"


def _range(limit: int) -> str:
    return f"between {2.0**-limit:.2g} and {2.0**limit:.2g}"
