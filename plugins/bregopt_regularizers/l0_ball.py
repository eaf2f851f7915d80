"""At most s non-zeros, in the whole block or in each row or column."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt.errors import parameter
from bregopt_regularizers.lines import by_row


def keep_largest(X: Array, s: int) -> Array:
    """Each row of X with its s largest absolute values kept; of equal ones, those that stand first."""
    if s >= X.shape[-1]:
        return X.copy()
    order = np.argsort(-np.abs(X), axis=-1, kind="stable")[..., :s]
    kept = np.zeros_like(X)
    np.put_along_axis(kept, order, np.take_along_axis(X, order, axis=-1), axis=-1)
    return kept


@final
@frozen
class L0Ball(Regularizer):
    """``H(X) = 0 if ‖X‖₀ ≤ s (in all, in each row or in each column), else ∞``."""

    s: int = field(default=1, validator=validate.whole(at_least=1))
    per: str = field(default="all", validator=validate.one_of("all", "row", "column"))
    paper = "case (vi)"
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.HOMOGENEOUS | by_row(self.per)

    def value(self, X: Array) -> float:
        counts = np.count_nonzero(self._rows(X), axis=-1)
        return 0.0 if np.max(counts, initial=0) <= self.s else math.inf

    def prox(self, X: Array, step: float) -> Array:
        kept = keep_largest(self._rows(X), self.s)
        return kept.T if self.per == "column" else kept.reshape(X.shape)

    def _rows(self, X: Array) -> Array:
        """X as rows that each hold at most s non-zeros."""
        if self.per == "all":
            return X.reshape(1, -1)
        if X.ndim != 2:
            raise parameter("per", "L0Ball", f"'all' for a block of {X.ndim} dimensions", self.per)
        return X.T if self.per == "column" else X
