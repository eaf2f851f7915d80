"""The l1 norm."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate


def soft(X: Array, threshold: float | Array) -> Array:
    """Soft thresholding: ``sign(x)·max(|x| − threshold, 0)``, with one temporary."""
    shrunk = np.clip(X, -threshold, threshold)
    return np.subtract(X, shrunk, out=shrunk)


@final
@frozen
class L1(Regularizer):
    """``H(X) = η Σ |x_ij|``."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        return self.eta * float(np.abs(X).sum())

    def prox(self, X: Array, step: float) -> Array:
        return soft(X, step * self.eta)
