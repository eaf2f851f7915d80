"""The lp quasi-norm to its power p, for the two powers with a closed-form proximal map."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, EntryPenalty, Regularizer, Trait, validate
from bregopt_regularizers.precision import floating

POWERS = {"1/2": 1 / 2, "2/3": 2 / 3}


def power(p: Any) -> Any:
    """``"1/2"`` and ``"2/3"`` as numbers; anything else as it is."""
    return POWERS.get(p, p) if isinstance(p, str) else p


@final
@frozen
class Lp(Regularizer):
    """``H(X) = η Σ |x_ij|^p`` with p = 1/2 or 2/3.

    The prox is zero up to (2−p)/(2−2p) times z₀ = (2(1−p)·step·η)^(1/(2−p)), the tie included; there it jumps to z₀.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    p: float = field(default=0.5, converter=power, validator=validate.one_of(*POWERS.values()))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return self.eta * float((np.abs(X) ** self.p).sum())

    def prox(self, X: Array, step: float) -> Array:
        p, size = self.p, np.abs(X)
        z0 = (2.0 * (1.0 - p) * self.eta * np.asarray(step, dtype=floating(X))) ** (1.0 / (2.0 - p))
        kept = ~(size <= (2.0 - p) / (2.0 - 2.0 * p) * z0)
        w = np.divide(z0, size, out=np.zeros(X.shape, floating(X)), where=kept)
        ratio = half(w) if p == 0.5 else two_thirds(w)
        return np.asarray(np.where(kept, X * np.minimum(ratio, 1.0), 0.0), dtype=floating(X))

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.p))


def half(w: Array) -> Array:
    """z/x for the largest root of z − x + z₀^(3/2) z^(−1/2)/2 = 0, w = z₀/x ≤ 2/3: a cubic in √z."""
    ratio: Array = 2 / 3 * (1.0 + np.cos(2 / 3 * (math.pi - np.arccos((3.0 * w) ** 1.5 / 4.0))))
    return ratio


def two_thirds(w: Array) -> Array:
    """z/x for the largest root of z − x + z₀^(4/3) z^(−1/3) = 0, w = z₀/x ≤ 1/2: s⁴ − s/w + 1 = 0, z = z₀s³."""
    w = np.maximum(w, 1e-13)  # below, z = x in double precision
    y = 4.0 / 3.0**0.5 * np.cosh(np.arccosh(3.0 * 3.0**0.5 / 16.0 / (w * w)) / 3.0)  # y³ − 4y = 1/w²
    root = np.sqrt(y)
    ratio: Array = w * ((root + np.sqrt(2.0 / (w * root) - y)) / 2.0) ** 3
    return ratio


def _value(x: float, p: Any) -> float:
    return float(p[0] * abs(x) ** p[1])


def _prox(x: float, step: float, p: Any) -> float:
    """``Lp.prox`` with ``half`` or ``two_thirds``."""
    power, size = p[1], abs(x)
    z0 = (2.0 * (1.0 - power) * p[0] * step) ** (1.0 / (2.0 - power))
    if size <= (2.0 - power) / (2.0 - 2.0 * power) * z0:
        return 0.0
    w = z0 / size
    if power == 0.5:
        ratio = 2.0 / 3.0 * (1.0 + math.cos(2.0 / 3.0 * (math.pi - math.acos(min((3.0 * w) ** 1.5 / 4.0, 1.0)))))
    else:
        w = max(w, 1e-13)
        y = 4.0 / math.sqrt(3.0) * math.cosh(math.acosh(max(3.0 * math.sqrt(3.0) / 16.0 / (w * w), 1.0)) / 3.0)
        root = math.sqrt(y)
        ratio = w * ((root + math.sqrt(max(2.0 / (w * root) - y, 0.0))) / 2.0) ** 3
    return float(x * min(ratio, 1.0))
