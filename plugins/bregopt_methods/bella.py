"""BELLA: quasi-Newton steps on the Bregman forward–backward residual, held by its envelope."""

import math
from collections.abc import Mapping
from typing import final

from attrs import field, frozen

from bregopt import Blocks, Evaluation, Method, Problem, State, Subgradient, gradient_of, oracle_of, validate
from bregopt.errors import OverflowedError
from bregopt_methods.bella_step import MARGIN, Step, free_step, reached, tested
from bregopt_methods.bella_walk import Walk, pace
from bregopt_methods.envelope import Envelope
from bregopt_methods.lbfgs import LBFGS


@final
@frozen
class BELLA(Method):
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

    def start(self, problem: Problem, Y: Blocks) -> State:
        evaluation = oracle_of(problem).evaluate(Y, at=Y)
        return State.at(evaluation, problem.regularizer.value(Y), inner=evaluation)

    def advance(self, problem: Problem, state: State) -> State:
        walk = self._begin(problem, state.inner) if state.iteration == 0 else self._onward(problem, state.inner)
        step, made, modulus = walk.step, walk.step.made, problem.regularizer.weak_convexity
        unique = modulus is None or modulus * made.step <= made.kernel.strong_convexity
        return State(
            iteration=state.iteration + 1,
            Y=made.Y,
            objective=step.objective,
            metrics=(step.seen or made.evaluation).metrics,
            lyapunov=made.value,
            scale=made.scale,
            rounding=made.evaluation.rounding,
            step=made.step,
            divergence=made.kernel.divergence(state.Y, made.Y),
            stationarity=made.fall.norm(),
            assumptions={"step": step.holds, "proximal map": problem.exact_prox and unique},
            exact=step.seen is not None,
            inner=walk,
        )

    def _begin(self, problem: Problem, evaluation: Evaluation) -> Walk:
        step = tested(problem, reached(problem, evaluation, free_step(problem, evaluation) or 1.0))
        return Walk(step, LBFGS(self.memory), pace(step.made))

    def _onward(self, problem: Problem, walk: Walk) -> Walk:
        step, Y = walk.planned(self.target), walk.step.made.Y
        for Y_bar in walk.trials(self.trials):
            ahead = self._tried(problem, walk.step, Y_bar, step)
            if ahead is not None:
                return walk.onward(ahead, step, plain=False)
        evaluation = oracle_of(problem).evaluate(Y, at=Y)
        return walk.onward(tested(problem, reached(problem, evaluation, step)), step, plain=True)

    def _tried(self, problem: Problem, last: Step, Y_bar: Blocks, step: float) -> Step | None:
        """The step from Ȳ, where its envelope is low enough before the test of λ, at no product, and after it."""
        evaluation = oracle_of(problem).evaluate(Y_bar, at=Y_bar)
        if not math.isfinite(evaluation.value):
            return None
        try:
            made = reached(problem, evaluation, step)
            ahead = tested(problem, made) if self._low(last, made) else None
        except OverflowedError:
            return None
        return ahead if ahead is not None and self._low(last, ahead.made) else None

    def _low(self, last: Step, ahead: Envelope) -> bool:
        """The test of the line search; where the values are rounding, the residual decides."""
        rise, noise = ahead.value - last.made.value, last.made.evaluation.rounding * last.made.scale
        if rise <= -self.sigma * last.gain:
            return True
        return max(last.gain, rise) <= noise and ahead.residual.norm() < last.made.residual.norm()

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """A = ∇f(Y) + ξ, with ξ ∈ ∂H(Y) from the proximal step that made Y."""
        if state.iteration == 0:
            return None
        made: Envelope = state.inner.step.made
        slope = gradient_of(oracle_of(problem).evaluate(state.Y, at=state.Y))
        return Subgradient(slope + made.fall - gradient_of(made.evaluation), slope.norm())

    @property
    def lyapunov(self) -> str:
        return "E_λ(Ȳ^{k−1}), the Bregman forward–backward envelope,"

    @property
    def assumptions(self) -> Mapping[str, str]:
        return {
            "step": f"λ ≤ {MARGIN}/L, or the upper test with this margin seen to hold",
            "proximal map": "the Bregman proximal map of this kernel and H is known to be a global minimiser",
        }
