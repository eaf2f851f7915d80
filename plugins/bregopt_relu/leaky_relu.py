"""The loss of data that went through a leaky ReLU."""

from typing import Any, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import EntrywiseLoss, Tile, TorchEntries

from bregopt import Array, validate


@final
@frozen
class LeakyRelu(EntrywiseLoss):
    """``e(x; m) = ½(x − w)²`` with w = m if m > 0, else m/α: M ≈ max(UV, α·UV)."""

    alpha: float = field(default=0.1, validator=validate.number(above=0, at_most=1))

    @staticmethod
    def entry(x: Any, m: Any, alpha: Any) -> tuple[Any, Any, Any]:
        s = x - min(m, m / alpha)
        return 0.5 * s * s, s, 1.0

    @staticmethod
    def error(x: Any, m: Any, alpha: Any) -> Any:
        s = max(x, alpha * x) - m
        return s * s

    @property
    def formula(self) -> str:
        return f"max({{0}}, {self.alpha:g}·{{0}})"

    def predict(self, X: Array) -> Array:
        return np.asarray(np.maximum(X, self.alpha * X))

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        S = X - np.minimum(M, M / self.alpha)
        return 0.5 * S * S, S, np.ones_like(S), np.square(np.maximum(X, self.alpha * X) - M)

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        error = (torch.maximum(X, self.alpha * X) - tile.M).square()
        return TorchEntries(X - torch.minimum(tile.M, tile.M / self.alpha), error=error)
