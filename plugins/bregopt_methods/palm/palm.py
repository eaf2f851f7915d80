"""PALM, the paper's partial PALM, and their inertial forms."""

from numbers import Real
from typing import Any, final

from attrs import field, frozen

from bregopt import Regularizer, validate
from bregopt.errors import IncompatibleError, parameter
from bregopt_methods.palm.iteration import PalmMethod, WithoutInertia

GROWING = "growing"


def growing(k: int) -> float:
    """``(k − 1)/(k + 2)``, k = 1, 2, …"""
    return (k - 1) / (k + 2)


def below_one_or_growing(instance: Any, attribute: Any, value: Any) -> None:
    """Refuse what is neither a number in [0, 1) nor the word for growing inertia."""
    if isinstance(value, str):
        good = value == GROWING
    else:
        good = isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1
    if not good:
        rule = f"'{GROWING}' or a number >= 0 and < 1"
        raise parameter(attribute.name, type(instance).__name__, rule, value)


@final
@frozen
class PALM(WithoutInertia):
    """Proximal alternating linearised minimisation: W exactly, then each block with c = γL.

    Bolte, Sabach and Teboulle ask for γ > 1, so that Φ falls by a share of |Y⁺ − Y|² whatever H is; where H is convex
    γ = 1 will do. As W is solved at every iteration, it is ``ppalm(scale=γ)``.
    """

    gamma: float = field(default=1.001, validator=validate.number(above=0))

    def modulus(self, H: Regularizer, L: float) -> float:
        return self.gamma * L


@final
@frozen
class IPALM(PalmMethod):
    """Inertial PALM: the proximal step is taken from U + αΔ, with the gradient at U + βΔ.

    ``rule="constant"``, after Pock and Sabach: c is γ times the least with which Φ + ½Σδ|Δ|² cannot rise while L stays,
    ``(L(1 + 2β) + ρ)/(2(1 − α))`` where H is ρ-weakly convex and ``L(1 + 2β)/(1 − 2α)`` where α < ½, the smaller one
    of both; γ > 1 leaves room for an L that grows. ``rule="growing"``: α = β = (k − 1)/(k + 2) and c = L, fast and
    without a theorem; ``alpha``, ``beta`` and ``gamma`` then say nothing.
    """

    alpha: float = field(default=0.2, validator=validate.number(at_least=0, below=1))
    beta: float = field(default=0.2, validator=validate.number(at_least=0, below=1))
    rule: str = field(default="constant", validator=validate.one_of("constant", GROWING))
    gamma: float = field(default=1.05, validator=validate.number(above=0))

    @property
    def moves(self) -> bool:
        return self.rule == GROWING or self.alpha > 0 or self.beta > 0

    def inertia(self, k: int) -> tuple[float, float]:
        return (growing(k), growing(k)) if self.rule == GROWING else (self.alpha, self.beta)

    def modulus(self, H: Regularizer, L: float) -> float:
        if self.rule == GROWING:
            return L
        rho, needs = H.weak_convexity, []
        if rho is not None:
            needs.append((L * (1 + 2 * self.beta) + rho) / (2 * (1 - self.alpha)))
        if self.alpha < 0.5:
            needs.append(L * (1 + 2 * self.beta) / (1 - 2 * self.alpha))
        if not needs:
            raise IncompatibleError(
                f"ipalm with alpha = {self.alpha:g} needs a weakly convex H, and {H!r} is not known to be one: "
                "take alpha < 1/2, or the method palm."
            )
        return self.gamma * min(needs)


@final
@frozen
class PPALM(WithoutInertia):
    """Partial PALM: W exactly, then each block by a proximal gradient step with c = scale·L."""

    scale: float = field(default=1.0, validator=validate.number(above=0))

    def modulus(self, H: Regularizer, L: float) -> float:
        return self.scale * L


@final
@frozen
class IPPALM(PalmMethod):
    """Inertial partial PALM: the same from Ȳ = Y + βΔ; ``beta`` is a number, or "growing" for (k − 1)/(k + 2).

    With c = L there is a theorem for β ≤ 1/4 and convex H only, see ``ipalm``; β = 0.6 is the paper's choice.
    """

    beta: float | str = field(default=0.6, validator=below_one_or_growing)
    scale: float = field(default=1.0, validator=validate.number(above=0))

    @property
    def moves(self) -> bool:
        return self.beta != 0

    def inertia(self, k: int) -> tuple[float, float]:
        beta = growing(k) if isinstance(self.beta, str) else self.beta
        return beta, beta

    def modulus(self, H: Regularizer, L: float) -> float:
        return self.scale * L
