"""DCAe: a Bregman step on f + r₁ with r₂ by its slope, and Nesterov's β shortened until its test holds."""

from typing import final

from attrs import field, frozen

from bregopt import Kernel, Smad, nesterov, validate
from bregopt_methods.bregman.dc_step import BetaChoice, DCMethod, Majorant

SHRINK, TRIALS = 0.9, 30
"""β is shortened by that factor, at most so often; then it is zero."""


@final
@frozen
class DCAe(DCMethod):
    """DC algorithm with extrapolation: a Bregman step on f + r₁ with r₂ by its slope, Nesterov's β shortened by a test.

    After Phan and Le Thi: the difference is that of Lψ + r₁ and Lψ − f + r₂, so f₂ = 0, φ = ψ and λ = 1/L. β is
    Nesterov's, times 0.9 until ``(1/λ_k)D(Y^k, Ȳ) + D_low(Y^k, Ȳ) ≤ (share/λ_{k−1})D(Y^{k−1}, Y^k)``, where low is what
    F promises for its curvature from below, ``low`` or lower·ψ. With ``share`` = 0 and a convex H it is BPG with the
    step 1/L. An iteration costs four products, and three where β = 0.
    """

    share: float = field(default=0.9999, validator=validate.number(at_least=0, below=1))
    name = "dcae"

    def majorant(self, psi: Kernel, smad: Smad) -> Majorant:
        low = smad.low if smad.low is not None or smad.lower is None else smad.lower * psi
        return Majorant(psi, 1.0 / smad.upper, low=low, extrapolates=low is not None)

    def extrapolation(self, plan: BetaChoice) -> tuple[float, tuple[float, int]]:
        theta, age = plan.memory
        beta, following = nesterov(theta)
        beta = min(beta, plan.longest)
        for _ in range(TRIALS):
            if plan.passes(beta):
                return beta, (following, age + 1)
            beta *= SHRINK
        return 0.0, (following, age + 1)
