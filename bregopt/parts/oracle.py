"""One look at the problem: W, values, gradient and norms from a single pass."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, final

from attrs import field, frozen

from bregopt.blocks import Blocks
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import Norms
from bregopt.parts.smooth import SmoothPart

Metric = Callable[[Blocks, Any], float]


@final
@frozen(eq=False)
class Look:
    """What one pass saw: W = W(Y), and the gradient of F(·, W) at ``at``."""

    Y: Blocks
    W: Any
    value: float
    """F(Y, W) + G(W)"""
    at: Blocks | None = None
    gradient: Blocks | None = None
    """∇_Y F(at, W)"""
    value_at: float | None = None
    """F(at, W) + G(W), where it was asked for"""
    norms: Norms = field(factory=dict)
    metrics: Mapping[str, float] = field(factory=dict)
    products: float = 0.0
    """the cost, in multiplications of 2·m·n·r flops"""

    @property
    def reduced(self) -> bool:
        """Whether W was taken at the point of the gradient, so that the gradient is that of min_W F + G."""
        return self.at is self.Y


class Oracle(ABC):
    """The one door through which methods see F and W."""

    @abstractmethod
    def look(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Look:
        """W(Y) with its value; with ``at`` the gradient there; with ``value_at`` F(at, W) + G(W) as well."""


@final
@frozen(eq=False)
class PlainOracle(Oracle):
    """A look made of ``argmin``, ``value`` and ``value_and_gradient``; value counts 1 product, gradient 2."""

    smooth: SmoothPart
    block: ClosedFormBlock
    metrics: Mapping[str, Metric] = field(factory=dict)

    def look(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Look:
        W = self.block.argmin(self.smooth, Y)
        G = self.block.value(W)
        if at is None:
            F, gradient, value_there, products = self.smooth.value(Y, W), None, None, 1.0
        else:
            F_at, gradient = self.smooth.value_and_gradient(at, W)
            F = F_at if at is Y else self.smooth.value(Y, W)
            value_there, products = F_at + G, 3.0 if at is Y else 4.0
        metrics = {name: metric(Y, W) for name, metric in self.metrics.items()}
        return Look(Y, W, F + G, at, gradient, value_there, self.block.norms(W), metrics, products)
