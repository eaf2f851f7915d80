"""A multiple of a regularizer."""

from typing import final

from attrs import evolve, field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, validate


@final
@frozen
class Scaled(Regularizer):
    """``weight · H(X)``, weight > 0."""

    H: Regularizer = field(validator=validate.instance_of(Regularizer, "a Regularizer"))
    weight: float = field(validator=validate.number(above=0))
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        return self.H.traits

    @property
    def weak_convexity(self) -> float | None:
        modulus = self.H.weak_convexity
        return None if modulus is None else float(self.weight) * modulus

    @property
    def step_limit(self) -> float:
        return self.H.step_limit / float(self.weight)

    def value(self, X: Array) -> float:
        return float(self.weight) * self.H.value(X)

    def prox(self, X: Array, step: float) -> Array:
        return self.H.prox(X, step * float(self.weight))

    def split(self) -> tuple[Regularizer, float] | None:
        parts = self.H.split()
        return None if parts is None else (Scaled(parts[0], self.weight), float(self.weight) * parts[1])

    def piece(self, X: Array) -> Regularizer | None:
        part = self.H.piece(X)
        return None if part is None else Scaled(part, self.weight)

    def scalar(self) -> ScalarPenalty | None:
        h, weight = self.H.scalar(), float(self.weight)
        return None if h is None else evolve(h, l1=weight * h.l1, ridge=weight * h.ridge)
