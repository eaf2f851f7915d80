"""The logarithmic penalty."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, EntryPenalty, validate
from bregopt_regularizers.concave import ConcavePenalty


@final
@frozen
class Log(ConcavePenalty):
    """``H(X) = η Σ log(1 + |x_ij|/ε)``. Beyond steps of ε²/η the prox jumps; at a tie it is zero."""

    eps: float = field(default=1.0, validator=validate.number(above=0))

    @property
    def weak_convexity(self) -> float:
        return self.eta / self.eps**2

    def phi(self, r: Array) -> Array:
        return np.asarray(np.log1p(r / self.eps))

    def slope(self) -> float:
        return 1.0 / self.eps

    def flattening(self, r: Array) -> Array:
        return np.asarray(r / (self.eps + r))

    def loss(self, r: Array, tau: Array) -> Array:
        """By the quadratic (z − r)(z + ε) + τ = 0."""
        y, q = r + self.eps, 2.0 * np.sqrt(tau)
        return np.asarray(2.0 * tau / (y + np.sqrt(np.maximum(y - q, 0.0)) * np.sqrt(y + q)))

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.eps))


def _value(x: float, p: Any) -> float:
    return float(p[0] * math.log1p(abs(x) / p[1]))


def _prox(x: float, step: float, p: Any) -> float:
    """``ConcavePenalty.prox`` with ``Log.loss``."""
    r, eps, tau = abs(x), p[1], p[0] * step
    y, q = r + eps, 2.0 * math.sqrt(tau)
    z = max(r - 2.0 * tau / (y + math.sqrt(max(y - q, 0.0)) * math.sqrt(y + q)), 0.0)
    return math.copysign(z, x) if tau * math.log1p(z / eps) < z * (r - 0.5 * z) else 0.0
