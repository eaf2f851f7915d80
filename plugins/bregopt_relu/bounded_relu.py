"""The loss of data that were cut off on both sides."""

from typing import Any, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import EntrywiseLoss, Tile, TorchEntries
from numpy.typing import NDArray

from bregopt import Array, validate
from bregopt.errors import parameter

SAME = 1e-7
"""How far, relative to itself, an end may be from data that are equal to it: they may be rounded to float32."""


@final
@frozen
class BoundedRelu(EntrywiseLoss):
    """``e(x; m) = ½ dist(x, {w : clip(w, lo, hi) = m})²``: M ≈ clip(UV, lo, hi).

    The set is {m} for lo < m < hi, all w ≤ lo for m = lo, and all w ≥ hi for m = hi.
    """

    lo: float = field(default=0.0, validator=validate.number())
    hi: float = field(default=1.0, validator=validate.number())

    def __attrs_post_init__(self) -> None:
        if not self.lo < self.hi:
            raise parameter("hi", "BoundedRelu", f"above lo = {self.lo:g}", self.hi)

    @staticmethod
    def entry(x: Any, m: Any, lo: Any, hi: Any) -> tuple[Any, Any, Any]:
        s = x - m
        low, high = m <= lo + SAME * abs(lo), m >= hi - SAME * abs(hi)
        s = max(s, 0.0) if low else s
        s = min(s, 0.0) if high else s
        return 0.5 * s * s, s, 0.0 if (low | high) & (s == 0.0) else 1.0

    @staticmethod
    def error(x: Any, m: Any, lo: Any, hi: Any) -> Any:
        s = min(max(x, lo), hi) - m
        return s * s

    @property
    def formula(self) -> str:
        return f"clip({{}}, {self.lo:g}, {self.hi:g})"

    def predict(self, X: Array) -> Array:
        return np.clip(X, self.lo, self.hi)

    @property
    def slope_per_data(self) -> float | None:
        return -1.0 if self.lo <= 0 <= self.hi else None

    @property
    def flat_at_zero(self) -> bool:
        return self.lo == 0

    @property
    def data(self) -> str:
        return f"numbers from {self.lo:g} to {self.hi:g}"

    def fits(self, M: Array) -> NDArray[np.bool_]:
        return np.asarray(np.abs(M - np.clip(M, self.lo, self.hi)) <= SAME * np.abs(M))

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        middle, width = 0.5 * (self.lo + self.hi), self.hi - self.lo
        return np.clip(middle + width * rng.standard_normal(size), self.lo, self.hi)

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        S = X - M
        low, high = self.lo + SAME * abs(self.lo) >= M, self.hi - SAME * abs(self.hi) <= M
        np.maximum(S, 0.0, out=S, where=low)
        np.minimum(S, 0.0, out=S, where=high)
        active = ~(low | high) | (S != 0)
        return 0.5 * S * S, S, active.astype(np.float64), np.square(np.clip(X, self.lo, self.hi) - M)

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        S, M = X - tile.M, tile.M
        S = torch.where(self.lo + SAME * abs(self.lo) >= M, S.clamp(min=0.0), S)
        S = torch.where(self.hi - SAME * abs(self.hi) <= M, S.clamp(max=0.0), S)
        return TorchEntries(S, error=(X.clamp(self.lo, self.hi) - M).square())
