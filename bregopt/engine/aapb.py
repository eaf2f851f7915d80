"""AAPB: W in closed form, Y by one Bregman proximal step with extrapolation; β = 0 gives APB."""

import math
from collections.abc import Mapping
from functools import cache
from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import validate
from bregopt.blocks import Blocks
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.plan import (
    Past,
    Plan,
    assumptions_met,
    beta_test,
    doors,
    fall,
    limit,
    lower_gap,
    proximal_step,
    residual,
    shorter_beta,
    upper_test,
)
from bregopt.engine.state import State
from bregopt.errors import OverflowedError
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.oracle import Evaluation, gradient_of
from bregopt.problem import Problem
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext, Forecast
from bregopt.rules.step import StepRule, Trial


@final
@frozen
class AAPB(Method):
    """Accelerated alternating partial Bregman, for k = 0, 1, … with Y^{−1} = Y^0::

        W^{k+1} = argmin_W  F(Y^k, W) + G(W)                           (w="Ybar": F(Ȳ^k, W))
        Ȳ^k     = Y^k + β_k (Y^k − Y^{k−1})
        Y^{k+1} = argmin_Y  H(Y) + ⟨∇F(Ȳ^k, W^{k+1}), Y − Ȳ^k⟩ + D_ψ(Y, Ȳ^k)/λ_k

    With ``guard`` a step that would raise Φ is taken again with β_k = 0, and the β rule begins anew. State k holds Y^k
    with the plan of its step, so the one evaluation of an iteration also shows Φ(Y^k, W(Y^k)).
    """

    beta: Extrapolation = field(validator=validate.instance_of(Extrapolation, "an extrapolation rule"))
    step: StepRule = field(validator=validate.instance_of(StepRule, "a step rule"))
    w: str = field(default="Y", validator=validate.one_of("Y", "Ybar"))
    guard: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))
    kernel: KernelPolicy | None = None

    def start(self, problem: Problem, Y: Blocks) -> State:
        evaluation = self._evaluate(problem, Y, Y)
        kernel, H = self._policy(problem).at(evaluation.norms), problem.regularizer.value(Y)
        rest = Past(
            Y, Y, evaluation, kernel, 1.0, divergence=0.0, memory=self.beta.begin(), objective=evaluation.value + H
        )
        return State.at(evaluation, H, inner=self._plan(problem, 0, Y, rest, carried=None, known=evaluation))

    def advance(self, problem: Problem, state: State) -> State:
        plan, Y, carried, seen, trial = self._accepted_step(problem, state)
        D, H = plan.kernel.divergence(state.Y, Y), problem.regularizer.value(Y)
        rise = seen.value + H - state.objective if seen else state.objective - plan.past.objective
        made = plan.evaluation, plan.kernel, plan.step, D, plan.memory
        past = Past(state.Y, plan.Y_bar, *made, objective=state.objective, rise=rise)
        ahead = self._plan(problem, state.iteration + 1, Y, past, carried, seen=seen)
        seen = ahead.evaluation if ahead.evaluation.Y is Y else seen or doors(problem)[0].evaluate(Y)

        lag = self.beta.delta * D / plan.step if self.beta.moves and not self.guard else 0.0
        return State.at(
            seen,
            H,
            iteration=state.iteration + 1,
            lag=lag,
            step=plan.step,
            beta=plan.beta,
            divergence=D,
            stationarity=residual(plan, Y),
            assumptions=assumptions_met(problem, plan, state.Y, self.beta, trial, self.guard),
            inner=ahead,
        )

    def _accepted_step(
        self, problem: Problem, state: State
    ) -> tuple[Plan, Blocks, float, Evaluation | None, Trial | None]:
        """Y^{k+1} and the step to carry on with; a step that is refused is planned again, shorter or without β."""
        plan, k = state.inner, state.iteration
        while self._looks_first:
            accepted, carried, trial = True, plan.step, None
            try:
                Y = proximal_step(problem, plan)
                seen = doors(problem)[0].evaluate(Y)
                trial = upper_test(plan, Y, seen) if self.step.tests else None
            except OverflowedError:  # a step that leaves the finite numbers is too long, unless none is short enough
                trial = Trial(plan.step, D_F=math.inf, D_psi=1.0, noise=0.0)
                if not self.step.tests or self.step.judge(trial)[0]:
                    raise
            if trial is not None:
                accepted, carried = self.step.judge(trial)
            if not accepted:
                plan = self._plan(
                    problem, state.iteration, state.Y, plan.past, carried, known=plan.evaluation, seen=plan.seen
                )
            elif self.guard and plan.beta > 0 and self._rises(problem, state, Y, seen):
                past = evolve(plan.past, memory=self.beta.begin())
                plan = self._plan(problem, k, state.Y, past, carried, still=True)
            else:
                return plan, Y, carried, seen, trial
        return plan, proximal_step(problem, plan), plan.step, None, None

    def _rises(self, problem: Problem, state: State, Y: Blocks, seen: Evaluation) -> bool:
        objective = seen.value + problem.regularizer.value(Y)
        return not objective <= state.objective + seen.rounding * max(state.scale, seen.scale)

    def _plan(
        self,
        problem: Problem,
        k: int,
        Y: Blocks,
        past: Past,
        carried: float | None,
        known: Evaluation | None = None,
        seen: Evaluation | None = None,
        still: bool = False,
    ) -> Plan:
        """λ_k, then β_k and Ȳ^k, then W^{k+1} and ∇F(Ȳ^k, W^{k+1}).

        A ``known`` evaluation is used again if it fits; ``seen`` is one of the value at Y; ``still`` sets β_k = 0.
        """
        policy, D = self._policy(problem), Y - past.Y_prev
        steady = self.w == "Y" or policy.sample() is policy

        @cache
        def forecast(beta: float) -> Forecast:
            place = Y if steady or beta == 0 else Y.plus(beta, D)
            norms = problem.block.bound_norms(past.evaluation.norms, place, past.evaluation.Y)
            kernel = policy.at(norms)
            return Forecast(kernel, problem.smooth.constants(kernel, norms, self.reduced))

        step = self.step.propose(carried, limit(forecast(0.0).smad) if self.step.needs_limit(carried) else None)
        beta, memory = 0.0, past.memory
        if past.divergence > 0:
            longest = policy.sample().longest(Y, D)
            ahead = (lambda beta: forecast(0.0)) if steady else forecast
            before = past.step, past.kernel, past.divergence
            context = ExtrapolationContext(k, Y, D, step, *before, longest, ahead, steady, past.Y_bar, past.rise)
            beta, memory = self.beta.choose(context, past.memory)
        beta = 0.0 if still else beta
        while True:
            Y_bar = Y if beta == 0 else Y.plus(beta, D)
            evaluation = self._evaluate(problem, Y, Y_bar, known)
            kernel = policy.at(evaluation.norms)
            smad = problem.smooth.constants(kernel, evaluation.norms, evaluation.reduced)
            gap = lower_gap(Y, evaluation, seen) if self.beta.exact and beta > 0 else None
            plan = Plan(past, step, beta, Y_bar, evaluation, kernel, kernel.gradient(Y_bar), smad, memory, gap, seen)
            if gap is None or beta_test(plan, Y, self.beta):
                return plan
            beta = shorter_beta(plan, Y, self.beta)

    def _evaluate(self, problem: Problem, Y: Blocks, Y_bar: Blocks, known: Evaluation | None = None) -> Evaluation:
        if known is not None and known.at is not None and np.array_equal(known.at.flat, Y_bar.flat):
            return known
        place = Y_bar if self.w == "Ybar" else Y
        return doors(problem)[0].evaluate(place, at=Y_bar, value_at=self.step.tests or self.beta.exact)

    def _policy(self, problem: Problem) -> KernelPolicy:
        return (self.kernel or problem.kernel).pick(self.reduced)

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """A = ∇F(Y, W(Y)) + ξ, with ξ ∈ ∂H(Y) from the proximal step that made Y."""
        Y, plan = state.Y, state.inner
        if state.iteration == 0:
            return None
        evaluation = (
            plan.evaluation
            if plan.evaluation.reduced and plan.evaluation.Y is Y
            else doors(problem)[0].evaluate(Y, at=Y)
        )
        gradient, xi = gradient_of(evaluation), fall(plan.past, Y) - gradient_of(plan.past.evaluation)
        return Subgradient(gradient + xi, gradient.norm())

    @property
    def reduced(self) -> bool:
        """Whether W is always taken at the point of the gradient."""
        return self.w == "Ybar" or not self.beta.moves

    @property
    def _looks_first(self) -> bool:
        """Whether Φ(Y^{k+1}) is evaluated before the step is taken for good."""
        return self.step.tests or self.guard or (self.beta.exact and self.w == "Ybar")

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + (δ/λ)·D(Y^{k−1}, Y^k)" if self.beta.moves and not self.guard else "Φ(Y^k)"

    @property
    def assumptions(self) -> Mapping[str, str]:
        return {
            "step": "λ ≤ 1/L, or the upper test seen to hold",
            "extrapolation": "the β test (Assumption 2, for a kernel and a step that may change), or the guard",
            "convexity": "H convex, or weakly convex with modulus·λ ≤ (1 − δ)·σ; not needed where β = 0 or guarded",
            "proximal map": "the Bregman proximal map of this kernel and H is known to be a global minimiser",
        }
