"""The W block: its closed-form minimiser and G."""

from abc import ABC, abstractmethod
from typing import Any

from bregopt.blocks import Blocks
from bregopt.parts.kernel import Norms
from bregopt.parts.smooth import SmoothPart


class ClosedFormBlock(ABC):
    """``W(Y) = argmin_W F(Y, W) + G(W)``; W may be any object."""

    def check(self, Y: Blocks) -> None:
        """Refuse a Y that does not fit, with an error that says what would."""
        return

    @abstractmethod
    def argmin(self, smooth: SmoothPart, Y: Blocks) -> Any: ...

    @abstractmethod
    def value(self, W: Any) -> float:
        """``G(W)``."""

    def norms(self, W: Any) -> Norms:
        """Upper bounds known about W, for kernels that depend on it."""
        return {}

    def density(self) -> float | None:
        """The share of W that data fix, where that is known."""
        return None

    def affine(self) -> bool:
        """Whether W(Y) is affine in each block of Y, as where the entries of a product are known or missing."""
        return False

    def bound_norms(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """Bounds that hold for W(Y), given those of W(Y_prev), without computing W(Y)."""
        return norms
