"""Functions of one number: what loops over coordinates take for H."""

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import validate
from bregopt.blocks import Array
from bregopt.errors import parameter


@final
@frozen
class EntryPenalty:
    """h by its value and its proximal map, in arithmetic that numba compiles; ``p`` is the array of the parameters.

    The two functions are the same objects for all h of one form, as they are compiled once.
    """

    value: Callable[[float, Any], float]
    """``(x, p) -> h(x)``, for an x where h is finite"""
    prox: Callable[[float, float, Any], float]
    """``(x, step, p) -> argmin_z h(z) + (z − x)²/(2·step)``"""
    parameters: tuple[float, ...] = ()


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
        Z = X
        if self.l1:
            t = step * self.l1
            Z = X - np.minimum(np.maximum(X, -t), t)
        if self.ridge:
            Z = Z / (1.0 + step * self.ridge)
        if self.low > -math.inf:
            Z = np.maximum(Z, self.low)
        if self.high < math.inf:
            Z = np.minimum(Z, self.high)
        return np.array(X) if Z is X else Z

    def entry(self) -> EntryPenalty:
        """The same for compiled loops."""
        return EntryPenalty(_value, _prox, (self.l1, self.ridge, self.low, self.high))

    def steepest(self, X: Array, G: Array) -> Array:
        """The element of ``G + ∂h(X)`` of least norm, for X within the bounds: 0 where X is stationary."""
        slope = G + self.ridge * X
        at_zero = slope - np.clip(slope, -self.l1, self.l1)
        A = np.where(X == 0, at_zero, slope + self.l1 * np.sign(X))
        A = np.where(self.low >= X, np.minimum(A, 0.0), A)
        return np.where(self.high <= X, np.maximum(A, 0.0), A)


def _value(x: float, p: Any) -> float:
    return float(p[0] * abs(x) + 0.5 * p[1] * x * x)


def _prox(x: float, step: float, p: Any) -> float:
    t = step * p[0]
    return float(min(max((x - min(max(x, -t), t)) / (1.0 + step * p[1]), p[2]), p[3]))
