"""The exponential penalty."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, EntryPenalty, validate
from bregopt_regularizers.concave import ConcavePenalty


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
class Exp(ConcavePenalty):
    """``H(X) = η Σ (1 − exp(−θ|x_ij|))``. Beyond steps of 1/(ηθ²) the prox jumps; at a tie it is zero."""

    theta: float = field(default=1.0, validator=validate.number(above=0))

    @property
    def weak_convexity(self) -> float:
        return self.eta * self.theta**2

    def phi(self, r: Array) -> Array:
        return np.asarray(-np.expm1(-self.theta * r))

    def slope(self) -> float:
        return self.theta

    def flattening(self, r: Array) -> Array:
        return self.phi(r)

    def loss(self, r: Array, tau: Array) -> Array:
        """d with θd·exp(−θd) = τθ²·exp(−θr)."""
        return lower_root(tau * self.theta**2 * np.exp(-self.theta * r)) / self.theta

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.theta))


def _value(x: float, p: Any) -> float:
    return float(-p[0] * math.expm1(-p[1] * abs(x)))


def _prox(x: float, step: float, p: Any) -> float:
    """``ConcavePenalty.prox`` with ``Exp.loss``."""
    r, theta, tau = abs(x), p[1], p[0] * step
    k = min(tau * theta * theta * math.exp(-theta * r), 0.36787944117144233)  # 1/e
    w = max(k, 1.0 - math.sqrt(max(2.0 - 2.0 * math.e * k, 0.0)))
    for _ in range(5):
        w = min(w - (w - k * math.exp(w)) / max(1.0 - w, 1.5e-8), 1.0)
    z = max(r - w / theta, 0.0)
    return math.copysign(z, x) if -tau * math.expm1(-theta * z) < z * (r - 0.5 * z) else 0.0
