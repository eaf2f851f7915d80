"""NiPALM: Nesterov's point for the block at work, and the Gauss-Seidel inertia of GiPALM for the other one."""

from typing import final

from attrs import field, frozen

from bregopt import Blocks, validate
from bregopt_methods.palm.gipalm import GaussSeidelInertia
from bregopt_methods.palm.iteration import beyond
from bregopt_methods.palm.palm import below_one_or_growing


@final
@frozen
class NiPALM(GaussSeidelInertia):
    """Nesterov-type inertial PALM: steps are taken from Y + γ_k(Y − Y_prev), and see the other block as in GiPALM.

    After Wang and Han: (Û, V̂) = Y + γ_k(Y − Y_prev). ``gamma`` is a number, or "growing" for γ_k = (k − 1)/(k + 1).
    With α = β = 0 and a number it is ``ippalm(gamma)``.
    """

    alpha: float = field(default=0.7, validator=validate.number(at_least=0, below=1))
    beta: float = field(default=0.7, validator=validate.number(at_least=0, below=1))
    gamma: float | str = field(default="growing", validator=below_one_or_growing)

    @property
    def moves(self) -> bool:
        return self.alpha > 0 or self.beta > 0 or self.gamma != 0

    def centre(self, k: int, Y: Blocks, Y_prev: Blocks, ahead: Blocks) -> Blocks:
        return beyond(Y, Y_prev, (k - 1) / (k + 1) if isinstance(self.gamma, str) else self.gamma)
