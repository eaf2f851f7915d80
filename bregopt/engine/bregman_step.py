"""A Bregman step with extrapolation: foreseen, planned and taken, and what the descent theorem assumes of it."""

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, final

from attrs import evolve, field, frozen

from bregopt.blocks import Blocks
from bregopt.engine.model import BregmanModel
from bregopt.engine.state import Assumption
from bregopt.part_errors import wrong_result
from bregopt.parts.kernel import Kernel, KernelPolicy, Norms
from bregopt.parts.oracle import ROUNDING, Evaluation
from bregopt.parts.smooth import Smad
from bregopt.problem import ResolvedProblem
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext, Forecast
from bregopt.rules.step import Trial

Promise = Callable[[Kernel, Norms], Smad | None]
"""What F promises of a kernel, for every W within these norms."""


@final
@frozen(eq=False)
class TakenStep:
    """The step that made Y^k from Y^{k−1}; before the first one Y^{−1} = Ȳ = Y^0."""

    iteration: int
    """k"""
    Y_prev: Blocks
    model: BregmanModel
    divergence: float
    """D_{ψ_{k−1}}(Y^{k−1}, Y^k)"""
    memory: Any
    """of the β rule"""
    objective: float
    """Φ(Y^{k−1})"""
    rise: float | None = None
    """Φ(Y^k) − Φ(Y^{k−1}), or that of the step before where Φ(Y^k) is not known yet"""

    @classmethod
    def none(cls, problem: ResolvedProblem, evaluation: Evaluation, kernel: Kernel, memory: Any = None) -> "TakenStep":
        """Before the first step, at the Y of an evaluation."""
        Y, model = evaluation.Y, BregmanModel(problem, evaluation, kernel, 1.0)
        return cls(0, Y, model, 0.0, memory, evaluation.value + problem.regularizer.value(Y))

    def forget(self, rule: Extrapolation) -> "TakenStep":
        """The same step, with the β rule as at the start."""
        return evolve(self, memory=rule.begin())


@final
@frozen(eq=False, slots=False)
class KernelForecast:
    """What is known of ψ_k at Y^k before W^{k+1} is: the kernel for bounds of its norms, and what F promises of it."""

    problem: ResolvedProblem
    Y: Blocks
    last: TakenStep
    promise: Promise
    reduced: bool
    """whether W is taken at the point of the gradient"""
    lagging: bool = False
    """whether W is taken at Y^k, whatever β is"""
    policy: KernelPolicy = field(init=False)
    _known: dict[float, Forecast] = field(init=False, factory=dict)

    @policy.default
    def _policy(self) -> KernelPolicy:
        return self.problem.kernel.pick(self.reduced)

    @cached_property
    def D(self) -> Blocks:
        """Y^k − Y^{k−1}; where the domain is open, as far as Y may be extrapolated along it."""
        D, kernel = self.Y - self.last.Y_prev, self.policy.sample()
        return D if kernel.everywhere else kernel.onward(self.Y, D)

    @property
    def steady(self) -> bool:
        """Whether the forecast is the same for every β."""
        return self.lagging or self.policy.sample() is self.policy

    def of(self, beta: float) -> Forecast:
        """The forecast for a β; what F promises may cost something, and is asked once."""
        beta = 0.0 if self.steady else beta
        if beta not in self._known:
            before = self.last.model.evaluation
            block = self.problem.block
            norms = block.bound_norms(before.norms, self.extrapolated(beta), before.Y)
            if not isinstance(norms, Mapping):
                raise wrong_result(block, "bound_norms", "a mapping of names to numbers", norms)
            kernel = self.policy.kernel_at(norms)
            self._known[beta] = Forecast(kernel, self.promise(kernel, norms))
        return self._known[beta]

    def extrapolated(self, beta: float) -> Blocks:
        """Ȳ^k = Y^k + β(Y^k − Y^{k−1})"""
        return self.Y if beta == 0 else self.Y.plus(beta, self.D)

    def longest_step(self) -> float | None:
        """1/L at Y^k, the longest step that needs no test; ``None`` where L is not known."""
        smad = self.of(0.0).smad
        return None if smad is None else 1.0 / smad.upper

    def context(self, step: float) -> ExtrapolationContext:
        """What the rule for β_k is told, where λ_k is planned so."""
        return ExtrapolationContext(
            iteration=self.last.iteration,
            Y=self.Y,
            D=self.D,
            step=step,
            step_prev=self.last.model.step,
            kernel_prev=self.last.model.kernel,
            divergence=self.last.divergence,
            longest=self.policy.sample().longest(self.Y, self.D),
            forecast=self.of,
            steady=self.steady,
            Y_bar_prev=self.last.model.Y_bar,
            rise=self.last.rise,
        )


@final
@frozen(eq=False)
class PlannedStep:
    """Everything decided for the step from Y^k, before it is taken: λ_k and ψ_k, β_k and Ȳ^k, and W^{k+1}."""

    Y: Blocks
    """Y^k"""
    last: TakenStep
    beta: float
    model: BregmanModel
    """λ, Ȳ, W and ψ"""
    memory: Any
    gap: float | None = None
    """F(Ȳ) + ⟨∇F(Ȳ), Y^k − Ȳ⟩ − F(Y^k), where it was evaluated"""

    def beta_test(self, rule: Extrapolation) -> bool:
        """Assumption 2 at Ȳ, for a kernel and a step that may change, with the gap of F or the least known bound."""
        if self.beta == 0 or self.model.Y_bar is self.Y:
            return True
        cost, budget = self._sides(rule)
        if cost <= budget:
            return True
        evaluation = self.model.evaluation
        if self.gap is not None:
            noise = evaluation.rounding * (evaluation.scale + abs(evaluation.value_at or 0.0))
        else:  # Ȳ is rounded to the last digits of Y
            noise = budget * (1e-9 + 1e-15 * self.Y.norm() / (self.model.Y_bar - self.Y).norm())
        return cost <= budget + noise

    def forgiven(self, rule: Extrapolation) -> float:
        """What the test of Assumption 2 misses, and what the gradient's rounding may where the gap is only bounded."""
        if self.beta == 0 or self.model.Y_bar is self.Y:
            return 0.0
        cost, budget = self._sides(rule)
        unseen = (
            self.model.evaluation.gradient_rounding * (self.Y - self.model.Y_bar).norm() if self.gap is None else 0.0
        )
        return max(cost - budget, 0.0) + unseen

    def shorter_beta(self, rule: Extrapolation) -> float:
        """A β that should pass, if both sides of the test grow like β²; zero where it would be tiny."""
        cost, budget = self._sides(rule)
        beta = self.beta * min(0.8, 0.95 * math.sqrt(budget / cost))
        return beta if beta > 1e-3 else 0.0

    def _sides(self, rule: Extrapolation) -> tuple[float, float]:
        """What Assumption 2 compares: D_{ψ_k}(Y, Ȳ)/λ_k + gap, and (δ − ε)·D_{ψ_{k−1}}(Y^{k−1}, Y)/λ_{k−1}."""
        step, Y, Y_bar = self.model.step, self.Y, self.model.Y_bar
        D = self.model.kernel.divergence(Y, Y_bar)
        budget = (rule.delta - rule.epsilon) * self.last.divergence / self.last.model.step
        if self.gap is not None:
            return D / step + self.gap, budget
        cost = (1.0 / step + 1.0) * D if self.model.one_smad else math.inf
        smad = self.model.smad if cost > budget else None
        if smad is not None and smad.lower is not None:
            cost = (1.0 / step + smad.lower) * D
        if smad is not None and smad.low is not None and cost > budget:
            cost = min(cost, D / step + smad.low.divergence(Y, Y_bar))
        return cost, budget


@final
@frozen(eq=False)
class BregmanStep:
    """A step that was taken from Y^k, as the assumptions are tested on it."""

    problem: ResolvedProblem
    plan: PlannedStep
    rule: Extrapolation
    trial: Trial | None
    """the upper test, where it was made"""
    guarded: bool
    """whether a step that raises Φ is taken again with β = 0"""
    reached: Blocks
    """Y^{k+1}"""


def _step(it: BregmanStep) -> bool:
    model = it.plan.model
    if (it.trial is not None and it.trial.holds) or (model.step <= 1.0 and model.one_smad):
        return True
    smad = model.smad
    return smad is not None and model.step <= 1.0 / smad.upper * (1 + ROUNDING)


def _step_forgives(it: BregmanStep) -> float:
    if it.trial is not None:
        return it.trial.forgiven
    return it.plan.model.evaluation.gradient_rounding * (it.reached - it.plan.model.Y_bar).norm()


def _extrapolation(it: BregmanStep) -> bool:
    return it.guarded or it.plan.beta_test(it.rule)


def _extrapolation_forgives(it: BregmanStep) -> float:
    return 0.0 if it.guarded else it.plan.forgiven(it.rule)


def _convexity(it: BregmanStep) -> bool:
    modulus, kernel = it.problem.regularizer.weak_convexity, it.plan.model.kernel
    spare = (1 - it.rule.delta) * kernel.strong_convexity
    return it.guarded or not it.rule.moves or (modulus is not None and modulus * it.plan.model.step <= spare)


def _proximal_map(it: BregmanStep) -> bool:
    modulus, model = it.problem.regularizer.weak_convexity, it.plan.model
    return it.problem.exact_prox and (modulus is None or modulus * model.step <= model.kernel.strong_convexity)


def _proximal_map_forgives(it: BregmanStep) -> float:
    return it.plan.model.rounding(it.reached, it.plan.Y)


ASSUMPTIONS = (
    Assumption("step", "λ ≤ 1/L, or the upper test seen to hold", _step, _step_forgives),
    Assumption(
        "extrapolation",
        "the β test (Assumption 2, for a kernel and a step that may change), or the guard",
        _extrapolation,
        _extrapolation_forgives,
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
        _proximal_map_forgives,
    ),
)
"""Of the descent theorem, each with its test of a BregmanStep, and with what rounding that forgives."""
