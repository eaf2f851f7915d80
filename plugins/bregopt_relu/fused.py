"""The one pass of an iteration: tiles of X = UV, their residual, and the gradient from it."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Look, Oracle
from bregopt_relu.block import LazyW, ReluBlock
from bregopt_relu.data import Data
from bregopt_relu.sweep import Sweep, sweep_for
from bregopt_relu.threads import one_blas_thread, spread, thread_count


@final
@frozen(eq=False)
class FusedOracle(Oracle):
    """Looks for ReLU-NMD: 1 product for the value, 3 with the gradient, 1 more for the value at another point."""

    block: ReluBlock
    threads: int = field(factory=thread_count)

    def look(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Look:
        self.block.check(Y)
        M, elsewhere = self.block.M, value_at and at is not None and at is not Y
        flat = None if at is None else np.empty_like(at.flat)
        with one_blas_thread():
            tiles, workers = list(M.tiles()), self._workers()
            shares = [tiles[len(tiles) * k // workers : len(tiles) * (k + 1) // workers] for k in range(workers)]
            gradient = None if at is None or flat is None else at.layout.views(flat)
            passes = spread(lambda share: _over(share, M, sweep_for(M), Y, at, gradient, elsewhere), shares)
            total = passes[0]
            for other in passes[1:]:
                total = total.plus(other)
            if at is not None and gradient is not None:
                gradient["V"][...] = total.V
                if at is not Y:
                    add_change(gradient, Y, at)
            norms = self.block.bounds(
                math.hypot(M.frobenius, math.sqrt(total.below)), math.sqrt(total.residual), Y["U"], Y["V"]
            )
        value, scale = 0.5 * total.residual, M.frobenius
        return Look(
            Y=Y,
            W=LazyW(M, Y["U"], Y["V"]),
            value=value,
            at=at,
            gradient=None if at is None or flat is None else at.like(flat),
            value_at=0.5 * total.distance if elsewhere else value if at is Y else None,
            norms=norms,
            metrics={
                "relative_error": math.sqrt(total.error) / scale,
                "model_residual": math.sqrt(total.residual) / scale,
            },
            products=1.0 if at is None else 4.0 if elsewhere else 3.0,
        )

    def _workers(self) -> int:
        """As many threads as have a tile, one where the whole is small."""
        m, n = self.block.M.shape
        small = m * n < 2**17
        return 1 if small else max(1, min(self.threads, -(-m // self.block.M.tile_rows)))


@final
@frozen(eq=False)
class _Total:
    """What the tiles of one thread add up to."""

    residual: float
    error: float
    below: float
    distance: float
    V: Array

    def plus(self, other: "_Total") -> "_Total":
        return _Total(
            self.residual + other.residual,
            self.error + other.error,
            self.below + other.below,
            self.distance + other.distance,
            self.V + other.V,
        )


def _over(
    tiles: list[slice],
    M: Data,
    sweep: Sweep,
    Y: Blocks,
    at: Blocks | None,
    gradient: dict[str, Array] | None,
    elsewhere: bool,
) -> _Total:
    """The pass over some tiles; the rows of U's gradient are written in place, V's share is returned."""
    U, V = Y["U"], Y["V"]
    room, other = np.empty((M.tile_rows, M.shape[1])), np.empty((M.tile_rows, M.shape[1])) if elsewhere else None
    share, product = np.zeros_like(V), np.empty_like(V)
    residual = error = below = distance = 0.0
    for rows in tiles:
        X = room[: rows.stop - rows.start]
        np.matmul(U[rows], V, out=X)
        B = None
        if at is not None and other is not None:
            B = other[: rows.stop - rows.start]
            np.matmul(at["U"][rows], at["V"], out=B)
            B -= X
        sums = sweep(rows, X)
        residual, error, below = residual + sums[0], error + sums[1], below + sums[2]
        if B is not None:
            B += X  # X̄ − W = (X̄ − X) + (X − W)
            distance += float(np.vdot(B, B))
        if at is not None and gradient is not None:
            np.matmul(X, at["V"].T, out=gradient["U"][rows])
            np.matmul(at["U"][rows].T, X, out=product)
            share += product
    return _Total(residual, error, below, distance, share)


def add_change(gradient: dict[str, Array], Y: Blocks, at: Blocks) -> None:
    """From S V̄ᵀ and ŪᵀS to the gradient at Ȳ: adds (X̄ − X)V̄ᵀ and Ūᵀ(X̄ − X), X̄ − X = dU V̄ + U dV = dU V + Ū dV."""
    U, V, U_bar, V_bar = Y["U"], Y["V"], at["U"], at["V"]
    dU, dV = U_bar - U, V_bar - V
    gradient["U"] += dU @ (V_bar @ V_bar.T)
    gradient["U"] += U @ (dV @ V_bar.T)
    gradient["V"] += (U_bar.T @ dU) @ V
    gradient["V"] += (U_bar.T @ U_bar) @ dV
