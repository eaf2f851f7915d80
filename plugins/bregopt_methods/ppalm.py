"""PPALM, the paper's partial PALM, and its accelerated form."""

from typing import final

from attrs import field, frozen

from bregopt import Regularizer, validate
from bregopt_methods.palm_inertia import below_one_or_growing, growing
from bregopt_methods.palm_method import PalmMethod


@final
@frozen
class PPALM(PalmMethod):
    """Partial PALM: W exactly, then each block by a proximal gradient step with c = scale·L."""

    scale: float = field(default=1.0, validator=validate.number(above=0))
    moves = False

    def inertia(self, k: int) -> tuple[float, float]:
        return 0.0, 0.0

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
