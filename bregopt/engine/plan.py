"""What a Bregman method carries from one iteration to the next, and what can be said of a step."""

import math
from collections.abc import Mapping
from typing import Any, final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import ROUNDING, Evaluation, Oracle, gradient_of
from bregopt.parts.prox import BregmanProx
from bregopt.parts.smooth import Smad
from bregopt.problem import Problem
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import Trial


@final
@frozen(eq=False)
class Past:
    """The step that made Y^k from Y^{k−1}; at the start Y^{−1} = Ȳ = Y^0."""

    Y_prev: Blocks
    Y_bar: Blocks
    evaluation: Evaluation
    kernel: Kernel
    step: float
    divergence: float
    """D_{ψ_{k−1}}(Y^{k−1}, Y^k)"""
    memory: Any
    """of the β rule"""
    objective: float
    """Φ(Y^{k−1})"""
    rise: float | None = None
    """Φ(Y^k) − Φ(Y^{k−1}), or that of the step before"""


@final
@frozen(eq=False)
class Plan:
    """Everything decided for the step from Y^k, made before the step is taken."""

    past: Past
    step: float
    beta: float
    Y_bar: Blocks
    evaluation: Evaluation
    kernel: Kernel
    mirror: Blocks
    """∇ψ(Ȳ)"""
    smad: Smad | None
    memory: Any
    gap: float | None = None
    """F(Ȳ) + ⟨∇F(Ȳ), Y^k − Ȳ⟩ − F(Y^k), where it was evaluated"""
    seen: Evaluation | None = None
    """an evaluation of the value at Y^k, where there was one"""


def doors(problem: Problem) -> tuple[Oracle, BregmanProx]:
    """The oracle and the proximal map of a resolved problem."""
    if problem.oracle is None or problem.prox is None:
        raise IncompatibleError(
            f"The {problem.name} has no oracle or proximal map yet: "
            "use bregopt.solve, which asks the plugins, or pass both to Problem(...)."
        )
    return problem.oracle, problem.prox


def proximal_step(problem: Problem, plan: Plan) -> Blocks:
    """``argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` with ``P = λ∇F(Ȳ, W) − ∇ψ(Ȳ)``."""
    _, prox = doors(problem)
    P = gradient_of(plan.evaluation).flat * plan.step
    P -= plan.mirror.flat
    if not math.isfinite(P.sum()):  # whose squares may overflow where it does not
        raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
    return prox(plan.Y_bar.like(P), plan.step, plan.kernel)


def residual(plan: Plan, Y: Blocks) -> float:
    """``|∇ψ(Ȳ) − ∇ψ(Y)|/λ``, the free residual of the step from Ȳ to Y."""
    return math.sqrt(plan.mirror.gap(plan.kernel.gradient(Y))[0]) / plan.step


def fall(past: Past, Y: Blocks) -> Blocks:
    """``(∇ψ(Ȳ) − ∇ψ(Y))/λ``: less the gradient at Ȳ it lies in ∂H(Y)."""
    return (past.kernel.gradient(past.Y_bar) - past.kernel.gradient(Y)) * (1.0 / past.step)


def limit(smad: Smad | None) -> float | None:
    """1/L, the longest step that needs no test."""
    return None if smad is None else 1.0 / smad.upper


def upper_test(plan: Plan, Y: Blocks, seen: Evaluation) -> Trial:
    """The step from Ȳ to Y, judged by differences of evaluations."""
    base = plan.evaluation.value if plan.evaluation.value_at is None else plan.evaluation.value_at
    slope = gradient_of(plan.evaluation).dot(Y - plan.Y_bar)
    noise = seen.rounding * (plan.evaluation.scale + seen.scale)
    return Trial(plan.step, seen.value - base - slope, plan.kernel.divergence(Y, plan.Y_bar), noise)


def lower_gap(Y: Blocks, evaluation: Evaluation, seen: Evaluation | None) -> float:
    """``F(Ȳ) + ⟨∇F(Ȳ), Y − Ȳ⟩ − F(Y)`` with the W of the evaluation; what a reduced one needs of Y was ``seen``."""
    if evaluation.at is None:
        raise IncompatibleError("The gap needs an evaluation with a gradient.")
    here, there = (
        (evaluation.value, evaluation.value_at)
        if evaluation.Y is Y
        else (seen.value if seen else None, evaluation.value)
    )
    if here is None or there is None:
        raise IncompatibleError("The gap needs both values of F: the oracle was not asked for them, or left them out.")
    return there + gradient_of(evaluation).dot(Y - evaluation.at) - here


def assumptions_met(
    problem: Problem, plan: Plan, Y: Blocks, rule: Extrapolation, trial: Trial | None, guarded: bool
) -> Mapping[str, bool]:
    """Whether the step planned at Y met the assumptions of the descent theorem; a guarded step needs less of them."""
    longest, modulus = limit(plan.smad), problem.regularizer.weak_convexity
    spare = (1 - rule.delta) * plan.kernel.strong_convexity
    free = guarded or not rule.moves
    return {
        "step": (trial is not None and trial.holds) or (longest is not None and plan.step <= longest * (1 + ROUNDING)),
        "extrapolation": guarded or beta_test(plan, Y, rule),
        "convexity": free or (modulus is not None and modulus * plan.step <= spare),
        "proximal map": problem.exact_prox and (modulus is None or modulus * plan.step <= plan.kernel.strong_convexity),
    }


def beta_test(plan: Plan, Y: Blocks, rule: Extrapolation) -> bool:
    """Assumption 2 at Ȳ, for a kernel and a step that may change, with the gap of F or the least bound known of it."""
    if plan.beta == 0 or plan.Y_bar is Y:
        return True
    cost, budget = _sides(plan, Y, rule)
    if cost <= budget:
        return True
    if plan.gap is not None:
        noise = plan.evaluation.rounding * (plan.evaluation.scale + abs(plan.evaluation.value_at or 0.0))
    else:
        noise = budget * (1e-9 + 1e-15 * Y.norm() / (plan.Y_bar - Y).norm())  # Ȳ is rounded to the last digits of Y
    return cost <= budget + noise


def shorter_beta(plan: Plan, Y: Blocks, rule: Extrapolation) -> float:
    """A β that should pass, if both sides of the test grow like β²; zero where it would be tiny."""
    cost, budget = _sides(plan, Y, rule)
    beta = plan.beta * min(0.8, 0.95 * math.sqrt(budget / cost))
    return beta if beta > 1e-3 else 0.0


def _sides(plan: Plan, Y: Blocks, rule: Extrapolation) -> tuple[float, float]:
    """What Assumption 2 compares: D_{ψ_k}(Y, Ȳ)/λ_k + gap, and (δ − ε)·D_{ψ_{k−1}}(Y^{k−1}, Y)/λ_{k−1}."""
    D = plan.kernel.divergence(Y, plan.Y_bar)
    budget = (rule.delta - rule.epsilon) * plan.past.divergence / plan.past.step
    if plan.gap is not None:
        return D / plan.step + plan.gap, budget
    if plan.smad is None:
        return math.inf, budget
    cost = math.inf if plan.smad.lower is None else (1.0 / plan.step + plan.smad.lower) * D
    if cost > budget and plan.smad.low is not None:
        cost = min(cost, D / plan.step + plan.smad.low.divergence(Y, plan.Y_bar))
    return cost, budget
