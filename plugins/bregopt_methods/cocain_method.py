"""The iteration of CoCaIn BPG: β as large as the curvature from below allows, τ as long as that from above does."""

import math
from collections.abc import Mapping
from typing import final

from attrs import field, frozen

from bregopt import (
    Blocks,
    Evaluation,
    Extrapolation,
    Kernel,
    Method,
    Problem,
    State,
    StepRule,
    Subgradient,
    Trial,
    gradient_of,
    oracle_of,
    validate,
)
from bregopt.errors import OverflowedError
from bregopt_methods.bregman_step import bregman_step
from bregopt_methods.cocain_point import Made, Point, Search

WARM = 0.9
"""Share of the last Llow that the next search begins with."""


@final
@frozen
class CoCaIn(Method):
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

    def start(self, problem: Problem, Y: Blocks) -> State:
        evaluation = oracle_of(problem).evaluate(Y, at=Y)
        kernel = problem.kernel.pick(True).at(evaluation.norms)
        smad = problem.smooth.constants(kernel, evaluation.norms, True)
        step = self.step.propose(None, None if smad is None else 1.0 / smad.upper)
        rest = Made(Y, Point(evaluation, kernel, 0.0, self.lower, step), step, 0.0, evaluation.value, step)
        return State.at(evaluation, problem.regularizer.value(Y), inner=rest)

    def advance(self, problem: Problem, state: State) -> State:
        past: Made = state.inner
        search = Search(problem, self.beta, self.grow, not self.restart, state.iteration, state.Y, past)
        lower = self.lower if self.restart else max(self.lower, WARM * past.point.lower)
        point = search.point(min(past.carried, self._longest(problem, past.point.kernel)), lower)
        Y, seen, trial, carried = self._step(problem, point)
        while trial.step < point.step and not search.allows(point, trial.step):
            point = search.point(trial.step, point.lower)
            Y, seen, trial, carried = self._step(problem, point)

        D, H = point.kernel.divergence(state.Y, Y), problem.regularizer.value(Y)
        lag = self.beta.delta * D / trial.step if self.beta.moves else 0.0
        return State.at(
            seen,
            H,
            iteration=state.iteration + 1,
            lag=lag,
            step=trial.step,
            beta=point.beta,
            divergence=D,
            stationarity=point.fall(Y, trial.step).norm(),
            assumptions=self._met(problem, point, search, trial),
            inner=Made(state.Y, point, trial.step, D, seen.value, carried),
        )

    def _step(self, problem: Problem, point: Point) -> tuple[Blocks, Evaluation, Trial, float]:
        """Y^{k+1} by the first step, from the point's downward, that the rule accepts, and the step to go on with."""
        step = min(point.step, self._longest(problem, point.kernel))
        while True:
            try:
                Y = bregman_step(problem, point.evaluation, step, point.kernel)
                seen = oracle_of(problem).evaluate(Y)
            except OverflowedError:  # a step that leaves the finite numbers is too long
                accepted, step = self.step.judge(Trial(step, D_F=math.inf, D_psi=1.0, noise=0.0))
                if accepted:
                    raise
                continue
            trial = point.above(Y, seen, step)
            accepted, step = self.step.judge(trial)
            if accepted:
                return Y, seen, trial, step

    def _longest(self, problem: Problem, kernel: Kernel) -> float:
        """``(1 − δ)σ/ρ``, the longest step for a ρ-weakly convex H."""
        modulus = problem.regularizer.weak_convexity
        return (1 - self.beta.delta) * kernel.strong_convexity / modulus if modulus else math.inf

    def _met(self, problem: Problem, point: Point, search: Search, trial: Trial) -> Mapping[str, bool]:
        modulus, sigma = problem.regularizer.weak_convexity, point.kernel.strong_convexity
        return {
            "step": trial.holds,
            "extrapolation": search.allows(point, trial.step),
            "convexity": not self.beta.moves or modulus is not None,
            "proximal map": problem.exact_prox and (modulus is None or modulus * trial.step <= sigma),
        }

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """A = ∇f(Y) + ξ, with ξ ∈ ∂H(Y) from the proximal step that made Y."""
        made: Made = state.inner
        if state.iteration == 0:
            return None
        slope = gradient_of(oracle_of(problem).evaluate(state.Y, at=state.Y))
        return Subgradient(
            slope + made.point.fall(state.Y, made.step) - gradient_of(made.point.evaluation), slope.norm()
        )

    @property
    def lyapunov(self) -> str:
        return "Θ = Φ(Y^k) + (δ/τ)·D(Y^{k−1}, Y^k)" if self.beta.moves else "Φ(Y^k)"

    @property
    def assumptions(self) -> Mapping[str, str]:
        return {
            "step": "the upper test seen to hold",
            "extrapolation": "the lower test seen to hold, and the β test with its Llow",
            "convexity": "H weakly convex, which bounds τ by (1 − δ)·σ/modulus; not needed where β = 0",
            "proximal map": "the Bregman proximal map of this kernel and H is known to be a global minimiser",
        }
