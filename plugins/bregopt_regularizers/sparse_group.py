"""The sparse group lasso."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.l1 import soft
from bregopt_regularizers.l21 import Per, check_per, labels, norms, shrink
from bregopt_regularizers.per_line import and_by_row


@final
@frozen(eq=False)
class SparseGroup(Regularizer):
    """``H(X) = η₁ Σ |x_ij| + η₂ Σ_g ‖x_g‖``, the groups g as in the group lasso."""

    eta1: float = field(default=1.0, validator=validate.number(at_least=0))
    eta2: float = field(default=1.0, validator=validate.number(at_least=0))
    per: Per = field(default="row", converter=labels, validator=check_per)
    traits: Trait = field(default=and_by_row(Trait.CONVEX | Trait.HOMOGENEOUS), init=False, repr=False)

    def value(self, X: Array) -> float:
        return float(self.eta1) * float(np.abs(X).sum()) + float(self.eta2) * float(norms(X, self.per).sum())

    def prox(self, X: Array, step: float) -> Array:
        return shrink(soft(X, step * self.eta1), float(step * self.eta2), self.per)
