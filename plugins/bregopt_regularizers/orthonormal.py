"""Matrices with orthonormal columns or, if wide, rows."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Regularizer, Trait
from bregopt_regularizers.precision import slack
from bregopt_regularizers.rank_ball import matrix


@final
@frozen
class Orthonormal(Regularizer):
    """``H(X) = 0 if XᵀX = I (XXᵀ = I for a wide X), else ∞``.

    The prox is the polar factor; where X lacks rank it is one of many, completed by the vectors that LAPACK gives.
    """

    traits = Trait.CONSTANT_NORM

    def value(self, X: Array) -> float:
        tall = X if matrix(X, "Orthonormal").shape[0] >= X.shape[1] else X.T
        worst = np.max(np.abs(tall.T @ tall - np.eye(tall.shape[1])), initial=0.0)
        return 0.0 if worst <= slack(X) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        left, _, right = np.linalg.svd(matrix(X, "Orthonormal"), full_matrices=False)
        polar: Array = left @ right
        return polar
