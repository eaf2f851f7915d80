"""The simplex, in each column, in each row or in the whole block."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Trait
from bregopt_regularizers.per_line import PER, LineConstraint, and_by_row
from bregopt_regularizers.precision import floating


def onto_simplex(rows: Array, radius: float) -> Array:
    """The nearest point of ``{x ≥ 0, Σx = radius}`` to each row, by sorting, in double precision."""
    # only differences within a row matter; below the largest entry nothing cancels, however large the row
    below = rows.astype(np.float64) - rows.max(axis=1, keepdims=True)
    falling = -np.sort(-below, axis=1)
    excess = np.cumsum(falling, axis=1) - radius
    count = np.arange(1, rows.shape[1] + 1)
    kept = np.count_nonzero(falling * count > excess, axis=1, keepdims=True)
    threshold = np.take_along_axis(excess, kept - 1, axis=1) / kept
    nearest: Array = np.maximum(below - threshold, 0.0)
    nearest *= radius / nearest.sum(axis=1, keepdims=True)  # the rounding of cumsum grows with the length
    return nearest


@final
@frozen
class Simplex(LineConstraint):
    """``H(X) = 0 if x ≥ 0 and Σx = radius for every column x of X (or row, or in all), else ∞``."""

    per: str = field(default="column", validator=PER)
    traits: Trait = field(default=and_by_row(Trait.CONVEX), init=False, repr=False, eq=False)  # set after per

    def contains(self, rows: Array, rounding: float) -> bool:
        allowed = rounding * self.radius
        off = np.abs(rows.sum(axis=1, dtype=np.float64) - self.radius)
        return bool(np.min(rows, initial=0.0) >= -allowed and np.all(off <= allowed))

    def project(self, rows: Array) -> Array:
        return onto_simplex(rows, float(self.radius)).astype(floating(rows), copy=False)
