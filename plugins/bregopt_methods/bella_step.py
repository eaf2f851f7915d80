"""A proximal step of BELLA: its λ is shortened until the upper test holds, and shows the curvature it met."""

import math
from typing import final

from attrs import frozen

from bregopt import Evaluation, Problem, oracle_of
from bregopt.errors import OverflowedError
from bregopt_methods.envelope import Envelope, envelope

MARGIN = 0.95
"""α < 1: the upper test asks for D_f ≤ α·D_ψ/λ, so that a step gains at least (1 − α)·D_ψ/λ."""
SHORTEST = 1e-30


@final
@frozen(eq=False)
class Step:
    """A step from Ȳ to Y = T_λ(Ȳ), with what the test of its λ showed."""

    made: Envelope
    seen: Evaluation | None = None
    """at Y; ``None`` where λ ≤ α/L needed no test"""
    holds: bool = True
    """the upper test, up to rounding"""
    curvature: float | None = None
    """max(D_f(Y, Ȳ), 0)/D_ψ(Y, Ȳ), where it was seen and is more than rounding"""

    @property
    def objective(self) -> float:
        """Φ(Y), or its bound E_λ(Ȳ)."""
        return self.made.value if self.seen is None else self.seen.value + self.made.H

    @property
    def gain(self) -> float:
        """What is known of E_λ(Ȳ) − Φ(Y)."""
        sure = (1.0 - MARGIN) * self.made.divergence / self.made.step
        return sure if self.seen is None else max(self.made.value - self.objective, 0.0)

    def wanted(self, target: float) -> float:
        """``target/curvature``: where nothing was seen a longer λ is worth a test; where all is rounding none is."""
        if self.curvature is not None:
            return target / self.curvature if self.curvature > 0 else math.inf
        return math.inf if self.seen is None else self.made.step


def free_step(problem: Problem, evaluation: Evaluation) -> float:
    """α/L, the longest λ that needs no test; 0 where L is not known."""
    kernel = problem.kernel.pick(True).at(evaluation.norms)
    smad = problem.smooth.constants(kernel, evaluation.norms, True)
    return MARGIN / smad.upper if smad else 0.0


def reached(problem: Problem, evaluation: Evaluation, step: float) -> Envelope:
    """E_λ at the Ȳ that was evaluated, with the first λ from ``step`` downward that stays among the finite numbers.

    Nor is it longer than α·σ/ρ: up to σ/ρ the proximal map of a ρ-weakly convex H has one minimiser.
    """
    kernel, modulus = problem.kernel.pick(True).at(evaluation.norms), problem.regularizer.weak_convexity
    step = min(step, MARGIN * kernel.strong_convexity / modulus) if modulus else step
    while step > SHORTEST:
        try:
            return envelope(problem, evaluation, step, kernel)
        except OverflowedError:  # the step is too long
            step *= 0.25
    raise OverflowedError("No step is short enough to stay among the finite numbers.")


def tested(problem: Problem, made: Envelope) -> Step:
    """The step with the first λ, from that of ``made`` downward, that passes the test: one product for each."""
    free = free_step(problem, made.evaluation)
    while made.step > free:
        step = _test(made, oracle_of(problem).evaluate(made.Y))
        if step.holds:
            return step
        share = _share(made.step * step.curvature) if step.curvature else 0.5
        shorter = max(share * made.step, min(free, 0.5 * made.step))
        if shorter <= SHORTEST:
            return step
        made = reached(problem, made.evaluation, shorter)
    return Step(made)


def _test(made: Envelope, seen: Evaluation) -> Step:
    if not math.isfinite(seen.value):
        return Step(made, seen, holds=False, curvature=math.inf)
    D_f, share = seen.value - made.evaluation.value - made.slope, made.divergence / made.step
    noise = seen.rounding * (seen.scale + made.evaluation.scale)
    silent = share <= noise  # then the values say nothing of the curvature
    return Step(made, seen, D_f <= MARGIN * share + noise, None if silent else max(D_f, 0.0) / made.divergence)


def _share(excess: float) -> float:
    """The share of λ to go on with where λ·curvature is ``excess``: between a sixteenth and a half."""
    return min(max(0.9 * MARGIN / excess, 0.0625), 0.5)
