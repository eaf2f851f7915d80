"""Simple β rules: zero, constant, growing, Nesterov."""

from typing import Any, ClassVar, final

from attrs import field, frozen

from bregopt import Extrapolation, ExtrapolationContext, nesterov, validate

WITHIN = 0.99
"""Share of the way to the edge of the kernel's domain that a rule may go."""


def inside(beta: float, context: ExtrapolationContext) -> float:
    """β, shortened where Ȳ would leave the kernel's domain."""
    return min(beta, WITHIN * context.longest)


@final
@frozen
class NoExtrapolation(Extrapolation):
    """``β_k = 0``: the method without extrapolation."""

    moves: ClassVar[bool] = False
    delta = 0.0
    epsilon = 0.0

    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        return 0.0, memory


@final
@frozen
class Constant(Extrapolation):
    """``β_k = β``; the paper takes 0.6."""

    beta: float = field(default=0.6, validator=validate.number(at_least=0, below=1))

    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        return inside(self.beta, context), memory


@final
@frozen
class Nesterov(Extrapolation):
    """``β_k = (θ_{k−1} − 1)/θ_k`` with ``θ_k = (1 + √(1 + 4θ_{k−1}²))/2``, θ_0 = 1."""

    def begin(self) -> float:
        return 1.0

    def choose(self, context: ExtrapolationContext, memory: float) -> tuple[float, float]:
        beta, theta = nesterov(memory)
        return inside(beta, context), theta


@final
@frozen
class Growing(Extrapolation):
    """``β_k = c·(k − 1)/(k + 2)``, k counted from the last beginning."""

    c: float = field(default=1.0, validator=validate.number(above=0, at_most=1))

    def begin(self) -> int:
        return 1

    def choose(self, context: ExtrapolationContext, memory: int) -> tuple[float, int]:
        return inside(self.c * (memory - 1) / (memory + 2), context), memory + 1
