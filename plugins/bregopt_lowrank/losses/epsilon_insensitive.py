"""The squared loss that leaves small deviations alone."""

from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, validate
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries


@final
@frozen
class EpsilonInsensitive(EntrywiseLoss):
    """``e(x; m) = ½ max(0, |x − m| − ε)²``: M ≈ UV up to ε, as for data that are rounded."""

    eps: float = field(default=0.1, validator=validate.number(above=0))

    @staticmethod
    def entry(x: Any, m: Any, eps: Any) -> tuple[Any, Any, Any]:
        z = x - m
        s = z - min(max(z, -eps), eps)
        return 0.5 * s * s, s, 1.0 if abs(z) > eps else 0.0

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        Z = X - M
        S = Z - np.clip(Z, -self.eps, self.eps)
        return 0.5 * S * S, S, (np.abs(Z) > self.eps).astype(np.float64), Z * Z

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        Z = X - tile.M
        return TorchEntries(Z - Z.clamp(-self.eps, self.eps), error=Z * Z)
