"""The loss of data that were cut off at zero: Tobin's model of noise before the cut."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import NonnegativeLoss, Tile, TorchEntries

from bregopt import Array, validate

FAR = 8.0
"""From this t on the continued fraction of ``_excess`` is right to all digits."""
TERMS = 40
"""Of the continued fraction."""


@final
@frozen
class Tobit(NonnegativeLoss):
    """``e(x; m) = ½(x − m)² if m > 0, else −σ² log Φ(−x/σ)``, with Gauss's Φ: M = max(0, UV + noise of deviation σ).

    It is σ² times the negative log-likelihood, but for a constant: a zero says that x and its noise were below zero
    together. With σ → 0 it becomes ``relu``. The slope of a zero is −E[noise | x + noise ≤ 0] = σh(g) for g = x/σ and
    the hazard h = φ/Φ(−·), its curvature h(h − g).
    """

    sigma: float = field(default=1.0, validator=validate.number(above=0))

    @staticmethod
    def entry(x: Any, m: Any, sigma: Any, kept: Any = 0.0) -> tuple[Any, Any, Any]:
        """With t = |g|, the excess h(t) − t is P(y)/(t + 2) for y = (t − 4)/(t + 4), right to 2·10⁻¹⁵ for every t ≥ 0.

        P interpolates it at the 25 Chebyshev points of [−1, 1]. Nothing cancels: for g ≥ 0 the hazard is g + excess,
        and for g < 0 it is φ(t)/(1 − Q) with Q = Φ(−t) = φ(t)/h(t). With ``kept`` = 1, for EM-NMD, the value is not e,
        but the variance σ²(1 − e'') that the noise of a zero keeps; it is 0 where m > 0.
        """
        if m > 0.0:
            s = x - m
            return 0.0 if kept > 0.0 else 0.5 * s * s, s, 1.0
        g = x / sigma
        t = min(abs(g), 1e150)
        y = (t - 4.0) / (t + 4.0)
        P = 1.0439619801686814e-07 * y - 1.0726260021069793e-07
        P = ((P * y - 9.976818147510606e-07) * y + 1.3544083185880467e-06) * y + 4.901512357697626e-06
        P = ((P * y - 9.198709208345016e-06) * y - 1.658218086177682e-05) * y + 4.554748029239057e-05
        P = ((P * y + 4.055463710640722e-05) * y - 0.000185133144037509) * y - 5.035667587898347e-05
        P = ((P * y + 0.0006478565421183198) * y - 0.00017537865622991122) * y - 0.001957745400099525
        P = ((P * y + 0.0017101778063431338) * y + 0.004848911605036425) * y - 0.00856655778817447
        P = ((P * y - 0.007686208929930758) * y + 0.03216831265473202) * y - 0.009278372125760716
        P = ((P * y - 0.08678888663262996) * y + 0.15112762189352189) * y + 0.005916402474892821
        P = (P * y - 0.4354390871605162) * y + 1.3536428669368263
        excess = P / (t + 2.0)
        h = t + excess
        if g >= 0.0:
            bend = min(h * excess, 1.0)
            log = math.log(2.5066282746310005 * h)
            value = sigma * sigma * (1.0 - bend) if kept > 0.0 else 0.5 * x * x + sigma * sigma * log
            return value, x + sigma * excess, bend
        near = math.floor(16.0 * min(t, 40.0)) / 16.0  # whose square is exact: exp(−t²/2) keeps its digits
        phi = 0.3989422804014327 * math.exp(-0.5 * near * near) * math.exp(-0.5 * (t - near) * (t + near))
        Q = phi / h
        hazard = phi / (1.0 - Q)
        bend = hazard * (hazard + t)
        value = sigma * sigma * (1.0 - bend) if kept > 0.0 else -sigma * sigma * math.log1p(-Q)
        return value, sigma * hazard, bend

    @staticmethod
    def error(x: Any, m: Any, sigma: Any) -> Any:
        s = max(x, 0.0) - m
        return s * s

    @property
    def formula(self) -> str:
        return "max(0, {})"

    def predict(self, X: Array) -> Array:
        return np.maximum(X, 0.0)

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        from scipy.special import log_ndtr

        G = X / self.sigma
        T = np.abs(G)
        excess = _excess(T)
        with np.errstate(over="ignore", under="ignore"):
            phi = np.exp(-0.5 * T * T) / math.sqrt(2.0 * math.pi)
        hazard = phi / (1.0 - phi / (T + excess))
        below, S = G < 0, X - M
        log = np.where(below, -log_ndtr(T), np.log(math.sqrt(2.0 * math.pi) * (T + excess)))
        value = np.where(below, 0.0, 0.5 * X * X) + self.sigma**2 * log
        slope = np.where(below, self.sigma * hazard, X + self.sigma * excess)
        curvature = np.where(below, hazard * (hazard + T), np.minimum((T + excess) * excess, 1.0))
        seen = M > 0
        return (
            np.where(seen, 0.5 * S * S, value),
            np.where(seen, S, slope),
            np.where(seen, 1.0, curvature),
            np.square(np.maximum(X, 0.0) - M),
        )

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        value, slope, _, error = self.tensors(torch, X, tile.M)
        return TorchEntries(slope, value, error)

    def tensors(self, torch: Any, X: Any, M: Any) -> tuple[Any, Any, Any, Any]:
        """``arrays`` by torch."""
        G = X / self.sigma
        T = G.abs()
        excess = _torch_excess(torch, T)
        phi = torch.exp(-0.5 * T * T) / math.sqrt(2.0 * math.pi)
        hazard = phi / (1.0 - phi / (T + excess))
        below, S = G < 0, X - M
        log = torch.where(below, -torch.special.log_ndtr(T), torch.log(math.sqrt(2.0 * math.pi) * (T + excess)))
        value = torch.where(below, 0.0, 0.5 * X * X) + self.sigma**2 * log
        slope = torch.where(below, self.sigma * hazard, X + self.sigma * excess)
        curvature = torch.where(below, hazard * (hazard + T), ((T + excess) * excess).clamp(max=1.0))
        seen = M > 0
        return (
            torch.where(seen, 0.5 * S * S, value),
            torch.where(seen, S, slope),
            torch.where(seen, 1.0, curvature),
            (X.clamp(min=0.0) - M).square(),
        )


def _torch_excess(torch: Any, T: Any) -> Any:
    """``_excess`` by torch."""
    near, far, rest = T.clamp(max=FAR), T.clamp(min=FAR), torch.zeros_like(T)
    for k in range(TERMS, 1, -1):
        rest = k / (far + rest)
    hazard = math.sqrt(2.0 / math.pi) / torch.special.erfcx(near / math.sqrt(2.0))
    return torch.where(T < FAR, hazard - near, 1.0 / (far + rest))


def _excess(T: Array) -> Array:
    """``h(t) − t = 1/(t + 2/(t + 3/(t + …)))`` for t ≥ 0, and by erfcx where that converges slowly."""
    from scipy.special import erfcx

    near = np.minimum(T, FAR)
    far, rest = np.maximum(T, FAR), np.zeros_like(T)
    for k in range(TERMS, 1, -1):
        rest = k / (far + rest)
    hazard = math.sqrt(2.0 / math.pi) / erfcx(near / math.sqrt(2.0))
    return np.where(T < FAR, hazard - near, 1.0 / (far + rest))
