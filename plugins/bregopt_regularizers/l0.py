"""The number of non-zeros, as a penalty."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array, EntryPenalty, Regularizer, Trait, validate


@final
@frozen
class L0(Regularizer):
    """``H(X) = η ‖X‖₀``, the number of non-zeros. At a tie, |x|² = 2·step·η, the prox is zero."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return self.eta * float(np.count_nonzero(X))

    def prox(self, X: Array, step: float) -> Array:
        return np.where(np.abs(X) <= (2.0 * step * self.eta) ** 0.5, 0.0, X)

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta,))

    def piece(self, X: Array) -> Regularizer:
        """The matrices with the support of X."""
        return OnSupport(X != 0)


@final
@frozen(eq=False)
class OnSupport(Regularizer):
    """``H(X) = 0 if x_ij = 0 wherever the mask is False, else ∞``."""

    mask: NDArray[np.bool_] = field(repr=False)
    traits = Trait.CONVEX | Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        return 0.0 if not np.any(X, where=~self.mask) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        return np.where(self.mask, X, 0.0)


def _value(x: float, p: Any) -> float:
    return float(p[0] if x != 0.0 else 0.0)


def _prox(x: float, step: float, p: Any) -> float:
    return 0.0 if abs(x) <= math.sqrt(2.0 * step * p[0]) else x
