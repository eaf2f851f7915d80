"""The loss of data that are intervals."""

from typing import Any, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt import Array
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries, Zero


@final
@frozen
class Interval(EntrywiseLoss):
    """``e(x; m, u) = ½ dist(x, [m, u])²``: M ≤ UV ≤ upper. An end may be infinite, for data that are censored."""

    @staticmethod
    def entry(x: Any, m: Any, upper: Any) -> tuple[Any, Any, Any]:
        s = max(x - upper, 0.0) - max(m - x, 0.0)
        return 0.5 * s * s, s, 1.0 if (x <= m) | (x >= upper) else 0.0

    @staticmethod
    def error(x: Any, m: Any, upper: Any) -> Any:
        s = max(x - upper, 0.0) - max(m - x, 0.0)
        return s * s

    @property
    def answer(self) -> str:
        return "{formula} keeps within the bounds to {error} of M"

    @property
    def zero(self) -> Zero:
        """An entry that is not stored is the interval [0, 0]."""
        return "square"

    @property
    def bounds(self) -> bool:
        return True

    @property
    def data(self) -> str:
        return "numbers, or -inf for an interval without a lower end,"

    def fits(self, M: Array) -> NDArray[np.bool_]:
        return ~np.isposinf(M)

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return np.where(rng.random(size) < 0.2, -np.inf, rng.standard_normal(size))

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        U = M if upper is None else upper
        S = np.maximum(X - U, 0.0) - np.maximum(M - X, 0.0)
        squares = S * S
        return 0.5 * squares, S, ((X <= M) | (X >= U)).astype(np.float64), squares

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        U = tile.M if tile.upper is None else tile.upper
        return TorchEntries((X - U).clamp(min=0.0) - (tile.M - X).clamp(min=0.0))
