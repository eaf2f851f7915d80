"""Matrices of rank at most k."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt.errors import DataError
from bregopt_regularizers.precision import slack


def matrix(X: Array, owner: str) -> Array:
    """X, if it has two dimensions."""
    if X.ndim != 2:
        raise DataError(f"{owner} needs a block of two dimensions. Got the shape {X.shape} instead.")
    return X


@final
@frozen
class RankBall(Regularizer):
    """``H(X) = 0 if rank X ≤ k, else ∞``.

    The prox is the truncated singular value decomposition; of equal singular values, those that LAPACK puts first.
    """

    k: int = field(default=1, validator=validate.whole(at_least=1))
    traits = Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        if self.k >= min(matrix(X, "RankBall").shape):
            return 0.0
        sigma = np.linalg.svd(X, compute_uv=False)
        return 0.0 if sigma[self.k] <= slack(X) * sigma[0] else math.inf

    def prox(self, X: Array, step: float) -> Array:
        if self.k >= min(matrix(X, "RankBall").shape):
            return X.copy()
        left, sigma, right = np.linalg.svd(X, full_matrices=False)
        nearest: Array = (left[:, : self.k] * sigma[: self.k]) @ right[: self.k]
        return nearest
