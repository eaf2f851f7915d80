"""Bounds on every entry."""

import math
from numbers import Real
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait
from bregopt.errors import parameter
from bregopt_regularizers.precision import slack


def _low(value: Any) -> Any:
    return -math.inf if value is None else value


def _high(value: Any) -> Any:
    return math.inf if value is None else value


def _bound(instance: Any, attribute: Any, value: Any) -> None:
    good = isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    open_end = -math.inf if attribute.name == "low" else math.inf
    if not (good and (math.isfinite(value) or value == open_end)):
        raise parameter(attribute.name, "Box", f"a finite number or {open_end}", value)
    if attribute.name == "high" and value < instance.low:
        raise parameter("high", "Box", f"at least low={instance.low:g}", value)


@final
@frozen
class Box(Regularizer):
    """``H(X) = 0 if low ≤ x_ij ≤ high for all i, j, else ∞``; a side may be infinite, or None for that."""

    low: float = field(default=0.0, converter=_low, validator=_bound)
    high: float = field(default=1.0, converter=_high, validator=_bound)
    traits: Trait = field(init=False, repr=False, eq=False)

    @traits.default
    def _traits(self) -> Trait:
        cone = self.low in (0.0, -math.inf) and self.high in (0.0, math.inf)
        return Trait.CONVEX | Trait.SEPARABLE | (Trait.HOMOGENEOUS if cone else Trait.NONE) | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        least, most = float(np.min(X, initial=math.inf)), float(np.max(X, initial=-math.inf))
        rounding = slack(X) * max(abs(least), abs(most)) if X.size else 0.0
        return 0.0 if self.low - rounding <= least and most <= self.high + rounding else math.inf

    def prox(self, X: Array, step: float) -> Array:
        return np.clip(X, float(self.low), float(self.high))

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty(low=float(self.low), high=float(self.high))
