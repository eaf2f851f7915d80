"""The model of Φ that one Bregman proximal step minimises."""

import math
from functools import cached_property
from typing import final

from attrs import field, frozen

from bregopt.blocks import Blocks
from bregopt.engine.method import Subgradient
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import LAST_DIGITS, Evaluation
from bregopt.parts.smooth import Smad
from bregopt.problem import ResolvedProblem
from bregopt.rules.step import Trial

HALVINGS = 10
"""Of the step with which a proximal map of H shows whether ξ ∈ ∂H(Y)."""


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
    grad_psi: Blocks = field(init=False)
    """∇ψ(Ȳ)"""

    @property
    def Y_bar(self) -> Blocks:
        return self.evaluation.at

    @grad_psi.default
    def _grad_psi(self) -> Blocks:
        return self.kernel.gradient(self.Y_bar)

    @property
    def smad(self) -> Smad | None:
        """What F promises about ψ."""
        evaluation = self.evaluation
        return self.problem.smooth.constants(self.kernel, evaluation.norms, evaluation.reduced)

    @cached_property
    def one_smad(self) -> bool:
        """Whether ``−D_ψ ≤ D_F ≤ D_ψ`` is seen at once for F(·, W), which most steps need no more than."""
        return not self.evaluation.reduced and self.problem.smooth.one_smad(self.kernel, self.evaluation.norms)

    def minimiser(self) -> Blocks:
        """``argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` with ``P = λ∇F(Ȳ, W) − ∇ψ(Ȳ)``."""
        P = self.evaluation.gradient.flat
        P = P - self.grad_psi.flat if self.step == 1 else P * self.step - self.grad_psi.flat
        if not (math.isfinite(P.dot(P)) or math.isfinite(P.sum())):  # the squares of P may overflow where P does not
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

    def residual(self, Y: Blocks, following: "BregmanModel | None" = None) -> float:
        """``|∇ψ(Ȳ) − ∇ψ(Y)|/λ``, which the step from Ȳ to its minimiser Y leaves for nothing.

        Where the domain is open, what counts of it on the closed one. The model that ``follows`` may know ∇ψ(Y).
        """
        known = following is not None and following.kernel is self.kernel and following.Y_bar is Y
        slope = following.grad_psi if known and following is not None else self.kernel.gradient(Y)
        if self.kernel.everywhere:
            return self.grad_psi.distance(slope) / self.step
        fall = (self.grad_psi - slope) * (1.0 / self.step)
        return self.kernel.stationary(Y, fall, self.evaluation.gradient).norm()

    def rounding(self, Y: Blocks, Y_prev: Blocks) -> float:
        """How far Φ(Y) + D_ψ(Y^{k−1}, Y)/λ may lie above that of the true minimiser, where Y is its last digits off.

        The model is flat at its minimiser, so it rises by d = D_ψ(Y − δ, Y)/λ, where δ is the last digits of Y. The
        divergence D is not flat: √D is changed by at most √d.
        """
        d = self.kernel.divergence(Y * (1.0 - LAST_DIGITS), Y)
        return 2.0 * (d + math.sqrt(d * self.kernel.divergence(Y_prev, Y))) / self.step

    def subgradient_of_H(self, Y: Blocks) -> Blocks:
        """``(∇ψ(Ȳ) − ∇ψ(Y))/λ − ∇F(Ȳ, W)``, an element of ∂H(Y) for the minimiser Y."""
        fall = (self.grad_psi - self.kernel.gradient(Y)) * (1.0 / self.step)
        return fall - self.evaluation.gradient

    def subgradient(self, Y: Blocks) -> Subgradient | None:
        """``∇F(Y, W(Y)) + ξ``, an element of ∂Φ(Y), with the ξ ∈ ∂H(Y) of the minimiser Y.

        Where H is not convex the proximal map may have missed a minimiser. Then ξ is no element, and there is ``None``.
        """
        xi, psi = self.subgradient_of_H(Y), self.kernel.gradient(Y).norm()
        terms = (self.grad_psi.norm() + psi) / self.step + self.evaluation.gradient.norm()
        if self.problem.regularizer.weak_convexity != 0:
            seen = self._size_seen(Y, xi, self.step * Y.norm() / psi if psi > 0 else self.step, terms)
            if seen is None:
                return None
            terms += seen
        there = self.problem.oracle.evaluate(Y, at=Y)
        found = Subgradient.at(there, xi, terms)
        return found if self.kernel.everywhere else self._on_the_closed_domain(Y, found, there.gradient)

    def _on_the_closed_domain(self, Y: Blocks, found: Subgradient, gradient: Blocks) -> Subgradient:
        """What counts of A where the domain ends; the entries at the end have no part in the rounding either."""
        A = self.kernel.stationary(Y, found.A, gradient)
        counted = (A.flat == found.A.flat).astype(float)
        psi = [Y.like(slope.flat * counted).norm() / self.step for slope in (self.grad_psi, self.kernel.gradient(Y))]
        terms = sum(psi) + found.gradient_norm
        return Subgradient(A, found.gradient_norm, LAST_DIGITS * (terms + self.evaluation.gradient.norm()))

    def _size_seen(self, Y: Blocks, xi: Blocks, t: float, terms: float) -> float | None:
        """The size of the vectors by which ξ ∈ ∂H(Y) was seen: ``Y = prox_{tH}(Y + tξ)`` up to the last digits.

        A minimiser passes that for every t that is short enough. A shorter t shows fewer digits of ξ.
        """
        H = self.problem.regularizer
        t = min(t, *(0.5 * part.step_limit for part in H.distinct()))
        for _ in range(HALVINGS):
            left = (H.prox(Y.plus(t, xi), t) - Y).norm() / t
            size = Y.norm() / t + xi.norm()
            if left <= LAST_DIGITS * (terms + size):
                return size
            t *= 0.5
        return None
