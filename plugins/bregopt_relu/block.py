"""The W block: W = M where M > 0 and min(0, UV) elsewhere, held as M and the factors."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, Norms, SmoothPart
from bregopt.errors import DataError
from bregopt_relu.data import Data


@final
@frozen(eq=False)
class LazyW:
    """``W = M on the support of M, min(0, UV) elsewhere``; a row tile of it exists only while it is used."""

    M: Data
    U: Array = field(repr=False)
    V: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.M.shape

    def rows(self, rows: slice) -> Array:
        """A tile of rows, dense."""
        X = self.U[rows] @ self.V
        np.minimum(X, 0.0, out=X)
        if self.M.dense is not None:
            tile = self.M.dense[rows]
            np.copyto(X, tile, where=tile > 0)
        else:
            places, values = self.M.support(rows)
            X.reshape(-1)[places] = values
        return X

    def toarray(self) -> Array:
        """The whole of W as a dense array."""
        return np.concatenate([self.rows(rows) for rows in self.M.tiles()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.toarray() if dtype is None else self.toarray().astype(dtype)


def product_norm(U: Array, V: Array) -> float:
    """‖UV‖₂ from the r×r Gram matrices, scaled against overflow."""
    u, v = float(np.abs(U).max()), float(np.abs(V).max())
    if not 0 < u * v < math.inf:
        return u * v
    U, V = U / u, V / v
    values, vectors = np.linalg.eigh(V @ V.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return u * v * math.sqrt(max(float(np.linalg.eigvalsh(root.T @ (U.T @ U) @ root)[-1]), 0.0))


def product_change(Y: Blocks, Z: Blocks) -> float:
    """‖U_Y V_Y − U_Z V_Z‖_F from r×r Gram matrices, without cancellation."""
    dU, dV = Y["U"] - Z["U"], Y["V"] - Z["V"]
    U, V = Z["U"], Y["V"]  # the difference is dU·V + U·dV
    square = np.vdot(dU.T @ dU, V @ V.T) + 2.0 * np.vdot(U.T @ dU, dV @ V.T) + np.vdot(U.T @ U, dV @ dV.T)
    return math.sqrt(max(float(square), 0.0))


@final
@frozen(eq=False)
class ReluBlock(ClosedFormBlock):
    """``G(W) = 0 if max(0, W) = M, else ∞``; ``W(Y) = M where M > 0, min(0, UV) elsewhere``."""

    M: Data
    rank: int
    reduced_norm: float
    """an upper bound of ‖M‖₂"""

    def check(self, Y: Blocks) -> None:
        """Refuse factors that do not fit M."""
        (m, n), r = self.M.shape, self.rank
        if Y.names != ("U", "V") or Y["U"].shape != (m, r) or Y["V"].shape != (r, n):
            raise DataError(f"The factors must be U: {m}×{r} and V: {r}×{n} for this M and rank. Got {Y!r} instead.")

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> LazyW:
        return LazyW(self.M, Y["U"], Y["V"])

    def value(self, W: LazyW) -> float:
        return 0.0

    def norms(self, W: LazyW) -> Norms:
        square = residual = 0.0
        for rows in self.M.tiles():
            tile = W.rows(rows)
            square += float(np.vdot(tile, tile))
            tile -= W.U[rows] @ W.V
            residual += float(np.vdot(tile, tile))
        return self.bounds(math.sqrt(square), math.sqrt(residual), W.U, W.V)

    def bounds(self, frobenius: float, residual: float, U: Array, V: Array) -> Norms:
        """Norms of W from ‖W‖_F and ‖W − UV‖_F: ``‖W‖₂ ≤ min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``."""
        return {
            "frobenius": frobenius,
            "spectral": min(frobenius, product_norm(U, V) + residual),
            "reduced": self.reduced_norm,
        }

    def ahead(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """W(·) and W(·) − X are nonexpansive in X = UV: bounds grow by the change of X, the spectral one twice."""
        change = 0.0 if Y is Y_prev else product_change(Y, Y_prev)
        frobenius = norms["frobenius"] + change
        return {**norms, "frobenius": frobenius, "spectral": min(frobenius, norms["spectral"] + 2.0 * change)}
