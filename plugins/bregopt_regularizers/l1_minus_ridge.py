"""The l1 norm minus a ridge: the paper's case (v)."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, EntryPenalty, Regularizer, Trait, validate
from bregopt.errors import parameter
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.precision import floating


@final
@frozen
class L1MinusRidge(Regularizer):
    """``H(X) = η₁ Σ |x_ij| − (η₂/2) ‖X‖²``. From steps of 1/η₂ on there is no minimiser."""

    eta1: float = field(default=1.0, validator=validate.number(at_least=0))
    eta2: float = field(default=1.0, validator=validate.number(at_least=0))
    paper = "case (v)"
    traits = Trait.SEPARABLE | Trait.ROW_WISE

    @property
    def weak_convexity(self) -> float:
        return self.eta2

    @property
    def step_limit(self) -> float:
        return 1.0 / self.eta2 if self.eta2 > 0 else math.inf

    def value(self, X: Array) -> float:
        return self.eta1 * float(np.abs(X).sum()) - 0.5 * self.eta2 * float(np.vdot(X, X))

    def prox(self, X: Array, step: float) -> Array:
        t = np.asarray(step, dtype=floating(X))
        slope = 1.0 - t * self.eta2
        if np.any(slope <= 0):
            raise parameter("step", "L1MinusRidge.prox", f"below 1/eta2 = {self.step_limit:g}", step)
        return np.asarray(soft(X, t * self.eta1) / slope, dtype=floating(X))

    def split(self) -> tuple[Regularizer, float]:
        return L1(self.eta1), -self.eta2

    def entry(self) -> EntryPenalty:
        return EntryPenalty(_value, _prox, (self.eta1, self.eta2))

    def convex_parts(self) -> ConvexParts:
        return ConvexParts(L1(self.eta1), lambda X: self.eta2 * X)


def _value(x: float, p: Any) -> float:
    return float(p[0] * abs(x) - 0.5 * p[1] * x * x)


def _prox(x: float, step: float, p: Any) -> float:
    return math.copysign(max(abs(x) - step * p[0], 0.0) / (1.0 - step * p[1]), x)
