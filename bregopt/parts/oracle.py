"""One evaluation of the problem: W, values, gradient and norms from a single pass."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import Any, final

import numpy as np
from attrs import Factory, evolve, field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import IncompatibleError
from bregopt.part_errors import wrong_result
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import Norms
from bregopt.parts.smooth import SmoothPart

ROUNDING = 1e-12
"""Relative size below which a difference of two float64 values of Φ says nothing."""
LAST_DIGITS = 8.0 * 2.0**-52
"""A vector made by a few operations in float64 is known to that part of the largest vectors that went into it."""
Metric = Callable[[Blocks, Any], float]
Update = Callable[[str, slice, Array], Array]
"""``(block, rows, gradient on these rows) -> the new rows`` of the block."""


@final
@frozen(eq=False)
class Evaluation:
    """What one pass saw: W = W(Y), and the gradient of F(·, W) at ``at``."""

    Y: Blocks
    W: Any
    value: float
    """F(Y, W) + G(W)"""
    _at: Blocks | None = None
    _gradient: Blocks | None = None
    value_at: float | None = None
    """F(at, W) + G(W), where it was asked for"""
    norms: Norms = field(factory=dict)
    metrics: Mapping[str, float] = field(factory=dict)
    products: float = 0.0
    """the cost, in multiplications of 2·m·n·r flops"""
    rounding: float = ROUNDING
    """the part of ``scale`` below which a difference of two values says nothing"""
    scale: float = field(default=Factory(lambda self: abs(self.value), takes_self=True))
    """the sum of the absolute terms of the value, and what rounding brings into them"""
    residual_rounding: float = 0.0
    """what the rounding of residuals, which may be small against the data, leaves of the gradient's norm"""

    @property
    def gradient_rounding(self) -> float:
        """How far the gradient may be from the true one."""
        return self.residual_rounding + LAST_DIGITS * self.gradient.norm()

    @property
    def at(self) -> Blocks:
        """The point of the gradient."""
        return _asked_for(self._at)

    @property
    def gradient(self) -> Blocks:
        """``∇_Y F(at, W)``."""
        return _asked_for(self._gradient)

    @property
    def has_gradient(self) -> bool:
        return self._gradient is not None

    @property
    def reduced(self) -> bool:
        """Whether W was taken at the point of the gradient, so that the gradient is that of min_W F + G."""
        return self._at is self.Y


def _asked_for(found: Blocks | None) -> Blocks:
    if found is None:
        raise IncompatibleError("This evaluation has no gradient: evaluate(Y, at=...) asks an oracle for one.")
    return found


@final
@frozen(eq=False)
class Sweep:
    """What a sweep saw and made: W = W(Y), all blocks but the last, and the gradient for the last after them."""

    evaluation: Evaluation
    """at Y, without a gradient"""
    Y: Blocks
    """every block as its update left it; the last is that of the old Y"""
    gradient: Array
    """for the last block"""


class Oracle(ABC):
    """How methods see F and W: the one place that evaluates them, and that counts products."""

    @abstractmethod
    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        """W(Y) with its value; with ``at`` the gradient there; with ``value_at`` F(at, W) + G(W) as well."""

    def working(self) -> AbstractContextManager[Any]:
        """The context in which a method on this oracle runs, such as one that limits the threads of BLAS."""
        return nullcontext()

    def charge(self, products: float) -> None:
        """Put what a method computed beside the oracle on the account of the run; an oracle by itself keeps none."""
        return

    @property
    def spent(self) -> float:
        """The products on the account of the run so far."""
        return 0.0

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        """An update of the blocks one after the other with W = W(Y), for methods that go block by block.

        ``update`` gets the gradient of F(·, W) for a block and returns the new block. The gradient is taken where the
        blocks before it are new, those after it are those of Y, and the block itself is that of ``at``. The last block
        is left to the caller, with its gradient. An update that treats the rows of the first block on their own
        (``row_wise``) may be called for some of its rows at a time. Here by an evaluation for each block; an oracle may
        save some.
        """
        *others, last = Y.names
        here, seen, products = Y, None, 0.0
        for name in others:
            before = self.evaluate(Y, at=_with(here, at, name, Y))
            new = update(name, slice(0, len(Y[name])), before.gradient[name])
            here, seen, products = here.replaced(**{name: new}), seen or before, products + before.products
        after = self.evaluate(Y, at=_with(here, at, last, Y))
        seen = evolve(seen or after, at=None, gradient=None, value_at=None, products=products + after.products)
        return Sweep(seen, here, after.gradient[last])


def _with(here: Blocks, at: Blocks, name: str, Y: Blocks) -> Blocks:
    """``here`` with the block of ``at``; Y itself where that is what comes out."""
    return here if at is Y else here.replaced(**{name: at[name]})


@final
@frozen(eq=False)
class PlainOracle(Oracle):
    """An evaluation made of ``argmin``, ``value`` and ``value_and_gradient``.

    Each of them needs the product of the blocks, and a gradient one product more for each block. So a value counts 2
    products; with the gradient of two blocks at the same point it is 4, and at another point 5. A sweep counts 2, and
    for each block what its gradient takes: 2, or that of all blocks where F has no ``block_gradient`` of its own.
    """

    smooth: SmoothPart
    block: ClosedFormBlock
    metrics: Mapping[str, Metric] = field(factory=dict)

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        W = self.block.argmin(self.smooth, Y)
        G = _real(self.block, "value", self.block.value(W))
        if at is None:
            F, gradient, value_there, products = _real(self.smooth, "value", self.smooth.value(Y, W)), None, None, 2.0
        else:
            F_at, gradient = self._with_gradient(at, W)
            F = F_at if at is Y else _real(self.smooth, "value", self.smooth.value(Y, W))
            value_there, products = F_at + G, 2.0 + len(at.names) + (at is not Y)
        metrics = {name: _measured(metric, Y, W) for name, metric in self.metrics.items()}
        norms = self.block.norms(W)
        if not isinstance(norms, Mapping):
            raise wrong_result(self.block, "norms", "a mapping of names to numbers", norms)
        return Evaluation(Y, W, F + G, at, gradient, value_there, norms, metrics, products)

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        """With one W for all blocks."""
        seen = self.evaluate(Y)
        price = 2.0 if type(self.smooth).block_gradient is not SmoothPart.block_gradient else 1.0 + len(Y.names)
        *others, last = Y.names
        here = Y
        for name in others:
            gradient = self._for_block(_with(here, at, name, Y), seen.W, name)
            here = here.replaced(**{name: update(name, slice(0, len(Y[name])), gradient)})
        seen = evolve(seen, products=seen.products + price * len(Y.names))
        return Sweep(seen, here, self._for_block(_with(here, at, last, Y), seen.W, last))

    def _for_block(self, Y: Blocks, W: Any, name: str) -> Array:
        found = self.smooth.block_gradient(Y, W, name)
        if not isinstance(found, np.ndarray) or found.shape != Y[name].shape:
            raise wrong_result(self.smooth, "block_gradient", f"an array like the block '{name}' of {Y!r}", found)
        return found

    def _with_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        match self.smooth.value_and_gradient(Y, W):
            case (Real() as F, Blocks() as gradient) if gradient.layout == Y.layout:
                return float(F), gradient
            case found:
                raise wrong_result(self.smooth, "value_and_gradient", f"a number and Blocks as in {Y!r}", found)


def _measured(metric: Metric, Y: Blocks, W: Any) -> float:
    return _real(metric, "", metric(Y, W))


def _real(part: object, method: str, found: Any) -> float:
    """The result as a float, if it is a number; whether it is finite is for the run to see."""
    if not isinstance(found, Real):
        raise wrong_result(part, method, "a number", found)
    return float(found)
