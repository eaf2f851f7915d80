"""The nuclear norm."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt.errors import DataError
from bregopt_regularizers.precision import floating


@final
@frozen
class Nuclear(Regularizer):
    """``H(X) = η Σ σ_i(X)``, the sum of the singular values."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.CONVEX | Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        return float(self.eta) * float(np.linalg.svd(_matrix(X), compute_uv=False).sum())

    def prox(self, X: Array, step: float) -> Array:
        U, sigma, Vt = np.linalg.svd(_matrix(X), full_matrices=False)
        left = np.maximum(sigma - float(step * self.eta), 0.0)
        rank = np.count_nonzero(left)
        return np.asarray((U[:, :rank] * left[:rank]) @ Vt[:rank], dtype=floating(X))


def _matrix(X: Array) -> Array:
    if X.ndim != 2:
        raise DataError(f"The nuclear norm is one of matrices. Got a block of shape {X.shape} instead.")
    return X
