"""The Euclidean ball, for the whole block or in each row or column."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.lines import PER, block, by_row, lines
from bregopt_regularizers.precision import floating, slack


@final
@frozen
class Ball(Regularizer):
    """``H(X) = 0 if ‖x‖ ≤ radius for x = X (or for every row or column x of X), else ∞``."""

    radius: float = field(default=1.0, validator=validate.number(above=0))
    per: str = field(default="all", validator=PER)
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.CONVEX | by_row(self.per)

    def value(self, X: Array) -> float:
        return 0.0 if np.all(_norms(lines(X, self.per, "Ball")) <= self.radius * (1.0 + slack(X))) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        rows = lines(X, self.per, "Ball")
        factor = self.radius / np.maximum(_norms(rows), self.radius)  # 1 within the ball
        return block(rows * factor[:, None].astype(floating(X)), X, self.per)


def _norms(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1)))
