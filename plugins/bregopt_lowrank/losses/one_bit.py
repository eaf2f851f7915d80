"""The squared hinge, for data that are signs."""

from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import Tile, TorchEntries
from bregopt_lowrank.losses.sets_of_data import SignLoss


@final
@frozen
class OneBit(SignLoss):
    """``e(x; m) = ½ max(0, 1 − mx)²`` for m = ±1: M ≈ sign(UV), with a margin."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        short = max(1.0 - m * x, 0.0)
        return 0.5 * short * short, -m * short, 1.0 if short > 0.0 else 0.0

    @property
    def slope_per_data(self) -> float:
        return -1.0

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        Z = M * X
        short = np.maximum(1.0 - Z, 0.0)
        curvature, error = (short > 0).astype(np.float64), (Z <= 0).astype(np.float64)
        return 0.5 * short * short, -M * short, curvature, error

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        Z = tile.M * X
        return TorchEntries(-tile.M * (1.0 - Z).clamp(min=0.0), error=(Z <= 0).to(X.dtype))
