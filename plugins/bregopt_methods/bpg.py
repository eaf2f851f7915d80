"""BPG, also known as NoLips."""

import math

from bregopt import AAPB, StepRule, make
from bregopt.errors import parameter


def bpg(step: float | str | StepRule | None = None, L: float = 1.1) -> AAPB:
    """Bregman proximal gradient (NoLips) on f(Y) = min_W F + G: ``Y⁺ = argmin H + ⟨∇f(Y), ·⟩ + D_ψ(·, Y)/λ``.

    As ∇f(Y) = ∇F(Y, W(Y)) it is AAPB with β = 0. The step is 1/L, 1/1.1 as its authors have it, or a rule's:
    ``step="backtrack"`` is BPG-WB, with L from 0.01 upward by the factor 1.1 until the upper test holds.
    """
    if not 0 < L < math.inf:
        raise parameter("L", "bpg", "a finite number > 0", L)
    return AAPB(make("extrapolation", "zero"), make("step", 1.0 / L if step is None else step))
