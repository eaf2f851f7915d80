"""What a Bregman method carries from one iteration to the next, and what can be said of a step."""

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import Look, Oracle
from bregopt.parts.prox import BregmanProx
from bregopt.parts.smooth import Smad
from bregopt.problem import Problem
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import Trial

ROUNDING = 1e-12
"""Relative size below which a difference of two values of Φ says nothing."""


@final
@frozen(eq=False)
class Past:
    """The step that made Y^k from Y^{k−1}; at the start Y^{−1} = Ȳ = Y^0."""

    Y_prev: Blocks
    Y_bar: Blocks
    look: Look
    kernel: Kernel
    step: float
    divergence: float
    """D_{ψ_{k−1}}(Y^{k−1}, Y^k)"""
    memory: Any
    """of the β rule"""


@final
@frozen(eq=False)
class Plan:
    """Everything decided for the step from Y^k, made before the step is taken."""

    past: Past
    step: float
    beta: float
    Y_bar: Blocks
    look: Look
    kernel: Kernel
    smad: Smad | None
    memory: Any


def doors(problem: Problem) -> tuple[Oracle, BregmanProx]:
    """The oracle and the proximal map of a resolved problem."""
    if problem.oracle is None or problem.prox is None:
        raise IncompatibleError(
            f"The {problem.name} has no oracle or proximal map yet: "
            "use bregopt.solve, which asks the plugins, or pass both to Problem(...)."
        )
    return problem.oracle, problem.prox


def gradient_of(look: Look) -> Blocks:
    """The gradient of a look that was asked for one."""
    if look.gradient is None:
        raise IncompatibleError("An oracle was asked for a gradient and returned a Look without one.")
    return look.gradient


def proximal_step(problem: Problem, plan: Plan) -> Blocks:
    """``argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` with ``P = λ∇F(Ȳ, W) − ∇ψ(Ȳ)``."""
    _, prox = doors(problem)
    P = gradient_of(plan.look) * plan.step - plan.kernel.gradient(plan.Y_bar)
    if not math.isfinite(P.norm()):
        raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
    return prox(P, plan.step, plan.kernel)


def fall(step: Plan | Past, Y: Blocks) -> Blocks:
    """``(∇ψ(Ȳ) − ∇ψ(Y))/λ``: less the gradient at Ȳ it lies in ∂H(Y), and its norm is the free residual of the step."""
    return (step.kernel.gradient(step.Y_bar) - step.kernel.gradient(Y)) * (1.0 / step.step)


def limit(smad: Smad | None) -> float | None:
    """1/L, the longest step that needs no test."""
    return None if smad is None else 1.0 / smad.upper


def upper_test(plan: Plan, Y: Blocks, seen: Look) -> Trial:
    """The step from Ȳ to Y, judged by differences of looks."""
    base = plan.look.value if plan.look.value_at is None else plan.look.value_at
    slope = gradient_of(plan.look).dot(Y - plan.Y_bar)
    noise = ROUNDING * (abs(base) + abs(seen.value))
    return Trial(plan.step, seen.value - base - slope, plan.kernel.divergence(Y, plan.Y_bar), noise)


def assumptions_met(
    problem: Problem, plan: Plan, Y: Blocks, rule: Extrapolation, trial: Trial | None
) -> Mapping[str, bool]:
    """Whether the step planned at Y met the assumptions of the descent theorem."""
    longest, modulus = limit(plan.smad), problem.regularizer.weak_convexity
    spare = (1 - rule.delta) * plan.kernel.strong_convexity
    return {
        "step": (trial is not None and trial.holds) or (longest is not None and plan.step <= longest * (1 + ROUNDING)),
        "extrapolation": _extrapolation_met(plan, Y, rule),
        "convexity": not rule.moves or (modulus is not None and modulus * plan.step <= spare),
        "proximal map": problem.exact_prox and (modulus is None or modulus * plan.step <= plan.kernel.strong_convexity),
    }


def _extrapolation_met(plan: Plan, Y: Blocks, rule: Extrapolation) -> bool:
    if plan.beta == 0 or np.array_equal(plan.Y_bar.flat, Y.flat):
        return True
    if plan.smad is None:
        return False
    D = plan.kernel.divergence(Y, plan.Y_bar)
    gaps = [] if plan.smad.lower is None else [plan.smad.lower * D]
    gaps += [] if plan.smad.low is None else [plan.smad.low.divergence(Y, plan.Y_bar)]
    budget = (rule.delta - rule.epsilon) * plan.past.divergence / plan.past.step
    rounding = 1e-9 + 1e-15 * Y.norm() / (plan.Y_bar - Y).norm()  # Ȳ is rounded to the last digits of Y
    return D / plan.step + min(gaps, default=math.inf) <= budget * (1 + rounding)
