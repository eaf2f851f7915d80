"""The smoothly clipped absolute deviation."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, EntryPenalty, Regularizer, Trait, validate
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.precision import floating


@final
@frozen
class SCAD(Regularizer):
    """``H(X) = Σ h(|x_ij|), h(0) = 0, h'(r) = η up to η, (aη − r)/(a−1) up to aη, 0 beyond``.

    From steps of a−1 on the prox jumps from soft thresholding to x, at |x|/η = the mean of step and a+1, from steps of
    a+1 on their geometric mean; at the jump it is the smaller one.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    a: float = field(default=3.7, validator=validate.number(above=2))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @property
    def weak_convexity(self) -> float:
        return 1.0 / (self.a - 1.0)

    def value(self, X: Array) -> float:
        size = np.abs(X)
        bent = np.clip(size, self.eta, self.a * self.eta) - self.eta
        rise = np.minimum(size, self.eta) * self.eta + bent * (self.eta - bent / (2.0 * (self.a - 1.0)))
        return float(rise.sum())

    def prox(self, X: Array, step: float) -> Array:
        t, size, b = np.asarray(step, dtype=floating(X)), np.abs(X), self.a - 1.0
        shrunk = soft(size, t * self.eta)
        slope = np.where(t < b, (b - t) / b, 1.0)
        bent = np.maximum(shrunk, (size - t * (self.a * self.eta / b)) / slope)
        jump = self.eta * np.where(t < b + 2.0, (b + 2.0 + t) / 2.0, np.sqrt((b + 2.0) * t))
        size = np.where(t < b, np.minimum(bent, size), np.where(size <= jump, shrunk, size))
        return np.asarray(np.copysign(size, X), dtype=floating(X))

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.a))

    def convex_parts(self) -> ConvexParts:
        """``r₁ = η Σ|x|``, and r₂ has the slope (|x| − η)/(a−1) between η and aη."""
        return ConvexParts(L1(self.eta), lambda X: np.clip(soft(X, self.eta) / (self.a - 1.0), -self.eta, self.eta))


def _value(x: float, p: Any) -> float:
    eta, a, size = p[0], p[1], abs(x)
    bent = min(max(size, eta), a * eta) - eta
    return float(min(size, eta) * eta + bent * (eta - bent / (2.0 * (a - 1.0))))


def _prox(x: float, step: float, p: Any) -> float:
    eta, a, size = p[0], p[1], abs(x)
    b, shrunk = a - 1.0, max(size - step * eta, 0.0)
    if step < b:
        bent = max(shrunk, (size - step * (a * eta / b)) * b / (b - step))
        return math.copysign(min(bent, size), x)
    jump = eta * ((b + 2.0 + step) / 2.0 if step < b + 2.0 else math.sqrt((b + 2.0) * step))
    return math.copysign(shrunk, x) if size <= jump else x
