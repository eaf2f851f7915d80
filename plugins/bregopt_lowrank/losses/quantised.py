"""The distance from two levels."""

from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, validate
from bregopt.errors import parameter
from bregopt_lowrank.losses.loss import EntrywiseLoss, Tile, TorchEntries


@final
@frozen
class Quantised(EntrywiseLoss):
    """``e(x) = ½(x − w)²`` for the w in {lo, hi} that is nearer to x: UV has two levels. M says which entries count."""

    lo: float = field(default=0.0, validator=validate.number())
    hi: float = field(default=1.0, validator=validate.number())

    def __attrs_post_init__(self) -> None:
        if not self.lo < self.hi:
            raise parameter("hi", "Quantised", f"above lo = {self.lo:g}", self.hi)

    @staticmethod
    def entry(x: Any, m: Any, lo: Any, hi: Any) -> tuple[Any, Any, Any]:
        s = x - lo if x - lo <= hi - x else x - hi
        return 0.5 * s * s, s, 1.0

    @staticmethod
    def error(x: Any, m: Any, lo: Any, hi: Any) -> Any:
        s = min(abs(x - lo), abs(x - hi))
        return s * s

    @property
    def answer(self) -> str:
        return "{formula} keeps to its two levels to {error} of M"

    @property
    def convex(self) -> bool:
        return False

    def largest(self, M: Array) -> Array:
        return np.full(M.shape, max(abs(self.lo), abs(self.hi)))

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        S = X - np.where(X - self.lo <= self.hi - X, self.lo, self.hi)
        squares = S * S
        return 0.5 * squares, S, np.ones_like(S), squares

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        return TorchEntries(torch.where(X - self.lo <= self.hi - X, X - self.lo, X - self.hi))
