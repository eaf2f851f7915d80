"""AAPB: W in closed form, Y by one Bregman proximal step with extrapolation; β = 0 gives APB."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import validate
from bregopt.blocks import Blocks
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.plan import (
    Past,
    Plan,
    assumptions_met,
    doors,
    fall,
    gradient_of,
    limit,
    proximal_step,
    upper_test,
)
from bregopt.engine.state import State
from bregopt.errors import OverflowedError
from bregopt.parts.oracle import Look
from bregopt.problem import Problem
from bregopt.rules.extrapolation import Extrapolation, Move, Outlook
from bregopt.rules.step import StepRule, Trial


@final
@frozen
class AAPB(Method):
    """Accelerated alternating partial Bregman, for k = 0, 1, … with Y^{−1} = Y^0::

        W^{k+1} = argmin_W  F(Y^k, W) + G(W)                           (w="Ybar": F(Ȳ^k, W))
        Ȳ^k     = Y^k + β_k (Y^k − Y^{k−1})
        Y^{k+1} = argmin_Y  H(Y) + ⟨∇F(Ȳ^k, W^{k+1}), Y − Ȳ^k⟩ + D_ψ(Y, Ȳ^k)/λ_k

    State k holds Y^k with the plan of its step, so the one look of an iteration also shows Φ(Y^k, W(Y^k)).
    """

    beta: Extrapolation = field(validator=validate.instance_of(Extrapolation, "an extrapolation rule"))
    step: StepRule = field(validator=validate.instance_of(StepRule, "a step rule"))
    w: str = field(default="Y", validator=validate.one_of("Y", "Ybar"))

    def start(self, problem: Problem, Y: Blocks) -> State:
        look = self._look(problem, Y, Y)
        kernel = problem.kernel.pick(self.reduced).at(look.norms)
        rest = Past(Y, Y, look, kernel, step=1.0, divergence=0.0, memory=self.beta.begin())
        plan = self._plan(problem, 0, Y, rest, carried=None, known=look)
        objective = look.value + problem.regularizer.value(Y)
        return State(
            iteration=0,
            Y=Y,
            objective=objective,
            metrics=look.metrics,
            lyapunov=objective,
            scale=abs(objective),
            inner=plan,
        )

    def advance(self, problem: Problem, state: State) -> State:
        plan, Y, carried, seen, trial = self._accepted_step(problem, state)
        D = plan.kernel.divergence(state.Y, Y)
        past = Past(state.Y, plan.Y_bar, plan.look, plan.kernel, plan.step, D, plan.memory)
        ahead = self._plan(problem, state.iteration + 1, Y, past, carried)
        seen = ahead.look if ahead.look.Y is Y else seen or doors(problem)[0].look(Y)

        H = problem.regularizer.value(Y)
        lag = self.beta.delta * D / plan.step if self.beta.moves else 0.0
        return State(
            iteration=state.iteration + 1,
            Y=Y,
            objective=seen.value + H,
            metrics=seen.metrics,
            lyapunov=seen.value + H + lag,
            scale=abs(seen.value) + abs(H) + lag,
            step=plan.step,
            beta=plan.beta,
            divergence=D,
            stationarity=fall(plan, Y).norm(),
            assumptions=assumptions_met(problem, plan, state.Y, self.beta, trial),
            inner=ahead,
        )

    def _accepted_step(self, problem: Problem, state: State) -> tuple[Plan, Blocks, float, Look | None, Trial | None]:
        """Y^{k+1} and the step to carry on with; a step that the rule refuses is planned again, shorter."""
        plan: Plan = state.inner
        while self.step.tests:
            try:
                Y = proximal_step(problem, plan)
                seen = doors(problem)[0].look(Y)
                trial = upper_test(plan, Y, seen)
            except OverflowedError:  # a step that leaves the finite numbers is too long
                trial = Trial(plan.step, D_F=math.inf, D_psi=1.0, noise=0.0)
            accepted, carried = self.step.judge(trial)
            if accepted:
                return plan, Y, carried, seen, trial
            plan = self._plan(problem, state.iteration, state.Y, plan.past, carried, known=plan.look)
        return plan, proximal_step(problem, plan), plan.step, None, None

    def _plan(
        self,
        problem: Problem,
        k: int,
        Y: Blocks,
        past: Past,
        carried: float | None,
        known: Look | None = None,
    ) -> Plan:
        """λ_k, then β_k and Ȳ^k, then W^{k+1} and ∇F(Ȳ^k, W^{k+1}); a ``known`` look is used again if it fits."""
        policy, D = problem.kernel.pick(self.reduced), Y - past.Y_prev
        steady = self.w == "Y" or policy.sample() is policy

        def outlook(beta: float) -> Outlook:
            place = Y if steady or beta == 0 else Y.plus(beta, D)
            norms = problem.block.ahead(past.look.norms, place, past.look.Y)
            kernel = policy.at(norms)
            return Outlook(kernel, problem.smooth.constants(kernel, norms, self.reduced))

        now = outlook(0.0)
        step = self.step.propose(carried, limit(now.smad))
        beta, memory = 0.0, past.memory
        if past.divergence > 0:
            longest = now.kernel.longest(Y, D)
            ahead = (lambda beta: now) if steady else outlook
            beta, memory = self.beta.choose(
                Move(k, Y, D, step, past.step, past.kernel, past.divergence, longest, ahead, steady),
                past.memory,
            )
        Y_bar = Y if beta == 0 else Y.plus(beta, D)
        look = self._look(problem, Y, Y_bar, known)
        kernel = policy.at(look.norms)
        smad = problem.smooth.constants(kernel, look.norms, look.reduced)
        return Plan(past, step, beta, Y_bar, look, kernel, smad, memory)

    def _look(self, problem: Problem, Y: Blocks, Y_bar: Blocks, known: Look | None = None) -> Look:
        if known is not None and known.at is not None and np.array_equal(known.at.flat, Y_bar.flat):
            return known
        place = Y_bar if self.w == "Ybar" else Y
        return doors(problem)[0].look(place, at=Y_bar, value_at=self.step.tests)

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """A = ∇F(Y, W(Y)) + ξ, with ξ ∈ ∂H(Y) from the proximal step that made Y."""
        Y, plan = state.Y, state.inner
        if state.iteration == 0:
            return None
        look = plan.look if plan.look.reduced and plan.look.Y is Y else doors(problem)[0].look(Y, at=Y)
        gradient, xi = gradient_of(look), fall(plan.past, Y) - gradient_of(plan.past.look)
        return Subgradient(gradient + xi, gradient.norm())

    @property
    def reduced(self) -> bool:
        """Whether W is always taken at the point of the gradient."""
        return self.w == "Ybar" or not self.beta.moves

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + (δ/λ)·D(Y^{k−1}, Y^k)" if self.beta.moves else "Φ(Y^k)"

    @property
    def assumptions(self) -> Mapping[str, str]:
        return {
            "step": "λ ≤ 1/L, or the upper test seen to hold",
            "extrapolation": "the β test (Assumption 2, for a kernel and a step that may change)",
            "convexity": "H convex, or weakly convex with modulus·λ ≤ (1 − δ)·σ; not needed where β = 0",
            "proximal map": "the Bregman proximal map of this kernel and H is known to be a global minimiser",
        }
