"""A regularizer with a linear term: what is left of a concave part that was linearised."""

from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate


@final
@frozen(eq=False)
class Tilted(Regularizer):
    """``H(X) + ⟨G, X⟩``."""

    H: Regularizer = field(validator=validate.instance_of(Regularizer, "a Regularizer"))
    G: Array = field(converter=np.asarray, repr=False)
    traits: Trait = field(init=False, repr=False)

    @traits.default
    def _traits(self) -> Any:
        return self.H.traits & Trait.CONVEX

    @property
    def weak_convexity(self) -> float | None:
        return self.H.weak_convexity

    @property
    def step_limit(self) -> float:
        return self.H.step_limit

    def value(self, X: Array) -> float:
        return self.H.value(X) + float(np.vdot(self.G, X))

    def prox(self, X: Array, step: float) -> Array:
        return self.H.prox(X - np.asarray(step * self.G, dtype=X.dtype), step)
