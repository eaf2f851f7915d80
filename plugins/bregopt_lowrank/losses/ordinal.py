"""A loss for labels that have an order."""

from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array, validate
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries, Zero


@final
@frozen
class Ordinal(EntrywiseLoss):
    """``e(x; m) = Σ_{t<m} ½max(0, 1 − (x − t − ½))² + Σ_{t≥m} ½max(0, 1 + (x − t − ½))²``, t = 1, …, levels − 1.

    The labels are m = 1, …, levels. x should lie above the thresholds t + ½ that m lies above, and below the others,
    each with a margin of 1. Each of the levels − 1 terms has a second derivative of at most 1; for m = 1 all have it
    where x > levels − 3/2. So the bound is levels − 1.
    """

    levels: int = field(default=5, validator=validate.whole(at_least=2))

    @staticmethod
    def entry(x: Any, m: Any, levels: Any) -> tuple[Any, Any, Any]:
        """The terms of a side that are not zero are the squares of a, a − 1, …: their number and sums are known."""
        a, b = m + 0.5 - x, x + 0.5 - m
        k, n = np.ceil(min(max(a, 0.0), m - 1.0)), np.ceil(min(max(b, 0.0), levels - m))
        below, above = 0.5 * k * (k - 1.0), 0.5 * n * (n - 1.0)
        squares = k * a * a - 2.0 * a * below + below * (2.0 * k - 1.0) / 3.0
        squares += n * b * b - 2.0 * b * above + above * (2.0 * n - 1.0) / 3.0
        return 0.5 * squares, (n * b - above) - (k * a - below), k + n

    @staticmethod
    def error(x: Any, m: Any, levels: Any) -> Any:
        """Whether the label nearest to x is another."""
        return 1.0 if abs(min(max(x, 1.0), levels) - m) > 0.5 else 0.0

    @property
    def bound(self) -> float:
        return self.levels - 1.0

    @property
    def zero(self) -> Zero:
        return "missing"

    @property
    def metric(self) -> str:
        return "mistakes"

    @property
    def formula(self) -> str:
        return "{} rounded"

    def predict(self, X: Array) -> Array:
        return np.round(np.clip(X, 1.0, self.levels))

    @property
    def data(self) -> str:
        return f"whole numbers from 1 to {self.levels}"

    def fits(self, M: Array) -> NDArray[np.bool_]:
        return np.isin(M, np.arange(1, self.levels + 1))

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return rng.integers(1, self.levels + 1, size).astype(float)

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        value, slope, count = (np.zeros(X.shape) for _ in range(3))
        for t in range(1, self.levels):
            sign = np.where(t < M, -1.0, 1.0)
            short = np.maximum(1.0 + sign * (X - t - 0.5), 0.0)
            value += 0.5 * short * short
            slope += sign * short
            count += short > 0
        error = np.abs(np.clip(X, 1.0, self.levels) - M) > 0.5
        return value, slope, count, error.astype(np.float64)

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        M, value, slope = tile.M, torch.zeros_like(X), torch.zeros_like(X)
        for t in range(1, self.levels):
            sign = torch.where(t < M, -1.0, 1.0).to(X.dtype)
            short = (1.0 + sign * (X - t - 0.5)).clamp(min=0.0)
            value += 0.5 * short * short
            slope += sign * short
        return TorchEntries(slope, value, ((X.clamp(1.0, self.levels) - M).abs() > 0.5).to(X.dtype))
