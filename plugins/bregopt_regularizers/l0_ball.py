"""At most s non-zeros, in the whole block or in each row or column."""

import math
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, Sparsity, Trait, Zero, validate
from bregopt_regularizers.per_line import PER, and_by_row, block, lines


def largest(sizes: Array, s: int) -> NDArray[np.bool_]:
    """Where the s largest of each row are, all of them ≥ 0; of equal ones, those that stand first. nan comes last."""
    if s >= sizes.shape[-1]:
        return np.ones(sizes.shape, dtype=bool)
    sizes = np.where(np.isnan(sizes), -1.0, sizes)
    least = -np.partition(-sizes, s - 1, axis=-1)[..., s - 1 : s]
    above, equal = sizes > least, sizes == least
    found: NDArray[np.bool_] = above | (equal & (np.cumsum(equal, axis=-1) <= s - above.sum(axis=-1, keepdims=True)))
    return found


def keep_largest(X: Array, s: int) -> Array:
    """Each row of X with its s largest absolute values kept; of equal ones, those that stand first."""
    return np.where(largest(np.abs(X), s), X, np.zeros((), X.dtype))


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

    def sparsity(self) -> Sparsity:
        return Sparsity(Zero(), self._places)

    def _places(self, gains: Array, room: float) -> NDArray[np.bool_]:
        rows = lines(gains, self.per, "L0Ball")
        more = max(0, rows.shape[-1] - self.s)
        return block(largest(rows, self.s + round(room * more)), gains, self.per)
