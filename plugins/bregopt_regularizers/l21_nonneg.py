"""The group lasso on the non-negative orthant."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.groups import Per, check_per, labels, norms, shrink
from bregopt_regularizers.lines import by_row
from bregopt_regularizers.nonneg import NonNegative


@final
@frozen(eq=False)
class L21NonNegative(Regularizer):
    """``H(X) = η Σ_g ‖x_g‖ if X ≥ 0, else ∞``, the groups g as in the group lasso."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    per: Per = field(default="row", converter=labels, validator=check_per)
    traits: Trait = field(init=False, repr=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.CONVEX | Trait.HOMOGENEOUS | by_row(self.per)

    def value(self, X: Array) -> float:
        return float(self.eta) * float(norms(X, self.per).sum()) if NonNegative().value(X) == 0 else math.inf

    def prox(self, X: Array, step: float) -> Array:
        # the positive part comes first: a negative entry must not lengthen its group
        return shrink(np.maximum(X, 0.0), float(step * self.eta), self.per)
