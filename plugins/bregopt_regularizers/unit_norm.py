"""Columns or rows of Euclidean norm one."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Regularizer, Trait
from bregopt_regularizers.precision import slack
from bregopt_regularizers.rank_ball import matrix


@final
@frozen
class UnitColumns(Regularizer):
    """``H(X) = 0 if every column has ‖x_j‖ = 1, else ∞``. The prox takes a zero column to the first unit vector."""

    traits = Trait.CONSTANT_NORM

    def value(self, X: Array) -> float:
        return defect(matrix(X, "UnitColumns"))

    def prox(self, X: Array, step: float) -> Array:
        return normalized(matrix(X, "UnitColumns"))


@final
@frozen
class UnitRows(Regularizer):
    """``H(X) = 0 if every row has ‖x_i‖ = 1, else ∞``. The prox takes a zero row to the first unit vector."""

    traits = Trait.CONSTANT_NORM | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return defect(matrix(X, "UnitRows").T)

    def prox(self, X: Array, step: float) -> Array:
        return normalized(matrix(X, "UnitRows").T).T


def defect(X: Array) -> float:
    """0 if the columns have norm one but for rounding, else ∞."""
    worst = np.max(np.abs(np.linalg.norm(X, axis=0) - 1.0), initial=0.0)
    return 0.0 if worst <= slack(X) else math.inf


def normalized(X: Array) -> Array:
    """Each column over its norm; the first unit vector for a zero column."""
    peak = np.max(np.abs(X), axis=0, keepdims=True)
    Z = X / np.where(peak > 0, peak, 1.0)  # the norm of huge or tiny entries would leave the range
    Z[:1] += peak == 0
    Z /= np.linalg.norm(Z, axis=0, keepdims=True)
    return Z
