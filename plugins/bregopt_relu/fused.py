"""The one pass of an iteration: tiles of X = UV, their residual, and the gradient from it."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Look, Oracle
from bregopt_relu.block import LazyW, ReluBlock
from bregopt_relu.data import Data
from bregopt_relu.threads import one_blas_thread


@final
@frozen(eq=False)
class FusedOracle(Oracle):
    """Looks for ReLU-NMD: 1 product for the value, 3 with the gradient, 1 more for the value at another point."""

    block: ReluBlock

    def look(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Look:
        self.block.check(Y)
        with one_blas_thread():
            return self._pass(Y, at, value_at)

    def _pass(self, Y: Blocks, at: Blocks | None, value_at: bool) -> Look:
        M, U, V = self.block.M, Y["U"], Y["V"]
        flat = None if at is None else np.zeros_like(at.flat)
        gradient = None if at is None or flat is None else at.layout.views(flat)
        elsewhere = value_at and at is not None and at is not Y
        residual = error = below = distance = 0.0

        size = (M.tile_rows, M.shape[1])
        room_X, room_S = np.empty(size), np.empty(size)
        room_B = np.empty(size) if elsewhere else None
        room_V = np.empty_like(V) if gradient is not None else None
        for rows in M.tiles():
            X, S = room_X[: rows.stop - rows.start], room_S[: rows.stop - rows.start]
            np.matmul(U[rows], V, out=X)
            B = None if at is None or room_B is None else room_B[: rows.stop - rows.start]
            if at is not None and B is not None:
                np.matmul(at["U"][rows], at["V"], out=B)
                B -= X
            sums = split(M, rows, X, S)
            residual, error, below = residual + sums[0], error + sums[1], below + sums[2]
            if at is not None and gradient is not None and room_V is not None:
                np.matmul(S, at["V"].T, out=gradient["U"][rows])
                np.matmul(at["U"][rows].T, S, out=room_V)
                gradient["V"] += room_V
            if B is not None:
                B += S  # X̄ − W = (X̄ − X) + S
                distance += float(np.vdot(B, B))
        if at is not None and gradient is not None and at is not Y:
            add_change(gradient, Y, at)

        value = 0.5 * residual
        scale = M.frobenius
        return Look(
            Y=Y,
            W=LazyW(M, U, V),
            value=value,
            at=at,
            gradient=None if at is None or flat is None else at.like(flat),
            value_at=0.5 * distance if elsewhere else value if at is Y else None,
            norms=self.block.bounds(math.hypot(scale, math.sqrt(below)), math.sqrt(residual), U, V),
            metrics={
                "relative_error": math.sqrt(error) / scale,
                "model_residual": math.sqrt(residual) / scale,
            },
            products=1.0 if at is None else 4.0 if elsewhere else 3.0,
        )


def split(M: Data, rows: slice, X: Array, S: Array) -> tuple[float, float, float]:
    """S = X − W for a tile, and ‖S‖², ‖M − max(0, X)‖², ‖min(0, X) off the support‖²; X is used up."""
    if M.dense is not None:
        tile = M.dense[rows]
        X -= tile
        np.maximum(X, 0.0, out=S)
        np.copyto(S, X, where=tile > 0)
        X -= S
        below = float(np.vdot(X, X))
        np.maximum(S, -tile, out=X)
        return float(np.vdot(S, S)), float(np.vdot(X, X)), below
    places, values = M.support(rows)
    line = X.reshape(-1)
    x = line[places]
    line[places] = 0.0
    np.maximum(X, 0.0, out=S)
    X -= S
    above, below = float(np.vdot(S, S)), float(np.vdot(X, X))
    x -= values
    S.reshape(-1)[places] = x
    clipped = np.maximum(x, -values)
    return above + float(x @ x), above + float(clipped @ clipped), below


def add_change(gradient: dict[str, Array], Y: Blocks, at: Blocks) -> None:
    """From S V̄ᵀ and ŪᵀS to the gradient at Ȳ: adds (X̄ − X)V̄ᵀ and Ūᵀ(X̄ − X), X̄ − X = dU V̄ + U dV = dU V + Ū dV."""
    U, V, U_bar, V_bar = Y["U"], Y["V"], at["U"], at["V"]
    dU, dV = U_bar - U, V_bar - V
    gradient["U"] += dU @ (V_bar @ V_bar.T)
    gradient["U"] += U @ (dV @ V_bar.T)
    gradient["V"] += (U_bar.T @ dU) @ V
    gradient["V"] += (U_bar.T @ U_bar) @ dV
