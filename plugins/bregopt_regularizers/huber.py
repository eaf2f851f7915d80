"""The Huber function."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, EntryPenalty, Regularizer, Trait, validate
from bregopt_regularizers.precision import match


@final
@frozen
class Huber(Regularizer):
    """``H(X) = η Σ h(x_ij)``, h(x) = x²/2 for |x| ≤ δ and δ(|x| − δ/2) beyond."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    delta: float = field(default=1.0, validator=validate.number(above=0))
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        size = np.abs(X)
        near = np.minimum(size, float(self.delta))
        return float(self.eta) * float((near * (size - 0.5 * near)).sum())

    def prox(self, X: Array, step: float) -> Array:
        t = match(step * self.eta, X)
        size = np.abs(X)
        # the larger of the two branches is the right one: they meet at |x| = δ(1 + t)
        return np.copysign(np.maximum(size / (1.0 + t), size - t * float(self.delta)), X)

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta, self.delta))


def _value(x: float, p: Any) -> float:
    near = min(abs(x), p[1])
    return float(p[0] * near * (abs(x) - 0.5 * near))


def _prox(x: float, step: float, p: Any) -> float:
    t, size = step * p[0], abs(x)
    return math.copysign(max(size / (1.0 + t), size - t * p[1]), x)
