"""A convex function of one number, spelt in four numbers: what loops over coordinates take for H."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import validate
from bregopt.blocks import Array
from bregopt.errors import parameter


@final
@frozen
class ScalarPenalty:
    """``h(x) = l1·|x| + (ridge/2)·x² if low ≤ x ≤ high, else ∞``."""

    l1: float = field(default=0.0, validator=validate.number(at_least=0))
    ridge: float = field(default=0.0, validator=validate.number(at_least=0))
    low: float = -math.inf
    high: float = math.inf

    def __attrs_post_init__(self) -> None:
        if not (self.low <= self.high and self.low < math.inf and self.high > -math.inf):
            raise parameter("low", "ScalarPenalty", f"a number <= high={self.high}", self.low)

    @property
    def quadratic(self) -> bool:
        """Whether h is ``(ridge/2)·x²`` alone, so that a quadratic with h is minimised by a linear system."""
        return self.l1 == 0 and self.low == -math.inf and self.high == math.inf

    @property
    def bounded(self) -> bool:
        """Whether h keeps x within bounds."""
        return self.low > -math.inf or self.high < math.inf

    def values(self, X: Array) -> Array:
        """h of each entry, for entries that keep the bounds."""
        return self.l1 * np.abs(X) + (0.5 * self.ridge) * np.square(X)

    def prox(self, X: Array, step: float | Array) -> Array:
        """``argmin_z h(z) + (z − x)²/(2·step)`` for each entry, which may have a step of its own."""
        t = step * self.l1
        return np.clip((X - np.clip(X, -t, t)) / (1.0 + step * self.ridge), self.low, self.high)

    def steepest(self, X: Array, G: Array) -> Array:
        """The element of ``G + ∂h(X)`` of least norm, for X within the bounds: 0 where X is stationary."""
        slope = G + self.ridge * X
        at_zero = slope - np.clip(slope, -self.l1, self.l1)
        A = np.where(X == 0, at_zero, slope + self.l1 * np.sign(X))
        A = np.where(self.low >= X, np.minimum(A, 0.0), A)
        return np.where(self.high <= X, np.maximum(A, 0.0), A)
