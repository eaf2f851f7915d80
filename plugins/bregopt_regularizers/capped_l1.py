"""The l1 norm of entries capped from above."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, EntryPenalty, Regularizer, Trait, validate
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.precision import floating


@final
@frozen
class CappedL1(Regularizer):
    """``H(X) = η Σ min(|x_ij|, cap)``.

    The prox jumps from soft thresholding to x, at the mean of 2·cap and step·η, where step·η is the larger one at
    their geometric mean; at the jump it is the smaller one.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    cap: float = field(default=1.0, validator=validate.number(above=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return self.eta * float(np.minimum(np.abs(X), self.cap).sum())

    def prox(self, X: Array, step: float) -> Array:
        tau, twice = self.eta * np.asarray(step, dtype=floating(X)), 2.0 * self.cap
        jump = np.where(tau < twice, (tau + twice) / 2.0, np.sqrt(tau * twice))
        return np.where(np.abs(X) <= jump, soft(X, tau), X)

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.cap))

    def convex_parts(self) -> ConvexParts:
        """``r₂ = η Σ max(|x| − cap, 0)``; where |x| = cap its slope is taken from within."""
        return ConvexParts(L1(self.eta), lambda X: np.where(np.abs(X) > self.cap, np.copysign(self.eta, X), 0.0))


def _value(x: float, p: Any) -> float:
    return float(p[0] * min(abs(x), p[1]))


def _prox(x: float, step: float, p: Any) -> float:
    tau, twice = p[0] * step, 2.0 * p[1]
    jump = (tau + twice) / 2.0 if tau < twice else math.sqrt(tau * twice)
    return math.copysign(max(abs(x) - tau, 0.0), x) if abs(x) <= jump else x
