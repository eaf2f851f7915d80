"""The number of non-zeros, as a penalty."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.on_support import OnSupport


@final
@frozen
class L0(Regularizer):
    """``H(X) = η ‖X‖₀``, the number of non-zeros. At a tie, |x|² = 2·step·η, the prox is zero."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return self.eta * float(np.count_nonzero(X))

    def prox(self, X: Array, step: float) -> Array:
        return np.where(np.abs(X) <= (2.0 * step * self.eta) ** 0.5, 0.0, X)

    def piece(self, X: Array) -> Regularizer:
        """The matrices with the support of X."""
        return OnSupport(X != 0)
