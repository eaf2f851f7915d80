"""What BELLA remembers from step to step: pairs for a direction, and how long λ has stayed."""

from collections.abc import Iterator
from typing import final

from attrs import frozen

from bregopt import Blocks
from bregopt_methods.bella_step import Step
from bregopt_methods.envelope import Envelope
from bregopt_methods.lbfgs import LBFGS

BACK = 0.25
"""τ falls by this factor from trial to trial."""
PATIENCE = 5
"""Iterations with the same λ before it may grow under quasi-Newton steps."""
WITHIN = 0.99
"""Share of the way to the edge of the kernel's domain that a trial may go."""
DRIFT = 3.0
"""Once λ/σ has changed by this factor, the pairs speak of another residual."""


@final
@frozen(eq=False)
class Walk:
    """The last step, from Ȳ to Y, and what the next one knows of those before."""

    step: Step
    pairs: LBFGS
    pace: float
    """λ/σ when the pairs were last forgotten"""
    plain: bool = True
    """whether Ȳ was the proximal point before it, τ = 0"""
    idle: int = 0
    """iterations since a change of λ was tried"""

    def planned(self, target: float) -> float:
        """λ for the next step, before its test.

        At most 2λ, towards ``target`` over the curvature seen: at once after a plain step, whose length is all that
        counts; under quasi-Newton steps only where it is worth a change of the residual.
        """
        step, wanted = self.step.made.step, self.step.wanted(target)
        grows = wanted > step if self.plain else wanted > 2.0 * step and self.idle >= PATIENCE
        return min(wanted, 2.0 * step) if grows else step

    def trials(self, number: int) -> Iterator[Blocks]:
        """``(1 − τ)Y + τ(Ȳ + d)`` for τ = 1, 1/4, 1/16, …, all shorter where the kernel's domain ends before τ = 1."""
        if not self.pairs:
            return
        made = self.step.made
        flat = made.Y_bar.flat - self.pairs.apply(made.residual.flat)
        flat -= made.Y.flat
        beyond = made.Y.like(flat)
        tau = min(1.0, WITHIN * made.kernel.longest(made.Y, beyond))
        for trial in range(number):
            yield made.Y.plus(tau * BACK**trial, beyond)

    def onward(self, ahead: Step, planned: float, *, plain: bool) -> "Walk":
        """With one more step; pairs that led nowhere, or speak of another residual, are forgotten."""
        last, made = self.step.made, ahead.made
        idle = self.idle + 1 if planned == made.step == last.step else 0
        if not 1.0 / DRIFT < pace(made) / self.pace < DRIFT:
            return Walk(ahead, self.pairs.empty(), pace(made), plain, idle)
        pairs = self.pairs.empty() if plain else self.pairs
        pairs = pairs.seen(made.Y_bar.flat - last.Y_bar.flat, made.residual.flat - last.residual.flat)
        return Walk(ahead, pairs, self.pace, plain, idle)


def pace(made: Envelope) -> float:
    """λ/σ, the length of a Euclidean step up to a factor."""
    return made.step / (made.kernel.strong_convexity or 1.0)
