"""Evaluations and sweeps for ReLU-NMD, each one pass over the data."""

import math
from contextlib import AbstractContextManager
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Evaluation, Oracle, Sweep, Update
from bregopt_relu.block import LazyW, ReluBlock
from bregopt_relu.matrix import Answer, Ask
from bregopt_relu.threads import one_blas_thread


@final
@frozen(eq=False)
class FusedOracle(Oracle):
    """Evaluations for ReLU-NMD: 1 product for the value, 3 with the gradient, 1 more for the value at another point."""

    block: ReluBlock

    def working(self) -> AbstractContextManager[Any]:
        """BLAS on one thread: what a second leaves spinning would slow the threads of the next pass down."""
        return one_blas_thread()

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        self.block.check(Y)
        with one_blas_thread():
            return self._value(Y) if at is None else self._gradient(Y, at, value_at and at is not Y)

    def _value(self, Y: Blocks) -> Evaluation:
        return self._evaluate(Y, self.block.M.ask(Ask(Y["U"], Y["V"])), products=1.0)

    def _gradient(self, Y: Blocks, at: Blocks, elsewhere: bool) -> Evaluation:
        flat = np.empty_like(at.flat)
        gradient = at.layout.views(flat)
        answer = self.block.M.ask(Ask(Y["U"], Y["V"], at["U"], at["V"], gradient["U"], elsewhere))
        gradient["V"][...] = _right(answer)
        if answer.cross is not None and answer.gram_bar is not None:  # Ūᵀ(X̄ − X), X̄ − X = dU V + Ū dV
            gradient["V"] += answer.cross @ Y["V"]
            gradient["V"] += answer.gram_bar @ (at["V"] - Y["V"])
        value = 0.5 * answer.distance if elsewhere else 0.5 * answer.residual if at is Y else None
        return self._evaluate(Y, answer, 4.0 if elsewhere else 3.0, at, at.like(flat), value)

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        """Three products where the update goes row by row, and M can take it so; else four."""
        self.block.check(Y)
        row_wise = row_wise and self.block.M.row_wise_updates
        (U, V), (U_bar, V_bar) = (Y["U"], Y["V"]), (at["U"], at["V"])
        ahead, gram = None if U_bar is U else U_bar - U, V @ V.T
        pulled, U_new = np.empty_like(U), np.empty_like(U)

        def renew(rows: slice, left: Array) -> Array:
            gradient = left if ahead is None else left + ahead[rows] @ gram
            U_new[rows] = update(rows, gradient)
            return U_new[rows]

        if row_wise:
            answer = self.block.M.ask(Ask(U, V, V_bar=V, left=pulled, update=renew))
        else:
            self.block.M.ask(Ask(U, V, V_bar=V, left=pulled))
            renew(slice(0, U.shape[0]), pulled)
            answer = self.block.M.ask(Ask(U, V, U_bar=U_new))
        gradient = _right(answer) + (U_new.T @ (U_new - U)) @ V
        if V_bar is not V:
            gradient += (U_new.T @ U_new) @ (V_bar - V)
        return Sweep(self._evaluate(Y, answer, 3.0 if row_wise else 4.0), U_new, gradient)

    def _evaluate(
        self,
        Y: Blocks,
        answer: Answer,
        products: float,
        at: Blocks | None = None,
        gradient: Blocks | None = None,
        value_at: float | None = None,
    ) -> Evaluation:
        M, U, V = self.block.M, Y["U"], Y["V"]
        residual, scale = math.sqrt(answer.residual), M.frobenius
        return Evaluation(
            Y=Y,
            W=LazyW(M, U, V),
            value=0.5 * answer.residual,
            at=at,
            gradient=gradient,
            value_at=value_at,
            norms=self.block.bounds(math.hypot(scale, math.sqrt(answer.below)), residual, answer.gram, V @ V.T),
            metrics={"relative_error": math.sqrt(answer.error) / scale, "model_residual": residual / scale},
            products=products,
            rounding=M.rounding,
            scale=M.scale(0.5 * answer.residual, U, V),
        )


def _right(answer: Answer) -> Array:
    """ŪᵀS."""
    if answer.right is None:
        raise RuntimeError("A pass was asked for a product and left it out.")
    return answer.right.T
