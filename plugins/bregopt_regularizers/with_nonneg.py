"""A regularizer on the non-negative orthant."""

import math
from functools import cache
from typing import Any, final

import numpy as np
from attrs import evolve, frozen

from bregopt import (
    Array,
    ConvexParts,
    EntryPenalty,
    Regularizer,
    ScalarPenalty,
    Sparsity,
    WrappedRegularizer,
    Zero,
    make,
)
from bregopt.compiled import jit
from bregopt.errors import IncompatibleError
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21, Per
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.on_columns import OnColumns
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.scaled import Scaled
from bregopt_regularizers.simplex import Simplex
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
class WithNonNegative(WrappedRegularizer):
    """``H(X) if X ≥ 0, else ∞``, by ``prox_H(max(X, 0))``: right where H is absolute and monotone.

    For Z ≥ 0, ``‖Z − X‖² = ‖Z − X₊‖² + ‖X₋‖² + 2⟨Z, X₋⟩``, and ``P = prox_H(X₊)`` minimises the first term with H
    and brings the last to 0, as p_ij = 0 where x_ij < 0, and P ≥ 0.
    """

    def __attrs_post_init__(self) -> None:
        if not absolute(self.H):
            raise IncompatibleError(
                f"The proximal map of {self.H!r} on the non-negative orthant is not known: it is prox_H(max(X, 0)) "
                "where H depends on |X| only and never falls where an |x_ij| grows, which is known of "
                f"{', '.join(kind.__name__ for kind in ABSOLUTE)} and their multiples, sums with a ridge and "
                "restrictions to columns. Write a Regularizer of your own for the sum."
            )

    def value(self, X: Array) -> float:
        return self.H.value(X) if NonNegative().value(X) == 0 else math.inf

    def prox(self, X: Array, step: float) -> Array:
        if isinstance(self.H, L1):
            return self.H.prox_on_orthant(X, step)
        return self.H.prox(np.maximum(X, 0.0), step)

    def scalar(self) -> ScalarPenalty | None:
        h = self.H.scalar()
        return None if h is None else evolve(h, low=0.0)

    def entry(self) -> EntryPenalty | None:
        h = self.H.entry()
        return None if h is None else EntryPenalty(h.value, _prox(h.prox), h.parameters)

    def sparsity(self) -> Sparsity | None:
        found = self.H.sparsity()
        return None if found is None else evolve(found, entries=self.around(found.entries))

    def convex_parts(self) -> ConvexParts | None:
        """The orthant goes to r₁, where the proximal map of that is known on it."""
        parts = self.H.convex_parts()
        if parts is None or not absolute(parts.first):
            return None
        return ConvexParts(self.around(parts.first), parts.subgradient)


def with_nonneg(H: Regularizer | str) -> Regularizer:
    """``H(X) if X ≥ 0, else ∞``, where the proximal map is known in closed form."""
    part: Regularizer = make("regularizer", H)
    if isinstance(part, NonNegative | Simplex | WithNonNegative):  # infinite off the orthant already
        return part
    if isinstance(part, Box) and part.high >= 0:
        return Box(max(part.low, 0.0), part.high)
    return WithNonNegative(part)


def l0_nonneg(s: int = 1, per: str = "all") -> WithNonNegative:
    """``H(X) = 0 if X ≥ 0 and ‖X‖₀ ≤ s (in all, in each row or in each column), else ∞``.

    The prox takes the positive part first, then the s largest; of equal ones, those that stand first.
    """
    return WithNonNegative(L0Ball(s, per))


def l1_nonneg(eta: float = 1.0) -> WithNonNegative:
    """``H(X) = η Σ x_ij if X ≥ 0, else ∞``."""
    return WithNonNegative(L1(eta))


def l21_nonneg(eta: float = 1.0, per: Per = "row") -> WithNonNegative:
    """``H(X) = η Σ_g ‖x_g‖ if X ≥ 0, else ∞``, the groups g as in the group lasso."""
    return WithNonNegative(L21(eta, per))


@cache
def _prox(prox: Any) -> Any:
    """``prox_h(max(x, 0))``"""
    prox_h = jit(prox, kept=False)
    return lambda x, step, p: prox_h(max(x, 0.0), step, p)
