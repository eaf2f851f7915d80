"""CoCaIn BPG: β as large as the curvature from below allows, τ as long as that from above does."""

import math
from collections.abc import Callable
from operator import attrgetter
from typing import final

from attrs import evolve, field, frozen

from bregopt import (
    Assumption,
    Blocks,
    BregmanModel,
    Evaluation,
    Extrapolation,
    Kernel,
    KernelForecast,
    Method,
    Norms,
    ResolvedProblem,
    Smad,
    State,
    StepRule,
    Subgradient,
    TakenStep,
    Trial,
    assumptions_met,
    make,
    validate,
)
from bregopt.errors import IncompatibleError, OverflowedError

WARM = 0.9
"""Share of the last Llow that the next search begins with."""
TINY = 1e-290
"""A divergence below it has lost digits to underflow."""


def cocain(
    delta: float = 0.999,
    epsilon: float = 0.001,
    gamma: float = 0.99,
    step: float | str | StepRule = "backtrack",
    lower: float = 0.01,
    grow: float = 1.1,
    restart: bool = False,
) -> "CoCaIn":
    """CoCaIn BPG: a Bregman proximal gradient step from a point as far ahead as two backtracked constants allow.

    ``delta`` and ``epsilon`` are those of the β test, ``gamma`` is the largest β: 0 makes it BPG with backtracking. The
    search for Llow begins with 0.9 of the last one, at least ``lower``, and goes up by the factor ``grow`` or to the
    curvature that a failed test has shown. ``restart`` does as the authors do, from ``lower`` by ``grow`` at every
    iteration, for many more products. They shorten β by 0.9 from 1; here it is a root of the β test.
    """
    moving = {"cap": gamma, "delta": delta, "epsilon": epsilon}
    beta = make("extrapolation", "assumption2", **moving) if gamma else make("extrapolation", "zero")
    return CoCaIn(beta, make("step", step), lower, grow, restart)


@final
@frozen(eq=False)
class Point:
    """The model at Ȳ, with the Llow that β was chosen for."""

    model: BregmanModel
    beta: float
    lower: float
    forgiven: float = 0.0
    """what the lower test misses, which is rounding"""


@final
@frozen(eq=False)
class Carried:
    """What an iteration leaves to the next."""

    last: TakenStep
    seen: Evaluation
    """at Y^k"""
    lower: float
    """Llow of the last step"""
    step: float
    """τ to go on with"""


@final
@frozen(eq=False)
class TestedStep:
    """A step from Y^k as the assumptions are tested on it."""

    problem: ResolvedProblem
    point: Point
    beta_excess: float
    """what the β test misses"""
    beta_test: bool
    """the β test, up to rounding"""
    trial: Trial
    """the upper test"""
    extrapolates: bool
    taken: TakenStep
    reached: Blocks
    """Y^{k+1}"""

    @property
    def convexity(self) -> bool:
        return not self.extrapolates or self.problem.regularizer.weak_convexity is not None

    @property
    def proximal_map(self) -> bool:
        modulus, sigma = self.problem.regularizer.weak_convexity, self.point.model.kernel.strong_convexity
        return self.problem.exact_prox and (modulus is None or modulus * self.trial.step <= sigma)

    @property
    def extrapolation_forgives(self) -> float:
        return self.point.forgiven + self.beta_excess

    @property
    def proximal_map_forgives(self) -> float:
        return self.taken.model.rounding(self.reached, self.taken.Y_prev)


@final
@frozen
class CoCaIn(Method[Carried]):
    """Convex-concave inertial BPG on f(Y) = min_W F + G, for k = 0, 1, … with Y^{−1} = Y^0::

        Ȳ^k     = Y^k + β(Y^k − Y^{k−1}), with the largest β, and an Llow, for which
                  f(Y^k) ≥ f(Ȳ^k) + ⟨∇f(Ȳ^k), Y^k − Ȳ^k⟩ − Llow·D(Y^k, Ȳ^k)  and
                  (1/τ_k + Llow)·D(Y^k, Ȳ^k) ≤ ((δ − ε)/τ_{k−1})·D(Y^{k−1}, Y^k)
        Y^{k+1} = argmin_Y  H(Y) + ⟨∇f(Ȳ^k), Y − Ȳ^k⟩ + D(Y, Ȳ^k)/τ_k, with a τ_k for which
                  f(Y^{k+1}) ≤ f(Ȳ^k) + ⟨∇f(Ȳ^k), Y^{k+1} − Ȳ^k⟩ + D(Y^{k+1}, Ȳ^k)/τ_k

    A τ that has to fall leaves less room for β, which is then chosen again.
    """

    beta: Extrapolation = field(validator=validate.instance_of(Extrapolation, "an extrapolation rule"))
    step: StepRule = field(validator=validate.instance_of(StepRule, "a step rule"))
    lower: float = field(default=0.01, validator=validate.number(above=0))
    grow: float = field(default=1.1, validator=validate.number(above=1))
    restart: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        check_strong_convexity(problem, "cocain")

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Carried]:
        evaluation = problem.oracle.evaluate(Y, at=Y)
        kernel = problem.kernel.pick(True).kernel_at(evaluation.norms)
        smad = problem.smooth.constants(kernel, evaluation.norms, True)
        step = self.step.proposal(None, None if smad is None else 1.0 / smad.upper)
        rest = Carried(TakenStep.none(problem, evaluation, kernel), evaluation, self.lower, step)
        return State.at(evaluation, problem.regularizer.value(Y), inner=rest)

    def advance(self, problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
        past = state.inner
        lower = self.lower if self.restart else max(self.lower, WARM * past.lower)
        step = min(past.step, self._longest(problem, past.last.model.kernel))
        point = self._point(problem, past, step, lower)
        model, Y, seen, trial, carried = self._step(problem, point)
        while trial.step < point.model.step and not self._beta_test(point, past, trial.step):
            point = self._point(problem, past, trial.step, point.lower)
            model, Y, seen, trial, carried = self._step(problem, point)

        D, H = model.kernel.divergence(state.Y, Y), problem.regularizer.value(Y)
        taken = TakenStep(state.iteration + 1, state.Y, model, D, None, state.objective)
        excess, passed = self._beta_excess(point, past, trial.step), self._beta_test(point, past, trial.step)
        tested = TestedStep(problem, point, excess, passed, trial, self.beta.moves, taken, Y)
        after = State.at(
            seen,
            H,
            iteration=state.iteration + 1,
            lag=self.beta.delta * D / trial.step if self.beta.moves else 0.0,
            step=trial.step,
            beta=point.beta,
            divergence=D,
            stationarity=model.residual(Y),
            assumptions=assumptions_met(self.assumptions, tested),
            inner=Carried(taken, seen, point.lower, carried),
        )
        return after.forgiven(state, self.assumptions, tested)

    def _point(self, problem: ResolvedProblem, past: Carried, step: float, lower: float) -> Point:
        """The first Ȳ, as Llow grows and β falls, that passes the lower test."""
        Y, last = past.seen.Y, past.last
        while True:
            forecast = KernelForecast(problem, Y, last, _promised(Smad(upper=1.0 / step, lower=lower)), reduced=True)
            beta = 0.0
            if last.divergence >= TINY:
                beta, _ = self.beta.choice(forecast.context(step), self.beta.begin())
            Y_bar = forecast.extrapolated(beta)
            evaluation = problem.oracle.evaluate(Y_bar, at=Y_bar)
            model = BregmanModel(problem, evaluation, forecast.policy.kernel_at(evaluation.norms), step)
            if beta == 0:
                return Point(model, beta, lower)
            trial = _lower_test(model, past.seen, lower)
            if trial.holds:
                return Point(model, beta, lower, trial.forgiven)
            lower = max(self.grow * lower, 0.0 if self.restart else trial.D_F / trial.D_psi)

    def _step(self, problem: ResolvedProblem, point: Point) -> tuple[BregmanModel, Blocks, Evaluation, Trial, float]:
        """Y^{k+1} by the first step, from the point's downward, that the rule accepts, and the step to go on with."""
        step = min(point.model.step, self._longest(problem, point.model.kernel))
        while True:
            model = evolve(point.model, step=step)
            try:
                Y = model.minimiser()
                seen = problem.oracle.evaluate(Y)
            except OverflowedError:  # a step that leaves the finite numbers is too long
                accepted, step = self.step.judgement(Trial(step, D_F=math.inf, D_psi=1.0, noise=0.0))
                if accepted:
                    raise
                continue
            trial = model.upper_test(Y, seen)
            accepted, step = self.step.judgement(trial)
            if accepted:
                return model, Y, seen, trial, step

    def _beta_test(self, point: Point, past: Carried, step: float) -> bool:
        """The β test at a point, for this τ, up to the rounding of Ȳ."""
        excess, Y, Y_bar = self._beta_excess(point, past, step), past.seen.Y, point.model.Y_bar
        return excess == 0 or excess <= self._budget(past) * (1e-9 + 1e-15 * Y.norm() / (Y_bar - Y).norm())

    def _beta_excess(self, point: Point, past: Carried, step: float) -> float:
        """How far the left side of the β test is above its right side."""
        if point.beta == 0:
            return 0.0
        cost = (1.0 / step + point.lower) * point.model.kernel.divergence(past.seen.Y, point.model.Y_bar)
        return max(cost - self._budget(past), 0.0)

    def _budget(self, past: Carried) -> float:
        """The right side of the β test."""
        return (self.beta.delta - self.beta.epsilon) / past.last.model.step * past.last.divergence

    def _longest(self, problem: ResolvedProblem, kernel: Kernel) -> float:
        """``(1 − δ)σ/ρ``, the longest step for a ρ-weakly convex H."""
        modulus = problem.regularizer.weak_convexity
        return (1 - self.beta.delta) * kernel.strong_convexity / modulus if modulus else math.inf

    def subgradient(self, problem: ResolvedProblem, state: State[Carried]) -> Subgradient | None:
        return None if state.iteration == 0 else state.inner.last.model.subgradient(state.Y)

    @property
    def lyapunov(self) -> str:
        return "Θ = Φ(Y^k) + (δ/τ)·D(Y^{k−1}, Y^k)" if self.beta.moves else "Φ(Y^k)"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (
            Assumption("step", "the upper test seen to hold", attrgetter("trial.holds"), attrgetter("trial.forgiven")),
            Assumption(
                "extrapolation",
                "the lower test seen to hold, and the β test with its Llow",
                attrgetter("beta_test"),
                attrgetter("extrapolation_forgives"),
            ),
            Assumption(
                "convexity",
                "H weakly convex, which bounds τ by (1 − δ)·σ/modulus; not needed where β = 0",
                attrgetter("convexity"),
            ),
            Assumption(
                "proximal map",
                "the Bregman proximal map of this kernel and H is known to be a global minimiser",
                attrgetter("proximal_map"),
                attrgetter("proximal_map_forgives"),
            ),
        )


def check_strong_convexity(problem: ResolvedProblem, method: str) -> None:
    """Refuse a ρ-weakly convex H with a kernel of no strong convexity: no step is known to have one minimiser."""
    modulus, kernel = problem.regularizer.weak_convexity, problem.kernel.pick(True).sample()
    if modulus and kernel.strong_convexity == 0:
        raise IncompatibleError(
            f"The method {method} bounds its step by σ/ρ, and the kernel {kernel!r} has σ = 0 where H is only "
            f"weakly convex, with ρ = {modulus:g}: add a multiple of psi2 to the kernel, or use aapb."
        )


def _promised(smad: Smad) -> Callable[[Kernel, Norms], Smad]:
    """What is taken for granted of every kernel, until a test says otherwise."""
    return lambda kernel, norms: smad


def _lower_test(model: BregmanModel, seen: Evaluation, lower: float) -> Trial:
    """``f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ − f(Y) ≤ Llow·D(Y, Ȳ)``: the upper test with the sign of D_f turned."""
    above = model.upper_test(seen.Y, seen)
    return Trial(1.0 / lower, -above.D_F, above.D_psi, above.noise)
