"""The loss of data that are absolute values."""

from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import Tile, TorchEntries, Zero
from bregopt_lowrank.losses.sets_of_data import NonnegativeLoss


@final
@frozen
class Modulus(NonnegativeLoss):
    """``e(x; m) = ½(x − w)²`` for the nearest w with |w| = m, that is ½(|x| − m)²: M ≈ |UV|."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        s = x - m if x >= 0.0 else x + m
        return 0.5 * s * s, s, 1.0

    @staticmethod
    def error(x: Any, m: Any) -> Any:
        s = abs(x) - m
        return s * s

    @property
    def formula(self) -> str:
        return "|{}|"

    def predict(self, X: Array) -> Array:
        return np.abs(X)

    @property
    def convex(self) -> bool:
        return False

    @property
    def zero(self) -> Zero:
        return "square"

    @property
    def slope_per_data(self) -> float:
        """At x = 0, w is +m."""
        return -1.0

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return np.abs(rng.standard_normal(size))

    def largest(self, M: Array) -> Array:
        return M

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        S = X - np.where(X >= 0, M, -M)
        squares = S * S
        return 0.5 * squares, S, np.ones_like(S), squares

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        return TorchEntries(X - torch.where(X >= 0, tile.M, -tile.M))
