"""The simplex, in each column, in each row or in the whole block."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.lines import PER, block, by_row, lines
from bregopt_regularizers.precision import floating, slack


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
class Simplex(Regularizer):
    """``H(X) = 0 if x ≥ 0 and Σx = radius for every column x of X (or row, or in all), else ∞``."""

    radius: float = field(default=1.0, validator=validate.number(above=0))
    per: str = field(default="column", validator=PER)
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.CONVEX | by_row(self.per)

    def value(self, X: Array) -> float:
        rows = lines(X, self.per, "Simplex")
        rounding = slack(X) * self.radius
        off = np.abs(rows.sum(axis=1, dtype=np.float64) - self.radius)
        return 0.0 if np.min(rows, initial=0.0) >= -rounding and np.all(off <= rounding) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        nearest = onto_simplex(lines(X, self.per, "Simplex"), float(self.radius))
        return block(nearest, X, self.per).astype(floating(X), copy=False)
