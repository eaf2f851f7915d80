"""Non-negative blocks of at most s non-zeros, in all or in each row or column."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.lines import by_row
from bregopt_regularizers.nonneg import NonNegative


@final
@frozen
class L0NonNegative(Regularizer):
    """``H(X) = 0 if X ≥ 0 and ‖X‖₀ ≤ s (in all, in each row or in each column), else ∞``.

    The positive part comes first, then the s largest; of equal ones, those that stand first.
    """

    s: int = field(default=1, validator=validate.whole(at_least=1))
    per: str = field(default="all", validator=validate.one_of("all", "row", "column"))
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.HOMOGENEOUS | by_row(self.per)

    def value(self, X: Array) -> float:
        return NonNegative().value(X) + L0Ball(self.s, self.per).value(X)

    def prox(self, X: Array, step: float) -> Array:
        return L0Ball(self.s, self.per).prox(np.maximum(X, 0.0), step)
