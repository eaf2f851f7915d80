"""A W block that is entrywise in X = UV: W is held as M and the factors, and its norms are bounded by theirs."""

import math
from abc import abstractmethod
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, Norms, SmoothPart
from bregopt.errors import DataError
from bregopt_lowrank.matrices.matrix import Matrix
from bregopt_lowrank.matrices.size import check_start
from bregopt_lowrank.tile_loss import TileLoss

SINGULAR = 1e-13
"""Share of its trace that a Gram matrix gets added: it may be singular, and a bound may only grow by it."""


@final
@frozen(eq=False)
class LazyW:
    """W(UV) for the loss; a tile of its rows exists only while it is used."""

    loss: TileLoss
    M: Matrix
    U: Array = field(repr=False)
    V: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.M.shape

    def rows(self, rows: slice) -> Array:
        """A tile of rows, dense."""
        X = np.asarray(self.U[rows] @ self.V)
        self.loss.fill_W(X, self.M.read(rows))
        return X

    def toarray(self) -> Array:
        """The whole of W as a dense array."""
        return np.concatenate([self.rows(rows) for rows in self.M.tiles()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.toarray() if dtype is None else self.toarray().astype(dtype)


def product_norm(UtU: Array, VVt: Array) -> float:
    """‖UV‖₂ from the r×r Gram matrices UᵀU and VVᵀ, scaled against overflow."""
    u, v = float(np.trace(UtU)), float(np.trace(VVt))
    if not 0 < u * v < math.inf:
        return math.sqrt(u) * math.sqrt(v)
    root = np.linalg.cholesky(VVt / v + SINGULAR * np.eye(len(VVt)))
    top = float(np.linalg.eigvalsh(root.T @ (UtU / u) @ root)[-1])
    return math.sqrt(u) * math.sqrt(v) * math.sqrt(max(top, 0.0))


def product_change(Y: Blocks, Z: Blocks) -> float:
    """‖U_Y V_Y − U_Z V_Z‖_F from r×r Gram matrices, without cancellation."""
    dU, dV = Y["U"] - Z["U"], Y["V"] - Z["V"]
    U, V = Z["U"], Y["V"]  # the difference is dU·V + U·dV
    square = np.vdot(dU.T @ dU, V @ V.T) + 2.0 * np.vdot(U.T @ dU, dV @ V.T) + np.vdot(U.T @ U, dV @ dV.T)
    return math.sqrt(max(float(square), 0.0))


class LowRankBlock(ClosedFormBlock):
    """``W(Y) = argmin_W ½‖W − UV‖² + G(W)`` for a convex G that is a sum over entries."""

    M: Matrix
    rank: int
    reduced_norm: float
    """what stands for ‖W‖₂ in the constants of the reduced function, min_W F + G"""

    @property
    @abstractmethod
    def loss(self) -> TileLoss:
        """W(X) on a tile."""

    @abstractmethod
    def frobenius(self, of_W: float) -> float:
        """‖W‖_F from what the loss summed up for it in a pass."""

    def check(self, Y: Blocks) -> None:
        """Refuse the factors of a start that do not fit M, or cannot be computed with."""
        self.check_shapes(Y)
        check_start(Y, self.M.dtype)

    def check_shapes(self, Y: Blocks) -> None:
        """Refuse factors that do not fit M."""
        (m, n), r = self.M.shape, self.rank
        if Y.names != ("U", "V") or Y["U"].shape != (m, r) or Y["V"].shape != (r, n):
            raise DataError(f"The factors must be U: {m}×{r} and V: {r}×{n} for this M and rank. Got {Y!r} instead.")

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> LazyW:
        return LazyW(self.loss, self.M, Y["U"], Y["V"])

    def norms(self, W: LazyW) -> Norms:
        square = residual = 0.0
        for rows in self.M.tiles():
            tile = W.rows(rows)
            square += float(np.vdot(tile, tile))
            tile -= W.U[rows] @ W.V
            residual += float(np.vdot(tile, tile))
        return self.bounds(math.sqrt(square), math.sqrt(residual), W.U.T @ W.U, W.V @ W.V.T)

    def bounds(self, frobenius: float, residual: float, UtU: Array, VVt: Array) -> Norms:
        """Norms of W from ‖W‖_F and ‖W − UV‖_F: ``‖W‖₂ ≤ min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``."""
        return {
            "frobenius": frobenius,
            "spectral": min(frobenius, product_norm(UtU, VVt) + residual),
            "reduced": self.reduced_norm,
        }

    def bound_norms(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """W(·) and W(·) − X are nonexpansive in X = UV: bounds grow by the change of X, the spectral one twice."""
        change = 0.0 if Y is Y_prev else product_change(Y, Y_prev)
        frobenius = norms["frobenius"] + change
        return {**norms, "frobenius": frobenius, "spectral": min(frobenius, norms["spectral"] + 2.0 * change)}
