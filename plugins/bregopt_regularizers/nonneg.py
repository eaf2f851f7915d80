"""The non-negative orthant."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait

TOLERANCE = 1e-12
"""Entries above −TOLERANCE·max|X| count as non-negative."""


@final
@frozen
class NonNegative(Regularizer):
    """``H(X) = 0 if X ≥ 0, else ∞``."""

    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.HOMOGENEOUS | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        worst = float(np.min(X, initial=0.0))
        return 0.0 if worst >= -TOLERANCE * float(np.max(X, initial=0.0)) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        return np.maximum(X, 0.0)

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty(low=0.0)
