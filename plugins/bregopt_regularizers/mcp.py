"""The minimax concave penalty."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, EntryPenalty, Regularizer, Trait, validate
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.precision import floating


@final
@frozen
class MCP(Regularizer):
    """``H(X) = Σ h(|x_ij|), h(r) = ηr − r²/(2γ) up to r = γη, γη²/2 beyond``.

    Steps below γ give firm thresholding. From γ on the prox jumps from 0 to x at |x| = η√(γ·step), where it is zero.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    gamma: float = field(default=3.0, validator=validate.number(above=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @property
    def weak_convexity(self) -> float:
        return 1.0 / self.gamma

    def value(self, X: Array) -> float:
        size = np.minimum(np.abs(X), self.gamma * self.eta)
        return float((size * (self.eta - size / (2.0 * self.gamma))).sum())

    def prox(self, X: Array, step: float) -> Array:
        t, size = np.asarray(step, dtype=floating(X)), np.abs(X)
        slope = np.where(t < self.gamma, (self.gamma - t) / self.gamma, 1.0)
        firm = np.minimum(soft(size, t * self.eta) / slope, size)
        hard = np.where(size <= self.eta * np.sqrt(self.gamma * t), 0.0, size)
        return np.asarray(np.copysign(np.where(t < self.gamma, firm, hard), X), dtype=floating(X))

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.gamma))

    def convex_parts(self) -> ConvexParts:
        """``r₁ = η Σ|x|``, and r₂ is a Huber function."""
        return ConvexParts(L1(self.eta), lambda X: np.clip(X / self.gamma, -self.eta, self.eta))


def _value(x: float, p: Any) -> float:
    eta, gamma = p[0], p[1]
    size = min(abs(x), gamma * eta)
    return float(size * (eta - size / (2.0 * gamma)))


def _prox(x: float, step: float, p: Any) -> float:
    eta, gamma, size = p[0], p[1], abs(x)
    if step < gamma:
        return math.copysign(min(max(size - step * eta, 0.0) * gamma / (gamma - step), size), x)
    return 0.0 if size <= eta * math.sqrt(gamma * step) else x
