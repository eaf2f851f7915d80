"""The logarithmic penalty."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, validate
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
