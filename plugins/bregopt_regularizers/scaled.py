"""A multiple of a regularizer."""

from functools import cache
from typing import Any, final

from attrs import evolve, field, frozen

from bregopt import (
    Array,
    ConvexParts,
    EntryPenalty,
    Regularizer,
    ScalarPenalty,
    Sparsity,
    WrappedRegularizer,
    make,
    validate,
)
from bregopt.compiled import jit


@final
@frozen
class Scaled(WrappedRegularizer):
    """``weight · H(X)``, weight > 0."""

    weight: float = field(validator=validate.number(above=0))

    def ridge(self, eta: float) -> float:
        return float(self.weight) * eta

    @property
    def step_limit(self) -> float:
        return self.H.step_limit / float(self.weight)

    def value(self, X: Array) -> float:
        return float(self.weight) * self.H.value(X)

    def prox(self, X: Array, step: float) -> Array:
        return self.H.prox(X, step * float(self.weight))

    def piece(self, X: Array) -> Regularizer | None:
        piece = self.H.piece(X)
        return None if piece is None else self.around(piece)

    def scalar(self) -> ScalarPenalty | None:
        h, weight = self.H.scalar(), float(self.weight)
        return None if h is None else evolve(h, l1=weight * h.l1, ridge=weight * h.ridge)

    def entry(self) -> EntryPenalty | None:
        h = self.H.entry()
        return (
            None
            if h is None
            else EntryPenalty(*_functions(h.value, h.prox, len(h.parameters)), (*h.parameters, self.weight))
        )

    def sparsity(self) -> Sparsity | None:
        found = self.H.sparsity()
        return None if found is None else evolve(found, entries=self.around(found.entries))

    def convex_parts(self) -> ConvexParts | None:
        parts = self.H.convex_parts()
        if parts is None:
            return None
        return ConvexParts(self.around(parts.first), lambda X: float(self.weight) * parts.subgradient(X))


def scaled(H: Regularizer | str, weight: float) -> Regularizer:
    """``weight · H(X)``, weight > 0."""
    return Scaled(make("regularizer", H), weight)


@cache
def _functions(value: Any, prox: Any, k: int) -> tuple[Any, Any]:
    """Those of weight·h, the weight at place k of the parameters."""
    h, prox_h = jit(value, kept=False), jit(prox, kept=False)
    return lambda x, p: p[k] * h(x, p), lambda x, step, p: prox_h(x, step * p[k], p)
