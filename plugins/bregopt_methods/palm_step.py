"""One proximal gradient step on one block, and what it does to Φ."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Regularizer
from bregopt.errors import OverflowedError

FLOOR = 1e-20
"""The smallest c: where the other block is zero L is zero too, and a step of any length will do."""
SHARE = 0.5
"""Share of the longest step of a proximal map that is taken at most."""


@final
@frozen
class BlockStep:
    """``X⁺ = prox_{H/c}(X + αΔ − ∇F(X + βΔ)/c)`` with Δ = X − X_prev and an L-Lipschitz ∇F.

    For D = X⁺ − X it gives ``Φ(X⁺) ≤ Φ(X) − ½A‖D‖² + κ‖D‖‖Δ‖``, A the ``margin`` and κ the ``drag``.
    """

    H: Regularizer
    L: float
    c: float
    alpha: float
    beta: float

    @classmethod
    def of(cls, H: Regularizer, L: float, wanted: float, alpha: float, beta: float) -> "BlockStep":
        """The step with c as wanted, or larger where the proximal map asks for it."""
        return cls(H, L, max(wanted, FLOOR, 1.0 / (SHARE * H.step_limit)), alpha, beta)

    def take(self, centre: Array, gradient: Array) -> tuple[Array, Array]:
        """X⁺ and the ξ ∈ ∂H(X⁺) that comes with it, from X + αΔ and the gradient; some rows of them, or all."""
        P = gradient * (-1.0 / self.c)
        P += centre
        if not math.isfinite(np.vdot(P, P)):
            raise OverflowedError("A block left the range of finite numbers: lower the inertia or shorten the step.")
        X = self.H.prox(P, 1.0 / self.c)
        P -= X
        P *= self.c
        return X, P

    @property
    def margin(self) -> float:
        """``A = c − L + max(0, c − ρ)``, ρ the modulus of weak convexity of H where there is one."""
        rho = self.H.weak_convexity
        return self.c - self.L + (0.0 if rho is None else max(0.0, self.c - rho))

    @property
    def drag(self) -> float:
        """``κ = αc + βL``."""
        return self.alpha * self.c + self.beta * self.L

    def leaves(self, delta: float) -> float:
        """``δ⁺ = A − κ²/δ``: if it is not negative, ``Φ(X⁺) + ½δ⁺‖D‖² ≤ Φ(X) + ½δ‖Δ‖²``.

        With the same L and c at every step that can go on for ever if 2κ ≤ A, which is the rule of iPALM for c.
        """
        if self.drag == 0:
            return self.margin
        return self.margin - self.drag**2 / delta if delta > 0 else -math.inf

    @property
    def fresh(self) -> float:
        """δ after a step that leaves none: that of iPALM, ``A − κ``, or none again."""
        return max(self.margin - self.drag, 0.0)
