"""The Huber loss."""

from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, validate
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries


@final
@frozen
class Huber(EntrywiseLoss):
    """``e(x; m) = ½z² if |z| ≤ d, else d|z| − ½d²`` at z = x − m: M ≈ UV + a sparse matrix of outliers.

    It is ``min_w ½(w − x)² + d|w − m|``: robust PCA, with the outliers m − w minimised out.
    """

    d: float = field(default=1.0, validator=validate.number(above=0))

    @staticmethod
    def entry(x: Any, m: Any, d: Any) -> tuple[Any, Any, Any]:
        z = x - m
        s = min(max(z, -d), d)
        return s * (z - 0.5 * s), s, 1.0 if abs(z) <= d else 0.0

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        Z = X - M
        S = np.clip(Z, -self.d, self.d)
        return S * (Z - 0.5 * S), S, (np.abs(Z) <= self.d).astype(np.float64), Z * Z

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        Z = X - tile.M
        S = Z.clamp(-self.d, self.d)
        return TorchEntries(S, S * (Z - 0.5 * S), Z * Z)
