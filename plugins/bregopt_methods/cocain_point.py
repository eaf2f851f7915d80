"""Where CoCaIn takes its step from: the largest β that the curvature from below allows."""

from typing import final

from attrs import frozen

from bregopt import (
    Blocks,
    Evaluation,
    Extrapolation,
    ExtrapolationContext,
    Forecast,
    Kernel,
    Problem,
    Smad,
    Trial,
    gradient_of,
    oracle_of,
)

TINY = 1e-290
"""A divergence below it has lost digits to underflow."""


@final
@frozen(eq=False)
class Point:
    """Ȳ, evaluated, with the τ and the Llow that β was chosen for."""

    evaluation: Evaluation
    kernel: Kernel
    beta: float
    lower: float
    step: float

    def above(self, Y: Blocks, seen: Evaluation, step: float) -> Trial:
        """The upper test: ``f(Y) ≤ f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ + D(Y, Ȳ)/τ``."""
        return Trial(
            step, -self._gap(Y, seen.value), self.kernel.divergence(Y, self.evaluation.Y), self._noise(seen.value)
        )

    def below(self, Y: Blocks, value: float) -> Trial:
        """The lower test: ``f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ − f(Y) ≤ Llow·D(Y, Ȳ)``."""
        D = self.kernel.divergence(Y, self.evaluation.Y)
        return Trial(1.0 / self.lower, self._gap(Y, value), D, self._noise(value))

    def fall(self, Y: Blocks, step: float) -> Blocks:
        """``(∇ψ(Ȳ) − ∇ψ(Y))/τ``: less ∇f(Ȳ) it lies in ∂H(Y) for the Y that a step with this τ makes."""
        return (self.kernel.gradient(self.evaluation.Y) - self.kernel.gradient(Y)) * (1.0 / step)

    def _gap(self, Y: Blocks, value: float) -> float:
        return self.evaluation.value - value + gradient_of(self.evaluation).dot(Y - self.evaluation.Y)

    def _noise(self, value: float) -> float:
        return self.evaluation.rounding * (self.evaluation.scale + abs(value))


@final
@frozen(eq=False)
class Made:
    """How Y^k was made from Y^{k−1}; at the start Y^{−1} = Ȳ = Y^0."""

    Y_prev: Blocks
    point: Point
    step: float
    divergence: float
    """D(Y^{k−1}, Y^k)"""
    value: float
    """f(Y^k)"""
    carried: float
    """the step to go on with"""


@final
@frozen(eq=False)
class Search:
    """The search for Ȳ = Y^k + β(Y^k − Y^{k−1})."""

    problem: Problem
    rule: Extrapolation
    grow: float
    leap: bool
    """whether Llow may grow at once to what a failed test has shown to be needed"""
    iteration: int
    Y: Blocks
    made: Made

    def point(self, step: float, lower: float) -> Point:
        """The first Ȳ, as Llow grows and β falls, that passes the lower test."""
        policy = self.problem.kernel.pick(True)
        while True:
            beta = self.beta(step, lower)
            evaluation = self._evaluate(self.Y if beta == 0 else self.Y.plus(beta, self.Y - self.made.Y_prev))
            found = Point(evaluation, policy.at(evaluation.norms), beta, lower, step)
            if beta == 0:
                return found
            trial = found.below(self.Y, self.made.value)
            if trial.holds:
                return found
            lower = max(self.grow * lower, trial.D_F / trial.D_psi if self.leap else 0.0)

    def beta(self, step: float, lower: float) -> float:
        """The largest β of the rule for this τ and this Llow."""
        made, policy = self.made, self.problem.kernel.pick(True)
        if made.divergence < TINY:
            return 0.0
        D, before = self.Y - made.Y_prev, made.point.evaluation
        steady = policy.sample() is policy

        def forecast(beta: float) -> Forecast:
            place = self.Y if steady or beta == 0 else self.Y.plus(beta, D)
            kernel = policy.at(self.problem.block.bound_norms(before.norms, place, before.Y))
            return Forecast(kernel, Smad(upper=1.0 / step, lower=lower))

        past = made.step, made.point.kernel, made.divergence
        move = ExtrapolationContext(
            self.iteration, self.Y, D, step, *past, policy.sample().longest(self.Y, D), forecast, steady
        )
        return self.rule.choose(move, self.rule.begin())[0]

    def allows(self, point: Point, step: float) -> bool:
        """The β test at a point, for this τ, up to the rounding of Ȳ."""
        if point.beta == 0:
            return True
        cost = (1.0 / step + point.lower) * point.kernel.divergence(self.Y, point.evaluation.Y)
        budget = (self.rule.delta - self.rule.epsilon) / self.made.step * self.made.divergence
        if cost <= budget:
            return True
        return cost <= budget * (1.0 + 1e-9 + 1e-15 * self.Y.norm() / (point.evaluation.Y - self.Y).norm())

    def _evaluate(self, Y_bar: Blocks) -> Evaluation:
        known = self.made.point.evaluation
        return known if known.Y is Y_bar else oracle_of(self.problem).evaluate(Y_bar, at=Y_bar)
