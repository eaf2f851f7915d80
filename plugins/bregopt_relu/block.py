"""The W block of ReLU-NMD: W = M where M > 0 and min(0, UV) elsewhere."""

import math
from typing import final

from attrs import frozen
from bregopt_lowrank import LazyW, LowRankBlock, Matrix

from bregopt_relu.loss import ReluLoss


@final
@frozen(eq=False)
class ReluBlock(LowRankBlock):
    """``G(W) = 0 if max(0, W) = M, else ∞``; ``W(Y) = M where M > 0, min(0, UV) elsewhere``."""

    M: Matrix
    rank: int
    reduced_norm: float
    """an upper bound of ‖M‖₂"""

    @property
    def loss(self) -> ReluLoss:
        return ReluLoss()

    def value(self, W: LazyW) -> float:
        return 0.0

    def frobenius(self, of_W: float) -> float:
        """The loss sums up W off the support of M; on it W is M."""
        return math.hypot(self.M.frobenius, math.sqrt(of_W))
