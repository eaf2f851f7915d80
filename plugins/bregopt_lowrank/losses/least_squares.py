"""The least-squares loss."""

from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TileSums, TorchEntries, Zero, squares


@final
@frozen
class LeastSquares(EntrywiseLoss):
    """``e(x; m) = ½(x − m)²``: M ≈ UV."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        s = x - m
        return 0.5 * s * s, s, 1.0

    @property
    def zero(self) -> Zero:
        return "square"

    @property
    def slope_per_data(self) -> float:
        return -1.0

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        S = X - M
        squares = S * S
        return 0.5 * squares, S, np.ones_like(S), squares

    def residual(self, X: Array, tile: Tile, curvature: float) -> TileSums:
        if not tile.complete or tile.weights is not None or curvature != 1 or X.dtype != np.float64:
            return super().residual(X, tile, curvature)
        X -= tile.M
        square = squares(X)
        return TileSums(square, square, tile.of_M(squares), 0.5 * square)  # W is M

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        return TorchEntries(X - tile.M)
