"""The largest β that the paper's Assumption 2 allows, corrected for a kernel and a step that change."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Blocks, Extrapolation, ExtrapolationContext, Forecast, Kernel, validate
from bregopt.errors import ParameterError
from bregopt_rules.extrapolation import inside

SMALLEST = 1e-10
"""A smaller β is taken to be zero."""


@final
@frozen
class Assumption2(Extrapolation):
    """The largest ``β ≤ cap`` with ``(1/λ_k + L)·D_{ψ_k}(Y^k, Ȳ) ≤ ((δ − ε)/λ_{k−1})·D_{ψ_{k−1}}(Y^{k−1}, Y^k)``.

    ``bound="low"`` puts D of the smooth part's own lower kernel in the place of L·D_{ψ_k};
    ``test="paper"`` is the paper's inequality to the letter, with one kernel and one step on both sides;
    ``shrink`` finds β by geometric backtracking from ``cap`` instead of the root.
    """

    cap: float = field(default=0.99, validator=validate.number(at_least=0, below=1))
    delta: float = field(default=0.999, validator=validate.number(above=0, below=1))
    epsilon: float = field(default=0.001, validator=validate.number(above=0, below=1))
    bound: str = field(default="kernel", validator=validate.one_of("kernel", "low"))
    test: str = field(default="corrected", validator=validate.one_of("corrected", "paper"))
    shrink: float | None = field(default=None, validator=validate.number(above=0, below=1, optional=True))

    def __attrs_post_init__(self) -> None:
        if not self.epsilon < self.delta:
            raise ParameterError(
                f"Assumption2 needs epsilon < delta. Got epsilon={self.epsilon}, delta={self.delta} instead."
            )

    @property
    def promises_descent(self) -> bool:
        return self.test == "corrected"

    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        beta = inside(self.cap, context)
        if context.steady:
            return self._largest(context, context.forecast(0.0), beta), memory
        while beta > SMALLEST:  # ψ_k depends on W(Ȳ), hence on β
            allowed = self._largest(context, context.forecast(beta), beta)
            if allowed >= beta:
                return beta, memory
            beta = min(allowed, 0.9 * beta)
        return 0.0, memory

    def _largest(self, context: ExtrapolationContext, forecast: Forecast, cap: float) -> float:
        cost, budget = self._cost(context, forecast), self._budget(context, forecast)
        if cost is None:
            return 0.0
        line = cost.along(context.Y, context.D) if self.shrink is None else None
        if line is not None:
            powers = np.arange(len(line))
            terms = ((powers - 1) * line)[2:][::-1].tolist()  # D(Y, Y + βD) = Σ_{i≥2} (i − 1) ψ_i β^i

            def divergence(beta: float) -> float:
                total = 0.0
                for term in terms:
                    total = total * beta + term
                return total * beta * beta
        else:

            def divergence(beta: float) -> float:
                return cost.divergence(context.Y, context.Y.plus(beta, context.D))

        if self.shrink is not None:
            return backtracked(divergence, budget, cap, self.shrink)
        return largest(divergence, budget, cap)

    def _cost(self, context: ExtrapolationContext, forecast: Forecast) -> Kernel | None:
        """The kernel whose divergence is the left side."""
        smad = forecast.smad
        if smad is not None and smad.low is not None and (self.bound == "low" or smad.lower is None):
            return (1.0 / context.step) * forecast.kernel + smad.low
        if smad is None or smad.lower is None:
            return None
        return (1.0 / context.step + smad.lower) * forecast.kernel

    def _budget(self, context: ExtrapolationContext, forecast: Forecast) -> float:
        if self.test == "corrected":
            return (self.delta - self.epsilon) / context.step_prev * context.divergence
        before: Blocks = context.Y - context.D
        return (self.delta - self.epsilon) / context.step * forecast.kernel.divergence(before, context.Y)


def largest(rising: Callable[[float], float], budget: float, cap: float) -> float:
    """The largest β in [0, cap] with ``rising(β) ≤ budget``, from below, to the last digits."""
    if rising(cap) <= budget:
        return cap
    low, high = 0.0, cap
    while high - low > 1e-15 * high and high > SMALLEST:
        middle = 0.5 * (low + high)
        if rising(middle) <= budget:
            low = middle
        else:
            high = middle
    return low


def backtracked(rising: Callable[[float], float], budget: float, cap: float, shrink: float) -> float:
    """The first of cap, cap·shrink, cap·shrink², … within the budget."""
    beta = cap
    while rising(beta) > budget:
        beta *= shrink
        if beta < SMALLEST:
            return 0.0
    return beta
