"""The exponential penalty."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.log import or_zero
from bregopt_regularizers.precision import floating


def lower_root(k: Array) -> Array:
    """The smaller root of w·exp(−w) = k for 0 ≤ k ≤ 1/e, Lambert's −W₀(−k); 1 for larger k.

    Newton's method climbs to it from below; five steps reach rounding for every k.
    """
    k = np.minimum(k, math.exp(-1.0))
    w: Array = np.maximum(k, 1.0 - np.sqrt(np.maximum(2.0 - 2.0 * math.e * k, 0.0)))
    flat = float(np.finfo(k.dtype).eps) ** 0.5  # no nearer to the double root at w = 1 can it be known
    for _ in range(5):
        w = np.minimum(w - (w - k * np.exp(w)) / np.maximum(1.0 - w, flat), 1.0)
    return w


@final
@frozen
class Exp(Regularizer):
    """``H(X) = η Σ (1 − exp(−θ|x_ij|))``. Beyond steps of 1/(ηθ²) the prox jumps; at a tie it is zero."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    theta: float = field(default=1.0, validator=validate.number(above=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @property
    def weak_convexity(self) -> float:
        return self.eta * self.theta**2

    def value(self, X: Array) -> float:
        return -self.eta * float(np.expm1(-self.theta * np.abs(X)).sum())

    def prox(self, X: Array, step: float) -> Array:
        tau = self.eta * np.asarray(step, dtype=floating(X))
        # the loss d = |x| − z of the larger root: θd·exp(−θd) = τθ²·exp(−θ|x|); without a root zero wins below
        loss = lower_root(tau * self.theta**2 * np.exp(-self.theta * np.abs(X))) / self.theta
        size = np.maximum(np.abs(X) - loss, 0.0)
        return or_zero(X, size, -tau * np.expm1(-self.theta * size))
