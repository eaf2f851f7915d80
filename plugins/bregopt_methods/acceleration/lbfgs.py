"""L-BFGS: an inverse Jacobian known by a few pairs, applied by the two-loop recursion."""

import math
from typing import final

from attrs import evolve, frozen

from bregopt import Array

CURVATURE = 1e-8
"""A pair with ⟨s, y⟩ below that part of |s||y| says nothing of curvature and is left out."""
TINY = 1e-290
"""A square below it has lost digits to underflow."""


@final
@frozen(eq=False)
class Pair:
    """A move s and the change y of the residual along it."""

    s: Array
    y: Array
    product: float
    """⟨s, y⟩"""


@final
@frozen(eq=False)
class LBFGS:
    """``B ← (I − s yᵀ/⟨s, y⟩) B (I − y sᵀ/⟨s, y⟩) + s sᵀ/⟨s, y⟩`` over the pairs, from ``B = ⟨s, y⟩/⟨y, y⟩·I``."""

    memory: int
    """the most pairs that are kept"""
    pairs: tuple[Pair, ...] = ()
    """the latest last"""

    def seen(self, s: Array, y: Array) -> "LBFGS":
        """With one more pair, where it has curvature; the oldest makes room."""
        pair, squares = Pair(s, y, float(s @ y)), (float(s @ s), float(y @ y))
        curved = pair.product > CURVATURE * math.sqrt(squares[0]) * math.sqrt(squares[1])
        if not (self.memory and curved and min(squares) > TINY):
            return self
        return evolve(self, pairs=(*self.pairs, pair)[-self.memory :])

    def empty(self) -> "LBFGS":
        """Without the pairs."""
        return evolve(self, pairs=())

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def apply(self, r: Array) -> Array:
        """``B r``, in a fresh array."""
        q, weights = r.copy(), []
        for pair in reversed(self.pairs):
            weights.append(float(pair.s @ q) / pair.product)
            q -= weights[-1] * pair.y
        if self.pairs:
            q *= self.pairs[-1].product / float(self.pairs[-1].y @ self.pairs[-1].y)
        for pair, weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - float(pair.y @ q) / pair.product) * pair.s
        return q
