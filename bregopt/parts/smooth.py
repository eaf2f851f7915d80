"""F(Y, W): smooth in Y, without a global Lipschitz constant."""

import math
from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import parameter
from bregopt.part_errors import wrong_result
from bregopt.parts.data_model import DataModel
from bregopt.parts.kernel import Kernel, KernelPolicy, Norms


@final
@frozen
class Smad:
    """What F promises about a kernel ψ: ``−lower·D_ψ ≤ D_F ≤ upper·D_ψ``, and ``−D_F ≤ D_low``, where known."""

    upper: float
    lower: float | None = None
    """what a method that extrapolates needs"""
    low: Kernel | None = None

    def __attrs_post_init__(self) -> None:  # one is made at every iteration, so the tests are plain ones
        if not 0 < self.upper < math.inf:
            raise parameter("upper", "Smad", "a finite number > 0", self.upper)
        if self.lower is not None and not 0 <= self.lower < math.inf:
            raise parameter("lower", "Smad", "a finite number >= 0", self.lower)


class SmoothPart(ABC):
    """``F(Y, W)``."""

    @abstractmethod
    def value(self, Y: Blocks, W: Any) -> float: ...

    @abstractmethod
    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        """``F(Y, W)`` and ``∇_Y F(Y, W)``."""

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        """The constants of smooth adaptability for every W within ``norms``; ``None`` where unknown.

        With ``reduced`` the statement is about f(Y) = min_W F(Y, W) + G(W), whose gradient is ∇_Y F(Y, W(Y)).
        """
        return None

    def one_smad(self, kernel: Kernel, norms: Norms) -> bool:
        """Whether ``−D_ψ ≤ D_F ≤ D_ψ`` is seen for every W within ``norms``, at less than ``smad`` costs.

        Where this is False, ``smad`` is asked.
        """
        return False

    @property
    def of_product(self) -> bool:
        """Whether F(Y, W) knows of two blocks their matrix product alone: F(UT, T⁻¹V, W) = F(U, V, W)."""
        return False

    def gram(self, Y: Blocks, name: str) -> Array | None:
        """G, where F(·, W) is quadratic in this block with the same G for every row of it, or every column.

        ``F(Y + E) = F(Y) + ⟨∇F, E⟩ + ½⟨EG, E⟩`` for an E in this block, and ``½⟨GE, E⟩`` where it goes by columns.
        """
        return None

    def by_columns(self, Y: Blocks, name: str) -> bool:
        """Whether ``gram`` is for the columns of this block; here it is for those of the second one of two."""
        return len(Y.names) == 2 and name == Y.names[1]

    def block_gradient(self, Y: Blocks, W: Any, name: str) -> Array:
        """``∇F(Y, W)`` for one block: an F that makes it for less than the whole gradient does so here."""
        return self.value_and_gradient(Y, W)[1][name]

    def block_lipschitz(self, Y: Blocks, name: str) -> float | None:
        """A Lipschitz constant of ∇F(·, W) in this block alone, for every W, the other blocks at Y; or ``None``."""
        G = self.gram(Y, name)
        return None if G is None else float(np.linalg.eigvalsh(G)[-1])

    def block_kernel(self, Y: Blocks, name: str, gradient: Array) -> Kernel | None:
        """A kernel φ of one block with ``F(X, W) ≤ F(Y, W) + ⟨∇F(Y, W), X − Y⟩ + D_φ(X, Y)`` for every X that differs
        from Y in this block alone, whatever W is; the gradient is that of the block at Y. ``None`` where none is known.
        """
        return None

    def freeze(self, block: Any, fixed: Blocks) -> "tuple[SmoothPart, Any, KernelPolicy] | None":
        """F, the W block and a kernel for the other blocks, where those of ``fixed`` stay; ``None`` where unknown."""
        return None

    def data_model(self, block: Any) -> DataModel | None:
        """What Y says about the data, with this W block: what a result can reconstruct; ``None`` where unknown."""
        return None

    @final
    def constants(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        """``smad``; where the reduced function is not spoken of, F(·, W) still bounds it from above."""
        known = self._smad(kernel, norms, reduced)
        if known is not None or not reduced:
            return known
        fixed = self._smad(kernel, norms, False)
        return None if fixed is None else Smad(fixed.upper)

    def _smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        found = self.smad(kernel, norms, reduced)
        if not (found is None or isinstance(found, Smad)):
            raise wrong_result(self, "smad", "a Smad or None", found)
        return found
