"""Evaluations and sweeps for (c/2)‖W − A(Y)‖², each one pass over M."""

import math
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Evaluation, Oracle, Sweep, Update
from bregopt_lowrank.factorization import LazyW, LowRankBlock, norm
from bregopt_lowrank.matrices.matrix import PassRequest, PassResult
from bregopt_lowrank.models import Frozen, Product, Sided, Symmetric
from bregopt_lowrank.passes.threads import one_blas_thread


@final
@frozen(eq=False)
class FusedOracle(Oracle):
    """Evaluations of 1 product for the value, 3 with the gradient, and 1 more for the value at another point.

    Where one factor is fixed it is one product less. A pass over stored entries alone counts the true share of that.
    """

    block: LowRankBlock

    @cached_property
    def _of_product(self) -> bool:
        return isinstance(self.block.model, Product)

    @cached_property
    def _mirrored(self) -> bool:
        """Whether one product gives the gradients for both factors where W is taken at the point of the gradient."""
        return isinstance(self.block.model, Symmetric) and self.block.model.mirrored

    def working(self) -> AbstractContextManager[Any]:
        """BLAS on one thread: what a second leaves spinning would slow the threads of the next pass down."""
        return nullcontext() if self.block.model.threads else one_blas_thread()

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        self.block.check_shapes(Y)
        return self._value(Y) if at is None else self._gradient(Y, at, value_at and at is not Y)

    def _pass(self, U: Array, V: Array, **wanted: Any) -> PassResult:
        block = self.block
        return block.M.run_pass(PassRequest(block.loss, block.curvature, U, V, **wanted))

    @cached_property
    def _share(self) -> float:
        """What a product costs, as a part of 2·m·n·r flops."""
        return self.block.M.share(self.block.loss, self.block.rank)

    def _value(self, Y: Blocks) -> Evaluation:
        factors = self.block.model.factors(Y)
        return self._evaluate(Y, factors, self._pass(*factors), products=1.0)

    def _gradient(self, Y: Blocks, at: Blocks, elsewhere: bool) -> Evaluation:
        model, c = self.block.model, self.block.curvature
        if not self._of_product and isinstance(model, Frozen):
            return self._affine(model, Y, at)
        U, V = model.factors(Y)
        U_bar, V_bar = (U, V) if at is Y else model.factors(at)
        flat = np.empty_like(at.flat)
        gradient = at.layout.views(flat)
        left = gradient["U"] if self._of_product else np.empty_like(U)
        mirrored = at is Y and self._mirrored
        if at is Y and model.fixed_left:
            result = self._pass(U, V, U_bar=U)
        else:
            result = self._pass(U, V, U_bar=None if mirrored else U_bar, V_bar=V_bar, left=left, distance=elsewhere)
        right = left.T if mirrored else _right(result)
        if result.cross is not None and result.gram_bar is not None:  # cŪᵀ(X̄ − X), X̄ − X = dU V + Ū dV
            cross, gram = result.cross, result.gram_bar
            if c != 1:
                cross, gram = c * cross, c * gram
            right += cross @ V
            right += gram @ (V_bar - V)
        for name, part in model.pull(at, left, right).items():
            if part is not gradient[name]:
                gradient[name][...] = part
        value = self._value_at(result) if elsewhere else result.value if at is Y else None
        products = model.products(gradient=True, elsewhere=at is not Y, value_at=elsewhere) - mirrored
        return self._evaluate(Y, (U, V), result, products, at, at.like(flat), value, (U_bar, V_bar))

    def _affine(self, model: Frozen, Y: Blocks, at: Blocks) -> Evaluation:
        """The gradient where one factor stays, for two products: X̄ − X is known from the other, and so is F at Ȳ."""
        c, (U, V), (U_bar, V_bar) = self.block.curvature, model.factors(Y), model.factors(at)
        if model.left:
            result, left = self._pass(U, V, U_bar=U), np.empty((0, 0))
            slope, change, gram = _right(result), V_bar - V, c * (U.T @ U)
            bent = gram @ change
            right = slope + bent
        else:
            left, right = np.empty_like(U), np.empty((0, 0))
            result = self._pass(U, V, V_bar=V, left=left)
            slope, change, gram = left.copy(), U_bar - U, c * (V @ V.T)
            bent = change @ gram
            left += bent
        found = model.pull(at, left, right)
        value = result.value + float(np.vdot(slope, change)) + 0.5 * float(np.vdot(bent, change))
        gradient = at.map(lambda name, _: found[name])
        return self._evaluate(Y, (U, V), result, 2.0, at, gradient, value, (U_bar, V_bar))

    def _value_at(self, result: PassResult) -> float:
        """``(c/2)‖X̄ − W‖² + G(W)``."""
        c = self.block.curvature
        return 0.5 * result.distance / c + (result.value - 0.5 * result.residual / c)

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        """Three products where L is the first block, the update goes row by row, and M can take it so; else four.

        S = E'(X) is that of Y for all blocks: those of L see SRᵀ, those of R see L⁺ᵀS, and what the new blocks add to
        it takes no pass.
        """
        model = self.block.model
        if not isinstance(model, Sided) or sum(model.sides, ()) != Y.names:
            return super().sweep(Y, at, update, row_wise=row_wise)
        self.block.check_shapes(Y)
        c, (L, R), (lefts, rights) = self.block.curvature, model.factors(Y), model.sides
        here, new = Y, L
        if not lefts:
            result = self._pass(L, R, U_bar=L)
            products = 2.0 * len(Y) + (at is not Y)
        else:
            on_left = LeftSide(model, Y, at, np.empty_like(L), c * (R @ R.T), update)
            if row_wise and L is Y[lefts[0]] and self.block.M.row_wise_updates:
                result, products = self._pass(L, R, V_bar=R, left=on_left.left, update=on_left.rows), 3.0
                here, new = Y.replaced(**{lefts[0]: on_left.new}), on_left.new
            else:
                self._pass(L, R, V_bar=R, left=on_left.left)
                here = on_left.blocks(L)
                new = model.left(here)
                result, products = self._pass(L, R, U_bar=new), 4.0
        slope, gram = _right(result), c * (new.T @ new)
        if lefts:
            slope = slope + (c * (new.T @ (new - L))) @ R
        for name in rights:
            point = here if at is Y else here.replaced(**{name: at[name]})
            moved = slope if at is Y and name == rights[0] else slope + gram @ (model.right(point) - R)
            gradient = model.part(point, name, moved)
            if name != rights[-1]:
                here = here.replaced(**{name: update(name, slice(0, len(Y[name])), gradient)})
        return Sweep(self._evaluate(Y, (L, R), result, products), here, gradient)

    def _evaluate(
        self,
        Y: Blocks,
        factors: tuple[Array, Array],
        result: PassResult,
        products: float,
        at: Blocks | None = None,
        gradient: Blocks | None = None,
        value_at: float | None = None,
        there: tuple[Array, Array] | None = None,
    ) -> Evaluation:
        block, (U, V) = self.block, factors
        residual, of_W, c = math.sqrt(result.residual), result.of_W, block.curvature
        sizes, rounding = (norm(U), norm(V)), 0.0
        if there is not None:
            size_of_S = residual + math.sqrt(2.0 * c * result.cancelled)
            rounding = block.gradient_rounding(size_of_S, *(sizes if at is Y else map(norm, there)))
        return Evaluation(
            Y=Y,
            W=LazyW(block.loss, c, block.M, U, V),
            value=result.value,
            at=at,
            gradient=gradient,
            value_at=value_at,
            norms=block.bounds(lambda: block.loss.norm_of_W(of_W, block.M), residual / c, U, V),
            metrics=block.metrics(result.error, residual, U, V),
            products=products * self._share,
            rounding=block.rounding,
            scale=block.scale_by_norms(result.value, *sizes) + result.cancelled,
            residual_rounding=rounding,
        )


@final
@frozen(eq=False)
class LeftSide:
    """The update of the blocks of L from SRᵀ."""

    model: Sided
    Y: Blocks
    at: Blocks
    left: Array
    """SRᵀ at Y"""
    gram: Array
    """cRRᵀ"""
    update: Update
    new: Array = field(init=False)
    """L where it is one block, as its rows come"""
    moved: Array | None = field(init=False)
    """L̄ − L there, where ``at`` is not Y"""

    @new.default
    def _empty(self) -> Array:
        return np.empty_like(self.left)

    @moved.default
    def _moved(self) -> Array | None:
        first = self.Y.names[0]
        return None if self.at is self.Y or len(self.model.sides[0]) > 1 else self.at[first] - self.Y[first]

    def rows(self, rows: slice, left: Array) -> Array:
        """Some rows of the block that L is."""
        first = self.Y.names[0]
        gradient = left if self.moved is None else left + self.moved[rows] @ self.gram
        self.new[rows] = self.update(first, rows, gradient)
        return self.new[rows]

    def blocks(self, L: Array) -> Blocks:
        """The blocks one after the other."""
        here = self.Y
        for name in self.model.sides[0]:
            point = here if self.at is self.Y else here.replaced(**{name: self.at[name]})
            moved = self.left if point is self.Y else self.left + (self.model.left(point) - L) @ self.gram
            gradient = self.model.part(point, name, moved)
            here = here.replaced(**{name: self.update(name, slice(0, len(self.Y[name])), gradient)})
        return here


def _right(result: PassResult) -> Array:
    """ŪᵀS."""
    if result.right is None:
        raise RuntimeError("A pass was asked for a product and left it out.")
    return result.right.T
