"""The l1 ball, for the whole block or in each row or column."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.lines import PER, block, by_row, lines
from bregopt_regularizers.precision import floating, slack
from bregopt_regularizers.simplex import onto_simplex


@final
@frozen
class L1Ball(Regularizer):
    """``H(X) = 0 if Σ |x_ij| ≤ radius (in all, in each row or in each column), else ∞``."""

    radius: float = field(default=1.0, validator=validate.number(above=0))
    per: str = field(default="all", validator=PER)
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.CONVEX | by_row(self.per)

    def value(self, X: Array) -> float:
        return 0.0 if np.all(_norms(lines(X, self.per, "L1Ball")) <= self.radius * (1.0 + slack(X))) else math.inf

    def prox(self, X: Array, step: float) -> Array:
        rows = np.array(lines(X, self.per, "L1Ball"), dtype=floating(X))
        outside = _norms(rows) > self.radius
        rows[outside] = np.copysign(onto_simplex(np.abs(rows[outside]), float(self.radius)), rows[outside])
        return block(rows, X, self.per)


def _norms(rows: Array) -> Array:
    return np.asarray(np.abs(rows).sum(axis=1, dtype=np.float64))
