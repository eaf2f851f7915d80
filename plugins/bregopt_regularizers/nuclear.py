"""The nuclear norm."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.precision import floating
from bregopt_regularizers.rank_ball import matrix


@final
@frozen
class Nuclear(Regularizer):
    """``H(X) = η Σ σ_i(X)``, the sum of the singular values."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.CONVEX | Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        return float(self.eta) * float(np.linalg.svd(matrix(X, "Nuclear"), compute_uv=False).sum())

    def prox(self, X: Array, step: float) -> Array:
        U, sigma, Vt = np.linalg.svd(matrix(X, "Nuclear"), full_matrices=False)
        left = np.maximum(sigma - float(step * self.eta), 0.0)
        rank = np.count_nonzero(left)
        return np.asarray((U[:, :rank] * left[:rank]) @ Vt[:rank], dtype=floating(X))
