"""The logarithmic penalty."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.precision import floating


def or_zero(X: Array, size: Array, cost: Array) -> Array:
    """x at the given size where cost + (size − |x|)²/2 < |x|²/2, else zero: the better of the two, zero at a tie."""
    best = np.where(cost >= size * (np.abs(X) - 0.5 * size), 0.0, np.copysign(size, X))
    return np.asarray(best, dtype=floating(X))


@final
@frozen
class Log(Regularizer):
    """``H(X) = η Σ log(1 + |x_ij|/ε)``. Beyond steps of ε²/η the prox jumps; at a tie it is zero."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    eps: float = field(default=1.0, validator=validate.number(above=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @property
    def weak_convexity(self) -> float:
        return self.eta / self.eps**2

    def value(self, X: Array) -> float:
        return self.eta * float(np.log1p(np.abs(X) / self.eps).sum())

    def prox(self, X: Array, step: float) -> Array:
        tau = self.eta * np.asarray(step, dtype=floating(X))
        y, q = np.abs(X) + self.eps, 2.0 * np.sqrt(tau)
        # the larger root of (z − |x|)(z + ε) + τ = 0, as |x| less what it loses; without a root zero wins below
        loss = 2.0 * tau / (y + np.sqrt(np.maximum(y - q, 0.0)) * np.sqrt(y + q))
        size = np.maximum(np.abs(X) - loss, 0.0)
        return or_zero(X, size, tau * np.log1p(size / self.eps))
