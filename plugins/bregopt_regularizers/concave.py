"""Concave penalties of the entries' sizes."""

from abc import abstractmethod
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, Regularizer, Trait, validate
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.precision import floating


@frozen
class ConcavePenalty(Regularizer):
    """``H(X) = η Σ φ(|x_ij|)`` for a smooth concave φ with φ(0) = 0.

    The prox is zero or the larger root z of ``z + τφ'(z) = |x|``, τ = step·η, whichever is better; at a tie it is zero.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @abstractmethod
    def phi(self, r: Array) -> Array:
        """``φ(r)`` for r ≥ 0."""

    @abstractmethod
    def loss(self, r: Array, tau: Array) -> Array:
        """``r − z`` for the larger root z of z + τφ'(z) = r; any number where there is none: zero is better then."""

    @abstractmethod
    def slope(self) -> float:
        """``φ'(0)``."""

    @abstractmethod
    def flattening(self, r: Array) -> Array:
        """``1 − φ'(r)/φ'(0)`` for r ≥ 0, without cancellation."""

    @final
    def value(self, X: Array) -> float:
        return self.eta * float(self.phi(np.abs(X)).sum())

    @final
    def prox(self, X: Array, step: float) -> Array:
        r, tau = np.abs(X), self.eta * np.asarray(step, dtype=floating(X))
        z = np.maximum(r - self.loss(r, tau), 0.0)
        better = tau * self.phi(z) < z * (r - 0.5 * z)  # than zero: τφ(z) + (z − r)²/2 < r²/2
        return np.asarray(np.where(better | np.isnan(r), np.copysign(z, X), 0.0), dtype=floating(X))

    @final
    def convex_parts(self) -> ConvexParts:
        """``r₁ = ηφ'(0) Σ|x|``, and r₂ is what the slope of φ loses from there on."""
        weight = float(self.eta * self.slope())
        return ConvexParts(L1(weight), lambda X: np.copysign(weight * self.flattening(np.abs(X)), X))
