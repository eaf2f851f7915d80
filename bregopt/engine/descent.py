"""The descent theorem of Bregman steps with extrapolation: what it assumes of a step, each with its test."""

from typing import final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.method import Assumption
from bregopt.engine.planned_step import PlannedStep
from bregopt.parts.oracle import ROUNDING
from bregopt.problem import ResolvedProblem
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import Trial


@final
@frozen(eq=False)
class BregmanStep:
    """A step that was taken from Y^k, as the assumptions are tested on it."""

    problem: ResolvedProblem
    Y: Blocks
    """Y^k"""
    plan: PlannedStep
    rule: Extrapolation
    trial: Trial | None
    """the upper test, where it was made"""
    guarded: bool
    """whether a step that raises Φ is taken again with β = 0"""


def _step(it: BregmanStep) -> bool:
    seen = it.trial is not None and it.trial.holds
    return seen or (it.plan.smad is not None and it.plan.model.step <= 1.0 / it.plan.smad.upper * (1 + ROUNDING))


def _extrapolation(it: BregmanStep) -> bool:
    return it.guarded or it.plan.beta_test(it.Y, it.rule)


def _convexity(it: BregmanStep) -> bool:
    modulus, kernel = it.problem.regularizer.weak_convexity, it.plan.model.kernel
    spare = (1 - it.rule.delta) * kernel.strong_convexity
    return it.guarded or not it.rule.moves or (modulus is not None and modulus * it.plan.model.step <= spare)


def _proximal_map(it: BregmanStep) -> bool:
    modulus, model = it.problem.regularizer.weak_convexity, it.plan.model
    return it.problem.exact_prox and (modulus is None or modulus * model.step <= model.kernel.strong_convexity)


ASSUMPTIONS = (
    Assumption("step", "λ ≤ 1/L, or the upper test seen to hold", _step),
    Assumption(
        "extrapolation",
        "the β test (Assumption 2, for a kernel and a step that may change), or the guard",
        _extrapolation,
    ),
    Assumption(
        "convexity",
        "H convex, or weakly convex with modulus·λ ≤ (1 − δ)·σ; not needed where β = 0 or guarded",
        _convexity,
    ),
    Assumption(
        "proximal map",
        "the Bregman proximal map of this kernel and H is known to be a global minimiser",
        _proximal_map,
    ),
)
