"""AAPB: W in closed form, Y by one Bregman proximal step with extrapolation; β = 0 gives APB."""

import math
from functools import partial
from typing import final

from attrs import field, frozen

from bregopt import validate
from bregopt.blocks import Blocks
from bregopt.engine.bregman_step import ASSUMPTIONS, BregmanStep, KernelForecast, PlannedStep, TakenStep
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.model import BregmanModel
from bregopt.engine.state import Assumption, State, assumptions_met
from bregopt.errors import OverflowedError
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.oracle import Evaluation
from bregopt.problem import ResolvedProblem
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import StepRule, Trial


@final
@frozen
class AAPB(Method[PlannedStep]):
    """Accelerated alternating partial Bregman, for k = 0, 1, … with Y^{−1} = Y^0::

        W^{k+1} = argmin_W  F(Y^k, W) + G(W)                           (w="Ybar": F(Ȳ^k, W))
        Ȳ^k     = Y^k + β_k (Y^k − Y^{k−1})
        Y^{k+1} = argmin_Y  H(Y) + ⟨∇F(Ȳ^k, W^{k+1}), Y − Ȳ^k⟩ + D_ψ(Y, Ȳ^k)/λ_k

    A step rule may refuse λ_k. With ``guard`` a step that would raise Φ is taken again with β_k = 0, and the β rule
    begins anew. State k holds Y^k with the plan of its step: that plan evaluates Φ(Y^k, W(Y^k)) for nothing.
    """

    beta: Extrapolation = field(validator=validate.instance_of(Extrapolation, "an extrapolation rule"))
    step: StepRule = field(validator=validate.instance_of(StepRule, "a step rule"))
    w: str = field(default="Y", validator=validate.one_of("Y", "Ybar"))
    guard: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))
    kernel: KernelPolicy | None = None

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[PlannedStep]:
        evaluation = self._evaluate(problem, Y, Y)
        kernel = problem.kernel.pick(self.reduced).kernel_at(evaluation.norms)
        rest = TakenStep.none(problem, evaluation, kernel, self.beta.begin())
        return State.at(evaluation, problem.regularizer.value(Y), inner=self._plan(problem, Y, rest, None))

    def advance(self, problem: ResolvedProblem, state: State[PlannedStep]) -> State[PlannedStep]:
        plan = state.inner  # λ_k, β_k, Ȳ^k and W^{k+1}
        while True:
            Y, seen, trial = self._take(problem, plan)
            accepted, step = self.step.judgement(trial) if trial else (True, plan.model.step)
            if not accepted:
                plan = self._plan(problem, state.Y, plan.last, step)
            elif self.guard and plan.beta > 0 and seen and self._rises(problem, state, seen):
                plan = self._plan(problem, state.Y, plan.last.forget(self.beta), step, extrapolate=False)
            else:
                break

        D, H = plan.model.kernel.divergence(state.Y, Y), problem.regularizer.value(Y)
        rise = seen.value + H - state.objective if seen else state.objective - plan.last.objective
        taken = TakenStep(state.iteration + 1, state.Y, plan.model, D, plan.memory, state.objective, rise)
        made = BregmanStep(problem, plan, self.beta, trial, self.guard, Y)
        following = self._plan(problem, Y, taken, step)
        after = State.at(
            problem.oracle.evaluate(Y),
            H,
            iteration=state.iteration + 1,
            lag=self.beta.delta * D / plan.model.step if self._lags else 0.0,
            step=plan.model.step,
            beta=plan.beta,
            divergence=D,
            stationarity=plan.model.residual(Y, following.model),
            assumptions=assumptions_met(ASSUMPTIONS, made),
            inner=following,
        )
        return after.forgiven(state, ASSUMPTIONS, made)

    def _plan(
        self, problem: ResolvedProblem, Y: Blocks, last: TakenStep, step: float | None, *, extrapolate: bool = True
    ) -> PlannedStep:
        """λ_k, then β_k and Ȳ^k, then W^{k+1} and ∇F(Ȳ^k, W^{k+1}); ``step`` is the λ to go on with."""
        promise = partial(problem.smooth.constants, reduced=self.reduced)
        forecast = KernelForecast(problem, Y, last, promise, self.reduced, lagging=self.w == "Y")
        step = self.step.proposal(step, forecast.longest_step() if self.step.needs_limit(step) else None)  # λ_k
        beta, memory = 0.0, last.memory
        if self.beta.moves and last.divergence > 0:
            beta, memory = self.beta.choice(forecast.context(step), memory)  # β_k
        beta = beta if extrapolate else 0.0
        while True:
            evaluation = self._evaluate(problem, Y, forecast.extrapolated(beta))  # Ȳ^k, W^{k+1} and ∇F(Ȳ^k, W^{k+1})
            model = BregmanModel(problem, evaluation, forecast.policy.kernel_at(evaluation.norms), step)
            gap = model.lower_gap(Y, problem.oracle.evaluate(Y)) if self.beta.exact and beta > 0 else None
            plan = PlannedStep(Y, last, beta, model, memory, gap)
            if gap is None or plan.beta_test(self.beta):
                return plan
            beta = plan.shorter_beta(self.beta)

    def _evaluate(self, problem: ResolvedProblem, Y: Blocks, Y_bar: Blocks) -> Evaluation:
        """W^{k+1} and ∇F(Ȳ^k, W^{k+1})."""
        place = Y_bar if self.w == "Ybar" else Y
        return problem.oracle.evaluate(place, at=Y_bar, value_at=self.step.tests or self.beta.exact)

    def _take(self, problem: ResolvedProblem, plan: PlannedStep) -> tuple[Blocks, Evaluation | None, Trial | None]:
        """Y^{k+1}; where it is tested before it is taken for good, F there and the test."""
        try:
            Y = plan.model.minimiser()  # Y^{k+1}
            if not (self.step.tests or self.guard or (self.beta.exact and self.w == "Ybar")):
                return Y, None, None
            seen = problem.oracle.evaluate(Y)
            return Y, seen, plan.model.upper_test(Y, seen) if self.step.tests else None
        except OverflowedError:  # a step that leaves the finite numbers is too long, unless none is short enough
            trial = Trial(plan.model.step, D_F=math.inf, D_psi=1.0, noise=0.0)
            if not self.step.tests or self.step.judgement(trial)[0]:
                raise
            return plan.model.Y_bar, None, trial

    def _rises(self, problem: ResolvedProblem, state: State[PlannedStep], seen: Evaluation) -> bool:
        objective = seen.value + problem.regularizer.value(seen.Y)
        return not objective <= state.objective + seen.rounding * max(state.scale, seen.scale)

    def subgradient(self, problem: ResolvedProblem, state: State[PlannedStep]) -> Subgradient | None:
        return None if state.iteration == 0 else state.inner.last.model.subgradient(state.Y)

    @property
    def reduced(self) -> bool:
        """Whether W is always taken at the point of the gradient."""
        return self.w == "Ybar" or not self.beta.moves

    @property
    def _lags(self) -> bool:
        return self.beta.moves and not self.guard

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + (δ/λ)·D(Y^{k−1}, Y^k)" if self._lags else "Φ(Y^k)"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return ASSUMPTIONS
