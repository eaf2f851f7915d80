"""Tikhonov regularization."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, Zero, validate
from bregopt_regularizers.precision import match


@final
@frozen
class Ridge(Regularizer):
    """``H(X) = (η/2) ‖X‖²``."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    paper = "case (ii)"
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return 0.5 * self.eta * float(np.vdot(X, X))

    def prox(self, X: Array, step: float) -> Array:
        return X / (1.0 + match(step, X) * float(self.eta))

    def split(self) -> tuple[Regularizer, float]:
        return Zero(), self.eta

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty(ridge=self.eta)
