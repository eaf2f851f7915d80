"""A regularizer on the non-negative orthant."""

import math
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, Zero, validate
from bregopt.errors import IncompatibleError
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.on_columns import OnColumns
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.scaled import Scaled
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.with_ridge import WithRidge

ABSOLUTE = (
    Zero,
    Ridge,
    L1,
    ElasticNet,
    Huber,
    L21,
    SparseGroup,
    Ball,
    L1Ball,
    L0Ball,
    L0,
    Lp,
    MCP,
    SCAD,
    Log,
    Exp,
    CappedL1,
)
"""Functions of |X| that never fall where an |x_ij| grows."""


def absolute(H: Regularizer) -> bool:
    """Whether H is known to depend on |X| only and never to fall where an |x_ij| grows."""
    return absolute(H.H) if isinstance(H, Scaled | WithRidge | OnColumns) else isinstance(H, ABSOLUTE)


@final
@frozen
class WithNonNegative(Regularizer):
    """``H(X) if X ≥ 0, else ∞``, by ``prox_H(max(X, 0))``: right where H is absolute and monotone.

    For Z ≥ 0, ``‖Z − X‖² = ‖Z − X₊‖² + ‖X₋‖² + 2⟨Z, X₋⟩``, and ``P = prox_H(X₊)`` minimises the first term with H
    and brings the last to 0, as p_ij = 0 where x_ij < 0, and P ≥ 0.
    """

    H: Regularizer = field(validator=validate.instance_of(Regularizer, "a Regularizer"))
    traits: Trait = field(init=False, repr=False, eq=False)

    @H.validator
    def _check(self, attribute: Any, H: Regularizer) -> None:
        if not absolute(H):
            raise IncompatibleError(
                f"The proximal map of {H!r} on the non-negative orthant is not known: it is prox_H(max(X, 0)) where H "
                "depends on |X| only and never falls where an |x_ij| grows, which is known of "
                f"{', '.join(kind.__name__ for kind in ABSOLUTE)} and their multiples, sums with a ridge and "
                "restrictions to columns. Write a Regularizer of your own for the sum."
            )

    @traits.default
    def _traits(self) -> Trait:
        return self.H.traits

    @property
    def weak_convexity(self) -> float | None:
        return self.H.weak_convexity

    @property
    def step_limit(self) -> float:
        return self.H.step_limit

    def value(self, X: Array) -> float:
        return self.H.value(X) if NonNegative().value(X) == 0 else math.inf

    def prox(self, X: Array, step: float) -> Array:
        return self.H.prox(np.maximum(X, 0.0), step)

    def split(self) -> tuple[Regularizer, float] | None:
        parts = self.H.split()
        return None if parts is None else (WithNonNegative(parts[0]), parts[1])

    def scalar(self) -> ScalarPenalty | None:
        h = self.H.scalar()
        return None if h is None else evolve(h, low=0.0)
