"""BELLA: quasi-Newton steps on the Bregman forward–backward residual, held by its envelope."""

import math
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from typing import final

from attrs import field, frozen

from bregopt import (
    Assumption,
    Blocks,
    BregmanModel,
    Evaluation,
    Method,
    ResolvedProblem,
    State,
    Subgradient,
    assumptions_met,
    validate,
)
from bregopt.errors import OverflowedError
from bregopt_methods.acceleration.lbfgs import LBFGS
from bregopt_methods.bregman.cocain import check_strong_convexity

MARGIN = 0.95
"""α < 1: the upper test asks for D_f ≤ α·D_ψ/λ, so that a step gains at least (1 − α)·D_ψ/λ."""
SHORTEST = 1e-30
"""The least λ, or share of the one that a weakly convex H asks for."""
BACK = 0.25
"""τ falls by this factor from trial to trial."""
PATIENCE = 5
"""Iterations with the same λ before it may grow under quasi-Newton steps."""
WITHIN = 0.99
"""Share of the way to the edge of the kernel's domain that a trial may go."""
DRIFT = 3.0
"""Once λ/σ has changed by this factor, the pairs speak of another residual."""


@final
@frozen
class BELLA(Method["Carried | None"]):
    """L-BFGS directions on the Bregman proximal residual of f(Y) = min_W F + G, held by an envelope; Ȳ^0 = Y^0::

        Y^{k+1} = argmin_Y  H(Y) + ⟨∇f(Ȳ^k), Y − Ȳ^k⟩ + D_ψ(Y, Ȳ^k)/λ_k,  with the minimum E_λ(Ȳ^k) ≥ Φ(Y^{k+1})
        r^k     = (Ȳ^k − Y^{k+1})/λ_k,  d^k = −B_k r^k  with B_k from the pairs (ΔȲ, Δr)
        Ȳ^{k+1} = (1 − τ)Y^{k+1} + τ(Ȳ^k + d^k),  with the first of τ = 1, 1/4, 1/16, … for which
                  E(Ȳ^{k+1}) ≤ E(Ȳ^k) − σ(E(Ȳ^k) − Φ(Y^{k+1})),  or τ = 0 after so many ``trials``

    E never rises, although λ_k and even ψ may change: the upper test of λ_k makes Φ(Y^{k+1}) ≤ E(Ȳ^k); a Ȳ^{k+1} with
    τ > 0 is taken by its value of E, with the λ that passed the test there; and τ = 0 has E(Y^{k+1}) ≤ Φ(Y^{k+1}) for
    every λ and ψ. What the theory says beyond descent is for one ψ; a kernel that follows W is taken at W(Ȳ^k).

    λ is shortened where the test fails. It grows towards ``target`` over the curvature D_f/D_ψ of the last step: at
    once after τ = 0, otherwise after five iterations, where twice as long is wanted. So no λ stays short for long.
    A state shows Y^k with its own objective and metrics where λ was tested; else E, and the metrics of Ȳ^{k−1}.
    Four products an iteration, three more for each trial that is refused.
    """

    memory: int = field(default=10, validator=validate.whole(at_least=0))
    sigma: float = field(default=0.1, validator=validate.number(above=0, below=1))
    target: float = field(default=0.6, validator=validate.number(above=0, at_most=MARGIN))
    trials: int = field(default=3, validator=validate.whole(at_least=0))

    def check(self, problem: ResolvedProblem) -> None:
        check_strong_convexity(problem, "bella")

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State["Carried | None"]:
        evaluation = problem.oracle.evaluate(Y, at=Y)
        return State.at(evaluation, problem.regularizer.value(Y), inner=None)

    def advance(self, problem: ResolvedProblem, state: State["Carried | None"]) -> State["Carried | None"]:
        carried = self._begin(problem, state.Y) if state.inner is None else self._advanced(problem, state.inner)
        step, envelope = carried.step, carried.step.envelope
        after = State(
            iteration=state.iteration + 1,
            Y=envelope.Y,
            objective=step.objective,
            metrics=(step.seen or envelope.model.evaluation).metrics,
            lyapunov=envelope.value,
            scale=envelope.scale,
            rounding=envelope.model.evaluation.rounding,
            step=envelope.model.step,
            divergence=envelope.model.kernel.divergence(state.Y, envelope.Y),
            stationarity=envelope.model.residual(envelope.Y),
            assumptions=assumptions_met(self.assumptions, step),
            exact=step.seen is not None,
            inner=carried,
        )
        made = (step,) if state.inner is None else (state.inner.step, step)  # E(Ȳ^{k−1}) bounds Φ(Y^k) by its test
        return after.forgiven(state, self.assumptions, *made)

    def _begin(self, problem: ResolvedProblem, Y: Blocks) -> "Carried":
        evaluation = problem.oracle.evaluate(Y, at=Y)
        step = tested(problem, reached(problem, evaluation, free_step(problem, evaluation) or 1.0))
        return Carried(step, LBFGS(self.memory), pace(step.envelope.model))

    def _advanced(self, problem: ResolvedProblem, past: "Carried") -> "Carried":
        step, Y = past.planned(self.target), past.step.envelope.Y
        for Y_bar in past.trials(self.trials):
            following = self._tried(problem, past.step, Y_bar, step)
            if following is not None:
                return past.after(following, step, plain=False)
        evaluation = problem.oracle.evaluate(Y, at=Y)
        return past.after(tested(problem, reached(problem, evaluation, step)), step, plain=True)

    def _tried(self, problem: ResolvedProblem, last: "Step", Y_bar: Blocks, step: float) -> "Step | None":
        """The step from Ȳ, where its envelope is low enough before the test of λ, at no product, and after it."""
        evaluation = problem.oracle.evaluate(Y_bar, at=Y_bar)
        if not math.isfinite(evaluation.value):
            return None
        try:
            envelope = reached(problem, evaluation, step)
            following = tested(problem, envelope) if self._low(last, envelope) else None
        except OverflowedError:
            return None
        return following if following is not None and self._low(last, following.envelope) else None

    def _low(self, last: "Step", envelope: "Envelope") -> bool:
        """The test of the line search; where the values are rounding, the residual decides."""
        before = last.envelope
        rise, noise = envelope.value - before.value, before.model.evaluation.rounding * before.scale
        if rise <= -self.sigma * last.gain:
            return True
        return max(last.gain, rise) <= noise and envelope.residual.norm() < before.residual.norm()

    def subgradient(self, problem: ResolvedProblem, state: State["Carried | None"]) -> Subgradient | None:
        return None if state.inner is None else state.inner.step.envelope.model.subgradient(state.Y)

    @property
    def lyapunov(self) -> str:
        return "E_λ(Ȳ^{k−1}), the Bregman forward–backward envelope,"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (
            Assumption(
                "step",
                f"λ ≤ {MARGIN}/L, or the upper test with this margin seen to hold",
                attrgetter("holds"),
                attrgetter("forgiven"),
            ),
            Assumption(
                "proximal map",
                "the Bregman proximal map of this kernel and H is known to be a global minimiser",
                attrgetter("envelope.exact"),
                attrgetter("envelope.rounding"),
            ),
        )


@final
@frozen(eq=False, slots=False)
class Envelope:
    """``E_λ(Ȳ) = min_Y  f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ + H(Y) + D_ψ(Y, Ȳ)/λ``, with its minimiser ``Y = T_λ(Ȳ)``.

    E_λ(Ȳ) ≤ Φ(Ȳ), as the minimum is at most the value at Ȳ; it falls as λ grows; and E_λ(Ȳ) ≥ Φ(Y) where the upper
    test f(Y) ≤ f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ + D_ψ(Y, Ȳ)/λ holds.
    """

    model: BregmanModel
    Y: Blocks
    H: float
    """H(Y)"""
    slope: float
    """⟨∇f(Ȳ), Y − Ȳ⟩"""
    divergence: float
    """D_ψ(Y, Ȳ)"""

    @classmethod
    def of(cls, model: BregmanModel) -> "Envelope":
        """One proximal map and no product."""
        Y = model.minimiser()
        return cls(
            model, Y, model.problem.regularizer.value(Y), model.slope(Y), model.kernel.divergence(Y, model.Y_bar)
        )

    @property
    def value(self) -> float:
        return self.model.evaluation.value + self.slope + self.H + self.divergence / self.model.step

    @property
    def scale(self) -> float:
        """The sum of the absolute terms of the value."""
        return self.model.evaluation.scale + abs(self.slope) + abs(self.H) + self.divergence / self.model.step

    @cached_property
    def residual(self) -> Blocks:
        """``(Ȳ − Y)/λ``, which depends on λ only where H or ψ bend."""
        return (self.model.Y_bar - self.Y) * (1.0 / self.model.step)

    @property
    def exact(self) -> bool:
        """Whether Y is known to be a global minimiser."""
        problem, modulus = self.model.problem, self.model.problem.regularizer.weak_convexity
        unique = modulus is None or modulus * self.model.step <= self.model.kernel.strong_convexity
        return problem.exact_prox and unique

    @property
    def rounding(self) -> float:
        """What the last digits of Y are worth."""
        return self.model.rounding(self.Y, self.model.Y_bar)


@final
@frozen(eq=False)
class Step:
    """A step from Ȳ to Y = T_λ(Ȳ), with what the test of its λ showed."""

    envelope: Envelope
    seen: Evaluation | None = None
    """at Y; ``None`` where λ ≤ α/L needed no test"""
    holds: bool = True
    """the upper test, up to rounding"""
    curvature: float | None = None
    """max(D_f(Y, Ȳ), 0)/D_ψ(Y, Ȳ), where it was seen and is more than rounding"""
    excess: float | None = None
    """what Φ(Y) ≤ E_λ(Ȳ) misses, where it was tested"""

    @property
    def objective(self) -> float:
        """Φ(Y), or its bound E_λ(Ȳ)."""
        return self.envelope.value if self.seen is None else self.seen.value + self.envelope.H

    @property
    def gain(self) -> float:
        """What is known of E_λ(Ȳ) − Φ(Y)."""
        sure = (1.0 - MARGIN) * self.envelope.divergence / self.envelope.model.step
        return sure if self.seen is None else max(self.envelope.value - self.objective, 0.0)

    @property
    def forgiven(self) -> float:
        """What rounding may add to Φ(Y) ≤ E_λ(Ȳ): the excess that was seen, or what that of the gradient may."""
        if self.excess is not None:
            return self.excess
        return self.envelope.model.evaluation.gradient_rounding * (self.envelope.Y - self.envelope.model.Y_bar).norm()

    def wanted(self, target: float) -> float:
        """``target/curvature``: where nothing was seen a longer λ is worth a test; where all is rounding none is."""
        if self.curvature is not None:
            return target / self.curvature if self.curvature > 0 else math.inf
        return math.inf if self.seen is None else self.envelope.model.step


def free_step(problem: ResolvedProblem, evaluation: Evaluation) -> float:
    """α/L, the longest λ that needs no test; 0 where L is not known."""
    kernel = problem.kernel.pick(True).kernel_at(evaluation.norms)
    smad = problem.smooth.constants(kernel, evaluation.norms, True)
    return MARGIN / smad.upper if smad else 0.0


def reached(problem: ResolvedProblem, evaluation: Evaluation, step: float) -> Envelope:
    """E_λ at the Ȳ of an evaluation, with the first λ from ``step`` downward that stays among the finite numbers.

    Nor is it longer than α·σ/ρ: up to σ/ρ the proximal map of a ρ-weakly convex H has one minimiser.
    """
    kernel, modulus = problem.kernel.pick(True).kernel_at(evaluation.norms), problem.regularizer.weak_convexity
    step = min(step, MARGIN * kernel.strong_convexity / modulus) if modulus else step
    shortest = SHORTEST * min(step, 1.0)
    while step > shortest:
        try:
            return Envelope.of(BregmanModel(problem, evaluation, kernel, step))
        except OverflowedError:  # the step is too long
            step *= 0.25
    raise OverflowedError("No step is short enough to stay among the finite numbers.")


def tested(problem: ResolvedProblem, envelope: Envelope) -> Step:
    """The step with the first λ, from that of the envelope downward, that passes the test: one product for each."""
    free = free_step(problem, envelope.model.evaluation)
    while envelope.model.step > free:
        length = envelope.model.step
        step = _test(envelope, problem.oracle.evaluate(envelope.Y))
        if step.holds:
            return step
        share = _share(length * step.curvature) if step.curvature else 0.5
        shorter = max(share * length, min(free, 0.5 * length))
        if shorter <= SHORTEST:
            return step
        envelope = reached(problem, envelope.model.evaluation, shorter)
    return Step(envelope)


def _test(envelope: Envelope, seen: Evaluation) -> Step:
    if not math.isfinite(seen.value):
        return Step(envelope, seen, holds=False, curvature=math.inf)
    trial, share = envelope.model.upper_test(envelope.Y, seen), envelope.divergence / envelope.model.step
    silent = share <= trial.noise  # then the values say nothing of the curvature
    curvature = None if silent else max(trial.D_F, 0.0) / envelope.divergence
    return Step(envelope, seen, MARGIN * share + trial.noise >= trial.D_F, curvature, trial.forgiven)


def _share(excess: float) -> float:
    """The share of λ to go on with where λ·curvature is ``excess``: between a sixteenth and a half."""
    return min(max(0.9 * MARGIN / excess, 0.0625), 0.5)


@final
@frozen(eq=False)
class Carried:
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
        step, wanted = self.step.envelope.model.step, self.step.wanted(target)
        grows = wanted > step if self.plain else wanted > 2.0 * step and self.idle >= PATIENCE
        return min(wanted, 2.0 * step) if grows else step

    def trials(self, number: int) -> Iterator[Blocks]:
        """``(1 − τ)Y + τ(Ȳ + d)`` for τ = 1, 1/4, 1/16, …, all shorter where the kernel's domain ends before τ = 1."""
        if not self.pairs:
            return
        envelope = self.step.envelope
        flat = envelope.model.Y_bar.flat - self.pairs.apply(envelope.residual.flat)
        flat -= envelope.Y.flat
        direction = envelope.Y.like(flat)
        tau = min(1.0, WITHIN * envelope.model.kernel.longest(envelope.Y, direction))
        for trial in range(number):
            yield envelope.Y.plus(tau * BACK**trial, direction)

    def after(self, following: Step, planned: float, *, plain: bool) -> "Carried":
        """With one more step; pairs that led nowhere, or speak of another residual, are forgotten."""
        last, new = self.step.envelope, following.envelope
        idle = self.idle + 1 if planned == new.model.step == last.model.step else 0
        if not 1.0 / DRIFT < pace(new.model) / self.pace < DRIFT:
            return Carried(following, self.pairs.empty(), pace(new.model), plain, idle)
        pairs = self.pairs.empty() if plain else self.pairs
        pairs = pairs.seen(new.model.Y_bar.flat - last.model.Y_bar.flat, new.residual.flat - last.residual.flat)
        return Carried(following, pairs, self.pace, plain, idle)


def pace(model: BregmanModel) -> float:
    """λ/σ, the length of a Euclidean step up to a factor."""
    return model.step / (model.kernel.strong_convexity or 1.0)
