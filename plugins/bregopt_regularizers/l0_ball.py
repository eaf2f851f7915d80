"""At most s non-zeros, in the whole block or in each row or column."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.per_line import PER, and_by_row, block, lines


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
    per: str = field(default="all", validator=PER)
    paper = "case (vi)"
    traits: Trait = field(default=and_by_row(Trait.HOMOGENEOUS), init=False, repr=False, eq=False)

    def value(self, X: Array) -> float:
        counts = np.count_nonzero(lines(X, self.per, "L0Ball"), axis=-1)
        return 0.0 if np.max(counts, initial=0) <= self.s else math.inf

    def prox(self, X: Array, step: float) -> Array:
        return block(keep_largest(lines(X, self.per, "L0Ball"), self.s), X, self.per)
