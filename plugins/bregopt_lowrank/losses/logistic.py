"""The logistic loss, for data that are signs."""

from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import Tile, TorchEntries
from bregopt_lowrank.losses.sets_of_data import SignLoss


@final
@frozen
class Logistic(SignLoss):
    """``e(x; m) = log(1 + exp(−mx))`` for m = ±1: m = 1 has the probability 1/(1 + exp(−x))."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        """By polynomials, so that a loop over entries vectorises; right to 2·10⁻¹⁴.

        ``E = exp(−|z|)`` is Taylor's polynomial of −|z|/256, squared eight times. ``log(1 + E) = 2 artanh(E/(2 + E))``.
        """
        z = m * x
        t = min(abs(z), 40.0) / 256.0
        E = 1.0 / 5040.0 - t * (1.0 / 40320.0 - t * (1.0 / 362880.0))
        E = 1.0 / 24.0 - t * (1.0 / 120.0 - t * (1.0 / 720.0 - t * E))
        E = 1.0 - t * (1.0 - t * (0.5 - t * (1.0 / 6.0 - t * E)))
        E *= E
        E *= E
        E *= E
        E *= E
        E *= E
        E *= E
        E *= E
        E *= E
        y = E / (2.0 + E)
        q = y * y
        log = 1.0 / 25.0 + q * (1.0 / 27.0 + q * (1.0 / 29.0 + q * (1.0 / 31.0)))
        log = 1.0 / 17.0 + q * (1.0 / 19.0 + q * (1.0 / 21.0 + q * (1.0 / 23.0 + q * log)))
        log = 1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0 + q * (1.0 / 15.0 + q * log)))
        log = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * log)))
        p = 1.0 / (1.0 + E)
        return 2.0 * y * log + max(-z, 0.0), -m * p * (E if z > 0.0 else 1.0), E * p * p

    @property
    def bound(self) -> float:
        return 0.25

    @property
    def slope_per_data(self) -> float:
        return -0.5

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        Z = M * X
        E = np.exp(-np.abs(Z))
        P = 1.0 / (1.0 + E)
        slope = -M * P * np.where(Z > 0, E, 1.0)
        return np.logaddexp(0.0, -Z), slope, E * P * P, (Z <= 0).astype(np.float64)

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        Z = tile.M * X
        E = torch.exp(-Z.abs())
        slope = -tile.M * torch.where(Z > 0, E, 1.0) / (1.0 + E)
        return TorchEntries(slope, (-Z).clamp(min=0.0) + torch.log1p(E), (Z <= 0).to(X.dtype))
