"""BPDCA and BPDCAe: f = f₁ − f₂ with both convex, so that extrapolation pays no price for the curvature from below."""

from typing import final

from attrs import field, frozen

from bregopt import Kernel, Smad, nesterov, validate
from bregopt_methods.bregman.dc_step import BetaChoice, DCMethod, Majorant


@final
@frozen
class BPDCA(DCMethod):
    """The Bregman proximal DC algorithm (Takahashi, Fukuda and Tanaka) for f₁ − f₂ + r₁ − r₂.

    f₂ is what F promises for its curvature from below: the kernel ``low`` with −D_f ≤ D_low, or lower·ψ. Then
    f₁ = f + f₂ is convex, and 1-smad to φ = upper·ψ + f₂: for ReLU-NMD and ψ = ψ1 + wψ2, f₂ = ½ψ1 + wψ2 and
    φ = (3/2)ψ1 + 2wψ2. β is Nesterov's. It begins anew with β = 0 where D_φ(Y^k, Ȳ) > ``rho``·D_φ(Y^{k−1}, Y^k), and
    after ``every`` iterations. An iteration costs four products, and three where β = 0.
    """

    rho: float = field(default=0.99, validator=validate.number(at_least=0, below=1))
    every: int = field(default=200, validator=validate.whole(at_least=1))

    @property
    def name(self) -> str:
        return "bpdcae" if self.rho else "bpdca"

    @property
    def share(self) -> float:
        return self.rho

    def majorant(self, psi: Kernel, smad: Smad) -> Majorant:
        above = smad.upper * psi
        if smad.low is not None and type(above + smad.low) is type(psi):  # of a family with a proximal map
            return Majorant(above + smad.low, 1.0, concave=smad.low)
        if smad.lower is None:
            return Majorant(above, 1.0, extrapolates=False)
        return Majorant((smad.upper + smad.lower) * psi, 1.0, concave=smad.lower * psi)

    def extrapolation(self, plan: BetaChoice) -> tuple[float, tuple[float, int]]:
        theta, age = plan.memory
        beta, following = nesterov(theta)
        beta = min(beta, plan.longest)
        if age + 1 < self.every and plan.passes(beta):
            return beta, (following, age + 1)
        return 0.0, (nesterov(1.0)[1], 0)


def bpdca() -> BPDCA:
    """Bregman proximal DC algorithm: BPDCAe with β = 0, which steps on f₁ − f₂ + r₁ with r₂ by its slope."""
    return BPDCA(rho=0.0)


def bpdcae(rho: float = 0.99, every: int = 200) -> BPDCA:
    """Bregman proximal DC algorithm with Nesterov's extrapolation, which begins anew where the β test fails."""
    return BPDCA(rho, every)
