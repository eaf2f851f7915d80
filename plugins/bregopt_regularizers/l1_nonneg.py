"""The l1 norm on the non-negative orthant."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, validate
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.precision import match


@final
@frozen
class L1NonNegative(Regularizer):
    """``H(X) = η Σ x_ij if X ≥ 0, else ∞``."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.HOMOGENEOUS | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return float(self.eta) * float(X.sum()) if NonNegative().value(X) == 0 else math.inf

    def prox(self, X: Array, step: float) -> Array:
        moved: Array = X - match(step * self.eta, X)
        return np.maximum(moved, 0.0, out=moved)

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty(l1=self.eta, low=0.0)
