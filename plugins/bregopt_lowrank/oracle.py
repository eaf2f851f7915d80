"""Evaluations and sweeps for ½‖W − UV‖², each one pass over M."""

import math
from contextlib import AbstractContextManager
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Evaluation, Oracle, Sweep, Update
from bregopt_lowrank.factorization import LazyW, LowRankBlock
from bregopt_lowrank.matrices.matrix import PassRequest, PassResult
from bregopt_lowrank.passes.threads import one_blas_thread


@final
@frozen(eq=False)
class FusedOracle(Oracle):
    """Evaluations of 1 product for the value, 3 with the gradient, and 1 more for the value at another point."""

    block: LowRankBlock

    def working(self) -> AbstractContextManager[Any]:
        """BLAS on one thread: what a second leaves spinning would slow the threads of the next pass down."""
        return one_blas_thread()

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        self.block.check_shapes(Y)
        with one_blas_thread():
            return self._value(Y) if at is None else self._gradient(Y, at, value_at and at is not Y)

    def _pass(self, U: Array, V: Array, **wanted: Any) -> PassResult:
        return self.block.M.run_pass(PassRequest(self.block.loss, U, V, **wanted))

    def _value(self, Y: Blocks) -> Evaluation:
        return self._evaluate(Y, self._pass(Y["U"], Y["V"]), products=1.0)

    def _gradient(self, Y: Blocks, at: Blocks, elsewhere: bool) -> Evaluation:
        flat = np.empty_like(at.flat)
        gradient = at.layout.views(flat)
        result = self._pass(Y["U"], Y["V"], U_bar=at["U"], V_bar=at["V"], left=gradient["U"], distance=elsewhere)
        gradient["V"][...] = _right(result)
        if result.cross is not None and result.gram_bar is not None:  # Ūᵀ(X̄ − X), X̄ − X = dU V + Ū dV
            gradient["V"] += result.cross @ Y["V"]
            gradient["V"] += result.gram_bar @ (at["V"] - Y["V"])
        value = 0.5 * result.distance if elsewhere else 0.5 * result.residual if at is Y else None
        return self._evaluate(Y, result, 4.0 if elsewhere else 3.0, at, at.like(flat), value)

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        """Three products where the update goes row by row, and M can take it so; else four."""
        self.block.check_shapes(Y)
        row_wise = row_wise and self.block.M.row_wise_updates
        (U, V), (U_bar, V_bar) = (Y["U"], Y["V"]), (at["U"], at["V"])
        dU, gram = None if U_bar is U else U_bar - U, V @ V.T
        left, U_new = np.empty_like(U), np.empty_like(U)

        def renew(rows: slice, left: Array) -> Array:
            gradient = left if dU is None else left + dU[rows] @ gram
            U_new[rows] = update(rows, gradient)
            return U_new[rows]

        if row_wise:
            result = self._pass(U, V, V_bar=V, left=left, update=renew)
        else:
            self._pass(U, V, V_bar=V, left=left)
            renew(slice(0, U.shape[0]), left)
            result = self._pass(U, V, U_bar=U_new)
        gradient = _right(result) + (U_new.T @ (U_new - U)) @ V
        if V_bar is not V:
            gradient += (U_new.T @ U_new) @ (V_bar - V)
        return Sweep(self._evaluate(Y, result, 3.0 if row_wise else 4.0), U_new, gradient)

    def _evaluate(
        self,
        Y: Blocks,
        result: PassResult,
        products: float,
        at: Blocks | None = None,
        gradient: Blocks | None = None,
        value_at: float | None = None,
    ) -> Evaluation:
        M, U, V = self.block.M, Y["U"], Y["V"]
        residual, scale = math.sqrt(result.residual), M.frobenius
        return Evaluation(
            Y=Y,
            W=LazyW(self.block.loss, M, U, V),
            value=0.5 * result.residual,
            at=at,
            gradient=gradient,
            value_at=value_at,
            norms=self.block.bounds(self.block.frobenius(result.of_W), residual, result.gram, V @ V.T),
            metrics={"relative_error": math.sqrt(result.error) / scale, "model_residual": residual / scale},
            products=products,
            rounding=self.block.rounding,
            scale=self.block.scale(0.5 * result.residual, U, V),
            residual_rounding=(
                0.0 if at is None else self.block.gradient_rounding(0.5 * result.residual, at["U"], at["V"])
            ),
        )


def _right(result: PassResult) -> Array:
    """ŪᵀS."""
    if result.right is None:
        raise RuntimeError("A pass was asked for a product and left it out.")
    return result.right.T
