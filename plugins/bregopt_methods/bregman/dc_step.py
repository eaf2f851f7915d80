"""What methods for H = r₁ − r₂ share: the convex parts, and a Bregman step on r₁ that takes r₂ by its slope."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property, partial
from operator import attrgetter
from typing import final

import numpy as np
from attrs import evolve, frozen

from bregopt import (
    Assumption,
    Blocks,
    BregmanModel,
    ConvexParts,
    Kernel,
    KernelForecast,
    Method,
    Regularizer,
    ResolvedProblem,
    Separable,
    Smad,
    State,
    Subgradient,
    TakenStep,
    assumptions_met,
    resolve_prox,
)
from bregopt.errors import IncompatibleError

WITHIN = 0.99
"""Share of the way to the edge of the kernel's domain that Ȳ may go."""
HALVINGS = 10
"""Of the step with which a proximal map of H shows whether ξ ∈ ∂H(Y)."""
DIGITS = 8.0 * 2.0**-52
"""A vector made by a few operations is known to that part of the largest vectors that went into it."""


@final
@frozen(eq=False, slots=False)
class SplitProblem:
    """``Φ = f + r₁ − r₂`` for f(Y) = min_W F + G. A checkpoint holds the problem alone: the rest is found again."""

    problem: ResolvedProblem
    method: str
    """which errors name"""

    @cached_property
    def parts(self) -> Mapping[str, ConvexParts]:
        """r₁ and the slope of r₂ by the names of the blocks, "" for all the others."""
        found = {name: H.convex_parts() for name, H in self._named.items()}
        for name, parts in found.items():
            if parts is None:
                raise IncompatibleError(
                    f"The method {self.method} needs H = r₁ − r₂ with both convex, and {self._named[name]!r} knows no "
                    "such parts: implement its method convex_parts, or use the method aapb, which needs none."
                )
        return {name: parts for name, parts in found.items() if parts is not None}

    @cached_property
    def convex(self) -> bool:
        """Whether H is r₁ itself, and r₂ = 0."""
        return all(self.parts[name].first is H for name, H in self._named.items())

    @cached_property
    def on_first(self) -> ResolvedProblem:
        """With r₁ in the place of H, and the Bregman proximal map of that."""
        if self.convex:
            return self.problem
        named = {name: parts.first for name, parts in self.parts.items()}
        first = Separable(named.pop(""), **named)
        prox = resolve_prox(self.problem.kernel.pick(True).sample(), first)
        return evolve(self.problem, regularizer=first, prox=prox, exact_prox=getattr(prox, "exact", True))

    def on(self, name: str) -> ConvexParts:
        """The parts of H on a block."""
        return self.parts.get(name, self.parts[""])

    def slope(self, Y: Blocks) -> Blocks:
        """``ξ₂ ∈ ∂r₂(Y)``."""
        return Y.map(lambda name, X: self.on(name).subgradient(X))

    @property
    def _named(self) -> Mapping[str, Regularizer]:
        H = self.problem.regularizer
        return {"": H[""], **H.named}


def subgradient(problem: ResolvedProblem, Y: Blocks, xi: Blocks, step: float, terms: float) -> Subgradient | None:
    """``∇F(Y, W(Y)) + ξ`` for ξ = ξ₁ − ξ₂ with ξᵢ ∈ ∂rᵢ(Y); ``terms`` is the size of the vectors it was made of.

    Where r₂ has a kink, ∂H(Y) may be smaller than ∂r₁(Y) − ∂r₂(Y). So ξ must be seen to be an element: by
    ``Y = prox_{tH}(Y + tξ)`` for a t ≤ step, up to the last digits. Else there is ``None``.
    """
    H = problem.regularizer
    if H.weak_convexity != 0:
        t = min(step, *(0.5 * part.step_limit for part in H.distinct()))
        seen = None if t == 0 else _size_seen(H, Y, xi, t, terms)
        if seen is None:
            return None
        terms += seen
    return Subgradient.at(problem.oracle.evaluate(Y, at=Y), xi, terms)


def _size_seen(H: Separable, Y: Blocks, xi: Blocks, t: float, terms: float) -> float | None:
    """The size of the vectors by which ξ ∈ ∂H(Y) was seen, or ``None``."""
    with np.errstate(over="ignore", invalid="ignore"):  # the weight of H may be of any size
        for _ in range(HALVINGS):
            size = Y.norm() / t + xi.norm()
            if (H.prox(Y.plus(t, xi), t) - Y).norm() / t <= DIGITS * (terms + size):
                return size
            t *= 0.5
    return None


@final
@frozen(eq=False)
class Majorant:
    """``f(Z) ≤ f(Ȳ) + ⟨∇f(Ȳ), Z − Ȳ⟩ + D_φ(Z, Ȳ)/λ − D_{f₂}(Z, Ȳ)``, and what is known of f from below."""

    kernel: Kernel
    """φ"""
    step: float
    """λ"""
    concave: Kernel | None = None
    """f₂, where f₁ = f + f₂ is convex and f is stepped on as f₁ − f₂; else zero"""
    low: Kernel | None = None
    """``−D_f − D_{f₂} ≤ D_low``; else zero"""
    extrapolates: bool = True
    """whether anything is known of f from below"""

    def cost(self, Y: Blocks, Y_bar: Blocks) -> float:
        """``D_φ(Y, Ȳ)/λ + D_low(Y, Ȳ)``, which a step from Ȳ may lose."""
        if Y_bar is Y:
            return 0.0
        if not self.extrapolates:
            return math.inf
        below = 0.0 if self.low is None else self.low.divergence(Y, Y_bar)
        return self.kernel.divergence(Y, Y_bar) / self.step + below


@final
@frozen(eq=False)
class DCPlan:
    """Everything decided for the step from Y^k: β_k and Ȳ^k, ∇f(Ȳ^k), φ_k and λ_k."""

    split: SplitProblem
    last: TakenStep
    beta: float
    memory: tuple[float, int]
    """θ, and the iterations since it was 1"""
    model: BregmanModel
    majorant: Majorant

    def shifted(self, Y: Blocks) -> BregmanModel:
        """The model with ``∇f(Ȳ) + ∇f₂(Ȳ) − ∇f₂(Y) − ξ₂(Y)`` for its gradient, Y = Y^k."""
        evaluation, f2 = self.model.evaluation, self.majorant.concave
        gradient = evaluation.gradient
        if f2 is not None and evaluation.at is not Y:
            gradient = gradient + (f2.gradient(evaluation.at) - f2.gradient(Y))
        if not self.split.convex:
            gradient = gradient - self.split.slope(Y)
        return evolve(self.model, evaluation=evolve(evaluation, gradient=gradient))


@final
@frozen(eq=False)
class DCStep:
    """A step that was taken, as the assumptions are tested on it."""

    plan: DCPlan
    made: BregmanModel
    Y: Blocks
    """Y^k"""
    reached: Blocks
    """Y^{k+1}"""
    budget: float
    """the right side of the β test"""

    @property
    def convexity(self) -> bool:
        return self.plan.split.on_first.regularizer.weak_convexity == 0

    @property
    def proximal_map(self) -> bool:
        return self.plan.split.on_first.exact_prox

    @property
    def excess(self) -> float:
        return max(self.plan.majorant.cost(self.Y, self.made.Y_bar) - self.budget, 0.0)

    @property
    def extrapolation(self) -> bool:
        away = (self.made.Y_bar - self.Y).norm()  # Ȳ is rounded to the last digits of Y
        return self.excess == 0 or self.excess <= self.budget * (1e-9 + 1e-15 * self.Y.norm() / away)

    @property
    def extrapolation_forgives(self) -> float:
        return self.excess + self.plan.model.evaluation.gradient_rounding * (self.Y - self.made.Y_bar).norm()

    @property
    def step_forgives(self) -> float:
        moved = (self.reached - self.made.Y_bar).norm()
        return (self.plan.model.evaluation.gradient_rounding + self.made.evaluation.gradient_rounding) * moved

    @property
    def proximal_map_forgives(self) -> float:
        return self.made.rounding(self.reached, self.Y)


def _known(step: DCStep) -> bool:
    """No step is made without an L: an F that promises none is refused."""
    return True


ASSUMPTIONS = (
    Assumption("step", "λ = 1/L, for the L that F promises", _known, attrgetter("step_forgives")),
    Assumption(
        "extrapolation",
        "the β test: a step from Ȳ may lose no more than a share of what the last one gained",
        attrgetter("extrapolation"),
        attrgetter("extrapolation_forgives"),
    ),
    Assumption("convexity", "H = r₁ − r₂ with both convex, as H claims by its convex parts", attrgetter("convexity")),
    Assumption(
        "proximal map",
        "the Bregman proximal map of this kernel and r₁ is known to be a global minimiser",
        attrgetter("proximal_map"),
        attrgetter("proximal_map_forgives"),
    ),
)


class DCMethod(Method[DCPlan]):
    """A Bregman step on f + r₁ − r₂, f(Y) = min_W F + G, for k = 0, 1, … with Y^{−1} = Y^0::

        Ȳ^k     = Y^k + β_k(Y^k − Y^{k−1})
        ξ₂      ∈ ∂r₂(Y^k)
        Y^{k+1} = argmin_Y  r₁(Y) + ⟨∇f₁(Ȳ^k) − ∇f₂(Y^k) − ξ₂, Y⟩ + D_φ(Y, Ȳ^k)/λ,   f = f₁ − f₂

    with D_{f₁} ≤ D_φ/λ and −D_{f₁} ≤ D_low. Both inequalities, the convexity of f₂ and r₂, and the minimum give::

        Φ(Y^{k+1}) + D_φ(Y^k, Y^{k+1})/λ  ≤  Φ(Y^k) + D_φ(Y^k, Ȳ^k)/λ + D_low(Y^k, Ȳ^k)

    So Φ + D_φ(Y^{k−1}, Y^k)/λ falls where the last two terms are at most D_φ(Y^{k−1}, Y^k)/λ, each with its own φ and
    λ: that is the β test. Where nothing is known of f from below, β = 0. W is taken at the point of the gradient.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """As the user writes it."""

    @property
    @abstractmethod
    def share(self) -> float:
        """How much of what the last step gained a step from Ȳ may lose; with 0 there is no extrapolation."""

    @abstractmethod
    def majorant(self, psi: Kernel, smad: Smad) -> Majorant:
        """φ, λ, f₂ and low, for a kernel and what F promises of it."""

    @abstractmethod
    def extrapolation(self, plan: "BetaChoice") -> tuple[float, tuple[float, int]]:
        """β_k, and θ with its age for the next choice."""

    @final
    def check(self, problem: ResolvedProblem) -> None:
        SplitProblem(problem, self.name).on_first  # noqa: B018  (found, or refused with what is missing)

    @final
    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[DCPlan]:
        split = SplitProblem(problem, self.name)
        evaluation = problem.oracle.evaluate(Y, at=Y)
        kernel = problem.kernel.pick(True).kernel_at(evaluation.norms)
        rest = TakenStep.none(problem, evaluation, kernel, (1.0, 0))
        return State.at(evaluation, problem.regularizer.value(Y), inner=self._plan(split, Y, rest))

    @final
    def advance(self, problem: ResolvedProblem, state: State[DCPlan]) -> State[DCPlan]:
        plan = state.inner
        made = plan.shifted(state.Y)
        Y = evolve(made, problem=plan.split.on_first).minimiser()
        D, H = made.kernel.divergence(state.Y, Y), problem.regularizer.value(Y)
        step = DCStep(plan, made, state.Y, Y, self.share * plan.last.divergence / plan.last.model.step)
        taken = TakenStep(state.iteration + 1, state.Y, made, D, plan.memory, state.objective)
        following = self._plan(plan.split, Y, taken)
        after = State.at(
            problem.oracle.evaluate(Y),
            H,
            iteration=state.iteration + 1,
            lag=D / made.step if self.share else 0.0,
            step=made.step,
            beta=plan.beta,
            divergence=D,
            stationarity=made.residual(Y),
            assumptions=assumptions_met(self.assumptions, step),
            inner=following,
        )
        return after.forgiven(state, self.assumptions, step)

    def _plan(self, split: SplitProblem, Y: Blocks, last: TakenStep) -> DCPlan:
        problem = split.problem
        forecast = KernelForecast(problem, Y, last, partial(problem.smooth.constants, reduced=True), reduced=True)
        beta, memory = 0.0, last.memory
        if self.share and last.divergence > 0:
            beta, memory = self.extrapolation(BetaChoice(self, forecast))
        Y_bar = forecast.extrapolated(beta)
        evaluation = problem.oracle.evaluate(Y_bar, at=Y_bar)
        psi = forecast.policy.kernel_at(evaluation.norms)
        majorant = self.bounded(problem, psi, problem.smooth.constants(psi, evaluation.norms, True))
        model = BregmanModel(problem, evaluation, majorant.kernel, majorant.step)
        return DCPlan(split, last, beta, memory, model, majorant)

    @final
    def bounded(self, problem: ResolvedProblem, psi: Kernel, smad: Smad | None) -> Majorant:
        """The majorant, or an error where F promises nothing."""
        if smad is None:
            raise IncompatibleError(
                f"The method {self.name} needs the constant L of F for its kernel, and {type(problem.smooth).__name__} "
                f"knows none for {psi!r}: implement SmoothPart.smad, or use the method aapb, which tests its steps."
            )
        return self.majorant(psi, smad)

    @final
    def subgradient(self, problem: ResolvedProblem, state: State[DCPlan]) -> Subgradient | None:
        if state.iteration == 0:
            return None
        made, Y = state.inner.last.model, state.Y
        psi, xi, terms = made.kernel.gradient(Y).norm(), made.subgradient_of_H(Y), made.evaluation.gradient.norm()
        terms += (made.grad_psi.norm() + psi) / made.step
        if not state.inner.split.convex:
            xi2 = state.inner.split.slope(Y)
            xi, terms = xi - xi2, terms + xi2.norm()
        return subgradient(problem, Y, xi, made.step * Y.norm() / psi if psi > 0 else made.step, terms)

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + D(Y^{k−1}, Y^k)/λ" if self.share else "Φ(Y^k)"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return ASSUMPTIONS


@final
@frozen(eq=False)
class BetaChoice:
    """What is known when β_k is chosen."""

    method: DCMethod
    forecast: KernelForecast

    @property
    def memory(self) -> tuple[float, int]:
        """θ and its age."""
        theta, age = self.forecast.last.memory
        return theta, age

    @property
    def longest(self) -> float:
        """β must stay within this for Ȳ to lie in the kernel's domain."""
        return WITHIN * self.forecast.policy.sample().longest(self.forecast.Y, self.forecast.D)

    def passes(self, beta: float) -> bool:
        """The β test, with bounds of the norms of W(Ȳ) where the kernel depends on them."""
        known, last = self.forecast.of(beta), self.forecast.last
        majorant = self.method.bounded(self.forecast.problem, known.kernel, known.smad)
        cost = majorant.cost(self.forecast.Y, self.forecast.extrapolated(beta))
        return cost <= self.method.share * last.divergence / last.model.step
