"""The quantile loss, smoothed."""

from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, validate
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries


@final
@frozen
class Quantile(EntrywiseLoss):
    """``e(x; m) = max s(x − m) − ½ds²`` over −q ≤ s ≤ 1 − q: x estimates the q-quantile of m.

    For d → 0 it tends to ``q·max(0, m − x) + (1 − q)·max(0, x − m)``: too low an x costs q, too high an x 1 − q.
    """

    q: float = field(default=0.5, validator=validate.number(above=0, below=1))
    d: float = field(default=1.0, validator=validate.number(above=0))

    @staticmethod
    def entry(x: Any, m: Any, q: Any, d: Any) -> tuple[Any, Any, Any]:
        z = x - m
        t = z / d
        s = min(max(t, -q), 1.0 - q)
        return s * (z - 0.5 * d * s), s, 1.0 / d if s == t else 0.0

    @property
    def bound(self) -> float:
        return 1.0 / self.d

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        Z, q, d = X - M, self.q, self.d
        T = Z / d
        S = np.clip(T, -q, 1.0 - q)
        return S * (Z - 0.5 * d * S), S, (S == T) / d, Z * Z

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        Z, q, d = X - tile.M, self.q, self.d
        S = (Z / d).clamp(-q, 1.0 - q)
        return TorchEntries(S, S * (Z - 0.5 * d * S), Z * Z)
