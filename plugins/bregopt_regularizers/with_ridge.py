"""A regularizer and a ridge."""

import math
from functools import cache
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import (
    Array,
    ConvexParts,
    EntryPenalty,
    Regularizer,
    ScalarPenalty,
    Sparsity,
    Trait,
    WrappedRegularizer,
    make,
    validate,
)
from bregopt.compiled import jit
from bregopt_regularizers.precision import match


@final
@frozen
class WithRidge(WrappedRegularizer):
    """``H(X) + (η/2)‖X‖²``, by ``prox_{tH/(1+tη)}(X/(1+tη))``."""

    eta: float = field(validator=validate.number(at_least=0))
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        convex = Trait.CONVEX if self.weak_convexity == 0 else Trait.NONE
        kept = Trait.SEPARABLE | Trait.ROW_WISE | (Trait.NONE if self.eta else Trait.HOMOGENEOUS)
        return convex | (self.H.traits & kept)

    def ridge(self, eta: float) -> float:
        return eta + float(self.eta)

    @property
    def step_limit(self) -> float:
        """t with t/(1 + tη) at the limit of H."""
        limit = self.H.step_limit
        left = 1.0 - limit * float(self.eta) if self.eta else 1.0
        return limit / left if left > 0 else math.inf

    def value(self, X: Array) -> float:
        return self.H.value(X) + 0.5 * float(self.eta) * float(np.vdot(X, X))

    def prox(self, X: Array, step: float) -> Array:
        step = match(step, X)
        longer = 1.0 + step * float(self.eta)
        return self.H.prox(X / longer, step / longer)

    def split(self) -> tuple[Regularizer, float] | None:
        parts = self.H.split()
        return None if parts is None else (parts[0], self.ridge(parts[1]))

    def scalar(self) -> ScalarPenalty | None:
        h = self.H.scalar()
        return None if h is None else evolve(h, ridge=self.ridge(h.ridge))

    def entry(self) -> EntryPenalty | None:
        h = self.H.entry()
        return (
            None
            if h is None
            else EntryPenalty(*_functions(h.value, h.prox, len(h.parameters)), (*h.parameters, self.eta))
        )

    def sparsity(self) -> Sparsity | None:
        found = self.H.sparsity()
        return None if found is None else evolve(found, entries=self.around(found.entries))

    def convex_parts(self) -> ConvexParts | None:
        """The ridge goes to r₁; where it makes the sum convex, that is r₁ itself."""
        whole, parts = super().convex_parts(), self.H.convex_parts()
        if whole is not None or parts is None:
            return whole
        return ConvexParts(self.around(parts.first), parts.subgradient)


def with_ridge(H: Regularizer | str, eta: float) -> Regularizer:
    """``H(X) + (η/2)‖X‖²``."""
    return WithRidge(make("regularizer", H), eta)


@cache
def _functions(value: Any, prox: Any, k: int) -> tuple[Any, Any]:
    """Those of h + (η/2)x², η at place k of the parameters."""
    h, prox_h = jit(value, kept=False), jit(prox, kept=False)

    def with_ridge_prox(x: float, step: float, p: Any) -> Any:
        longer = 1.0 + step * p[k]
        return prox_h(x / longer, step / longer, p)

    return lambda x, p: h(x, p) + 0.5 * p[k] * x * x, with_ridge_prox
