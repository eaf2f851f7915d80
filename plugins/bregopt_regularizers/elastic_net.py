"""The elastic net."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, validate
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.precision import match


@final
@frozen
class ElasticNet(Regularizer):
    """``H(X) = η₁ Σ |x_ij| + (η₂/2) ‖X‖²``."""

    eta1: float = field(default=1.0, validator=validate.number(at_least=0))
    eta2: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return self.eta1 * float(np.abs(X).sum()) + 0.5 * self.eta2 * float(np.vdot(X, X))

    def prox(self, X: Array, step: float) -> Array:
        return soft(X, step * self.eta1) / (1.0 + match(step, X) * float(self.eta2))

    def split(self) -> tuple[Regularizer, float]:
        return L1(self.eta1), self.eta2

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty(l1=self.eta1, ridge=self.eta2)
