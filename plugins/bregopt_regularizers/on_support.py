"""The matrices with a given support."""

import math
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, Trait


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
