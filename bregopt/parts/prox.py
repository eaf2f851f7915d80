"""The Bregman proximal map of a (kernel, regularizer) pair."""

from collections.abc import Callable

from bregopt.blocks import Blocks
from bregopt.parts.kernel import Kernel

BregmanProx = Callable[[Blocks, float, Kernel], Blocks]
"""``(P, step, kernel) -> argmin_Y  step·H(Y) + ⟨P, Y⟩ + ψ(Y)``, for every kernel of the family resolved.

An attribute ``exact = False`` says that the point may be a local minimiser only.
"""
