"""The l1 norm minus the Frobenius norm."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, Regularizer, Trait, validate
from bregopt_regularizers.l0_ball import keep_largest
from bregopt_regularizers.l1 import L1, soft


@final
@frozen
class L1MinusL2(Regularizer):
    """``H(X) = η (Σ |x_ij| − ‖X‖)``, which is zero where at most one entry is not.

    Where soft thresholding leaves nothing, the prox keeps the largest entry; of equal ones, that which stands first.
    """

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.HOMOGENEOUS

    def value(self, X: Array) -> float:
        sizes = np.abs(X).ravel()
        sums = np.cumsum(sizes, dtype=np.float64)
        both = float(np.sum(sums[-1:])) + float(np.linalg.norm(sizes))
        # (Σ|x|)² − ‖X‖² = 2 Σ_{i<j} |x_i||x_j|: nothing cancels
        return 2.0 * self.eta * float(sizes[1:] @ sums[:-1]) / both if both > 0 else 0.0

    def prox(self, X: Array, step: float) -> Array:
        tau = float(step * self.eta)
        shrunk = soft(X, tau)
        norm = float(np.linalg.norm(shrunk))
        if norm == 0:
            return keep_largest(X.reshape(1, -1), 1).reshape(X.shape)
        return shrunk * (1.0 + tau / norm)

    def convex_parts(self) -> ConvexParts:
        """``r₂ = η‖X‖``."""

        def subgradient(X: Array) -> Array:
            norm = float(np.linalg.norm(X))
            return X * (self.eta / norm) if norm > 0 else np.zeros_like(X)

        return ConvexParts(L1(self.eta), subgradient)
