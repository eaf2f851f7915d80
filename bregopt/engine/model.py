"""The model of Φ that one Bregman proximal step minimises."""

import math
from functools import cached_property
from typing import final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.method import Subgradient
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import Evaluation
from bregopt.problem import ResolvedProblem
from bregopt.rules.step import Trial


@final
@frozen(eq=False, slots=False)
class BregmanModel:
    """``m(Y) = F(Ȳ, W) + G(W) + ⟨∇F(Ȳ, W), Y − Ȳ⟩ + D_ψ(Y, Ȳ)/λ + H(Y)``.

    Φ ≤ m at the minimiser where the upper test holds there.
    """

    problem: ResolvedProblem
    evaluation: Evaluation
    """W, with the gradient at Ȳ"""
    kernel: Kernel
    step: float
    """λ"""

    @property
    def Y_bar(self) -> Blocks:
        return self.evaluation.at

    @cached_property
    def grad_psi(self) -> Blocks:
        """``∇ψ(Ȳ)``."""
        return self.kernel.gradient(self.Y_bar)

    def minimiser(self) -> Blocks:
        """``argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` with ``P = λ∇F(Ȳ, W) − ∇ψ(Ȳ)``."""
        P = self.evaluation.gradient.flat * self.step
        P -= self.grad_psi.flat
        if not math.isfinite(P.sum()):  # the squares of P may overflow where P does not
            raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
        return self.problem.prox(self.Y_bar.like(P), self.step, self.kernel)

    def slope(self, Y: Blocks) -> float:
        """``⟨∇F(Ȳ, W), Y − Ȳ⟩``."""
        return self.evaluation.gradient.dot(Y - self.Y_bar)

    def upper_test(self, Y: Blocks, seen: Evaluation) -> Trial:
        """``Φ(Y) ≤ m(Y)``, as ``D_F ≤ D_ψ(Y, Ȳ)/λ``, where Y has been ``seen``."""
        base = self.evaluation.value if self.evaluation.value_at is None else self.evaluation.value_at
        noise = seen.rounding * (self.evaluation.scale + seen.scale)
        return Trial(self.step, seen.value - base - self.slope(Y), self.kernel.divergence(Y, self.Y_bar), noise)

    def lower_gap(self, Y: Blocks, seen: Evaluation) -> float:
        """``F(Ȳ, W) + ⟨∇F(Ȳ, W), Y − Ȳ⟩ − F(Y, W)``, or the same of min_W F + G where the evaluation is reduced."""
        reduced = self.evaluation.reduced
        there = self.evaluation.value if reduced else self.evaluation.value_at
        if there is None:
            raise IncompatibleError("The gap needs F at Ȳ: the oracle was asked for value_at, and left it out.")
        return there + self.slope(Y) - (seen.value if reduced else self.evaluation.value)

    def residual(self, Y: Blocks) -> float:
        """``|∇ψ(Ȳ) − ∇ψ(Y)|/λ``, which the step from Ȳ to its minimiser Y leaves for nothing."""
        return math.sqrt(self.grad_psi.gap(self.kernel.gradient(Y))[0]) / self.step

    def subgradient_of_H(self, Y: Blocks) -> Blocks:
        """``(∇ψ(Ȳ) − ∇ψ(Y))/λ − ∇F(Ȳ, W)``, an element of ∂H(Y) for the minimiser Y."""
        fall = (self.grad_psi - self.kernel.gradient(Y)) * (1.0 / self.step)
        return fall - self.evaluation.gradient

    def subgradient(self, Y: Blocks) -> Subgradient:
        """``∇F(Y, W(Y)) + ξ``, an element of ∂Φ(Y), with the ξ ∈ ∂H(Y) of the minimiser Y."""
        gradient = self.problem.oracle.evaluate(Y, at=Y).gradient
        return Subgradient(gradient + self.subgradient_of_H(Y), gradient.norm())
