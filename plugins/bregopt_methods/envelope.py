"""The Bregman forward–backward envelope: Φ as one Bregman proximal step sees it."""

from functools import cached_property
from typing import final

from attrs import frozen

from bregopt import Blocks, Evaluation, Kernel, Problem, gradient_of
from bregopt_methods.bregman_step import bregman_step


@final
@frozen(eq=False)
class Envelope:
    """``E_λ(Ȳ) = min_Y  f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ + H(Y) + D_ψ(Y, Ȳ)/λ``, with its minimiser ``Y = T_λ(Ȳ)``.

    E_λ(Ȳ) ≤ Φ(Ȳ), as the minimum is at most the value at Ȳ; it falls as λ grows; and E_λ(Ȳ) ≥ Φ(Y) where the upper
    test f(Y) ≤ f(Ȳ) + ⟨∇f(Ȳ), Y − Ȳ⟩ + D_ψ(Y, Ȳ)/λ holds.
    """

    evaluation: Evaluation
    """at Ȳ, with the gradient there"""
    kernel: Kernel
    step: float
    Y: Blocks
    H: float
    """H(Y)"""
    slope: float
    """⟨∇f(Ȳ), Y − Ȳ⟩"""
    divergence: float
    """D_ψ(Y, Ȳ)"""

    @property
    def value(self) -> float:
        return self.evaluation.value + self.slope + self.H + self.divergence / self.step

    @property
    def scale(self) -> float:
        """The sum of the absolute terms of the value."""
        return self.evaluation.scale + abs(self.slope) + abs(self.H) + self.divergence / self.step

    @property
    def Y_bar(self) -> Blocks:
        return self.evaluation.Y

    @cached_property
    def residual(self) -> Blocks:
        """``(Ȳ − Y)/λ``, which depends on λ only where H or ψ bend."""
        return (self.Y_bar - self.Y) * (1.0 / self.step)

    @cached_property
    def fall(self) -> Blocks:
        """``(∇ψ(Ȳ) − ∇ψ(Y))/λ``: less ∇f(Ȳ) it lies in ∂H(Y)."""
        return (self.kernel.gradient(self.Y_bar) - self.kernel.gradient(self.Y)) * (1.0 / self.step)


def envelope(problem: Problem, evaluation: Evaluation, step: float, kernel: Kernel) -> Envelope:
    """E_λ at the Ȳ that was evaluated: one proximal map and no product."""
    Y = bregman_step(problem, evaluation, step, kernel)
    slope, D = gradient_of(evaluation).dot(Y - evaluation.Y), kernel.divergence(Y, evaluation.Y)
    return Envelope(evaluation, kernel, step, Y, problem.regularizer.value(Y), slope, D)
