"""The W block: W = M where M > 0 and min(0, UV) elsewhere, held as M and the factors."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, Norms, SmoothPart
from bregopt.errors import DataError
from bregopt_relu.matrix import Matrix

SINGULAR = 1e-13
"""Share of its trace that a Gram matrix gets added: it may be singular, and a bound may only grow by it."""


@final
@frozen(eq=False)
class LazyW:
    """``W = M on the support of M, min(0, UV) elsewhere``; a row tile of it exists only while it is used."""

    M: Matrix
    U: Array = field(repr=False)
    V: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.M.shape

    def rows(self, rows: slice) -> Array:
        """A tile of rows, dense."""
        X = np.asarray(self.U[rows] @ self.V)
        np.minimum(X, 0.0, out=X)
        self.M.put(rows, X)
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


@final
@frozen(eq=False)
class ReluBlock(ClosedFormBlock):
    """``G(W) = 0 if max(0, W) = M, else ∞``; ``W(Y) = M where M > 0, min(0, UV) elsewhere``."""

    M: Matrix
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
        return self.bounds(math.sqrt(square), math.sqrt(residual), W.U.T @ W.U, W.V @ W.V.T)

    def bounds(self, frobenius: float, residual: float, UtU: Array, VVt: Array) -> Norms:
        """Norms of W from ‖W‖_F and ‖W − UV‖_F: ``‖W‖₂ ≤ min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``."""
        return {
            "frobenius": frobenius,
            "spectral": min(frobenius, product_norm(UtU, VVt) + residual),
            "reduced": self.reduced_norm,
        }

    def density(self) -> float:
        """The share of the entries of M that are not zero."""
        return self.M.nonzeros / (self.M.shape[0] * self.M.shape[1])

    def bound_norms(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """W(·) and W(·) − X are nonexpansive in X = UV: bounds grow by the change of X, the spectral one twice."""
        change = 0.0 if Y is Y_prev else product_change(Y, Y_prev)
        frobenius = norms["frobenius"] + change
        return {**norms, "frobenius": frobenius, "spectral": min(frobenius, norms["spectral"] + 2.0 * change)}
