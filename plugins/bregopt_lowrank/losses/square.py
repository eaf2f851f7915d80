"""The loss of data that are squares."""

import math
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import Tile, TorchEntries
from bregopt_lowrank.losses.sets_of_data import NonnegativeLoss


@final
@frozen
class Square(NonnegativeLoss):
    """``e(x; m) = ½(x − w)²`` for the nearest w with w² = m, that is ½(|x| − √m)²: M ≈ (UV)², entry by entry."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        w = math.sqrt(m)
        s = x - w if x >= 0.0 else x + w
        return 0.5 * s * s, s, 1.0

    @staticmethod
    def error(x: Any, m: Any) -> Any:
        s = x * x - m
        return s * s

    @property
    def formula(self) -> str:
        return "({})²"

    def predict(self, X: Array) -> Array:
        return np.square(X)

    @property
    def convex(self) -> bool:
        return False

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return np.square(rng.standard_normal(size))

    def largest(self, M: Array) -> Array:
        return np.sqrt(M)

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        W = np.sqrt(M)
        S = X - np.where(X >= 0, W, -W)
        return 0.5 * S * S, S, np.ones_like(S), np.square(X * X - M)

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        W = torch.sqrt(tile.M)
        return TorchEntries(X - torch.where(X >= 0, W, -W), error=(X * X - tile.M).square())
