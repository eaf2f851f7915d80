"""Leading singular values of M: by Lanczos where M is in memory, by a few passes over its rows where it is not."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bregopt import Array
from bregopt_lowrank.matrices.matrix import PassRequest

if TYPE_CHECKING:
    from bregopt_lowrank.losses.loss import ColumnLosses
    from bregopt_lowrank.matrices.local import LocalMatrix
    from bregopt_lowrank.matrices.matrix import Matrix

Gram = Callable[[Array], Array]
"""``Z -> MᵀMZ``"""
SAFETY = 1.0001
"""A computed spectral norm is a lower bound; this factor makes it an upper one."""
PASSES = 8
"""Passes over a matrix that is read from where it is stored."""


def norm(M: "LocalMatrix") -> float:
    """An upper bound of ‖M‖₂; in memory it exceeds it by at most one part in 10⁴."""
    if not M.in_memory:
        return norm_by_passes(M, lambda Z: gram(M, Z))
    if min(M.shape) <= 2:
        top = float(np.linalg.norm(M.array(), 2))
    else:
        _, s, _ = leading(M, 1)
        top = float(s[0])
    return min(SAFETY * top, M.frobenius)


def norm_by_passes(M: "Matrix", gram: Gram) -> float:
    """An upper bound of ‖M‖₂ by a few passes over an M ≥ 0; of another M the Frobenius norm."""
    return min(perron_bound(gram, M.shape[1]), M.frobenius) if M.lowest >= 0 else M.frobenius


def perron_bound(gram: Gram, n: int) -> float:
    """Collatz and Wielandt: ``‖M‖₂² ≤ max_j (MᵀMx)_j / x_j`` for every x > 0 where M ≥ 0; x by power steps."""
    x = np.ones(n)
    best = np.inf
    for _ in range(PASSES):
        y = gram(x[:, None])[:, 0]
        bound = float((y / x).max())
        settled = bound > 0.999 * best
        best = min(best, bound)
        if settled:
            break
        x = np.maximum(y / y.max(), 1e-12)
    return SAFETY * float(np.sqrt(best))


def gram(M: "LocalMatrix", Z: Array) -> Array:
    """MᵀMZ in one pass over the rows."""
    total = np.zeros(Z.shape)
    for rows in M.tiles():
        tile = _filled(M, rows)
        total += tile.T @ (tile @ Z.astype(tile.dtype))
    return total


def image(M: "LocalMatrix", Z: Array) -> Array:
    """MZ in one pass over the rows."""
    return np.concatenate([_filled(M, rows) @ Z.astype(M.dtype) for rows in M.tiles()]).astype(np.float64)


def _filled(M: "LocalMatrix", rows: slice) -> Array:
    """Some rows, with 0 for missing entries."""
    tile = M.read(rows).M
    return np.where(np.isnan(tile), tile.dtype.type(0), tile) if M.missing else tile


def leading(M: "LocalMatrix", rank: int) -> tuple[Array, Array, Array]:
    """The ``rank`` leading singular triplets (U, s, Vᵀ), largest first; small matrices by a full factorisation."""
    if not M.in_memory:
        return subspace(lambda Z: gram(M, Z), lambda Z: image(M, Z), M.shape[1], rank)
    if rank > min(M.shape) // 3 or min(M.shape) <= 64:
        return _factorised(M, rank)
    from scipy.sparse.linalg import ArpackError, aslinearoperator, svds

    v0 = np.random.default_rng(0).standard_normal(min(M.shape)).astype(M.dtype)
    size = 2.0 ** math.frexp(M.frobenius)[1]  # ARPACK takes squared singular values far below 1 for zero
    try:
        U, s, Vt = svds(
            aslinearoperator(M.filled()) * M.dtype.type(1.0 / size),
            k=rank,
            v0=v0,
            tol=1e-9 if M.dtype == np.float64 else 1e-5,
        )
    except ArpackError:  # singular values too close to each other for Lanczos
        return _factorised(M, rank)
    order = np.argsort(-s)
    return U[:, order], s[order] * M.dtype.type(size), Vt[order]


def subspace(gram: Gram, image: Gram, n: int, rank: int) -> tuple[Array, Array, Array]:
    """Subspace iteration: each step is one pass, with a few columns more than asked for; ``image`` is Z -> MZ."""
    Q = np.random.default_rng(0).standard_normal((n, min(n, rank + 8)))
    for _ in range(PASSES):
        Q, _ = np.linalg.qr(gram(Q))
    U, s, Wt = np.linalg.svd(image(Q), full_matrices=False)
    return U[:, :rank], s[:rank], (Wt @ Q.T)[:rank]


def _factorised(M: "LocalMatrix", rank: int) -> tuple[Array, Array, Array]:
    U, s, Vt = np.linalg.svd(M.array(), full_matrices=False)
    return U[:, :rank], s[:rank], Vt[:rank]


def slope_norm(M: "Matrix", loss: "ColumnLosses", curvature: float, *, rough: bool = False) -> float:
    """An upper bound of ‖E'(0)‖₂, the slopes of the loss at X = 0; a ``rough`` one is ‖E'(0)‖_F."""
    slope = loss.slope_per_data
    if slope is not None and M.plain and not rough:
        return abs(slope) * M.spectral
    m, n = M.shape
    U, V, left = np.zeros((m, 1)), np.zeros((1, n)), np.empty((m, 1))
    frobenius = math.sqrt(M.run_pass(PassRequest(loss, curvature, U, V)).residual)
    if rough or min(m, n) <= 2 or not getattr(M, "in_memory", False) or frobenius == 0:
        return frobenius
    from scipy.sparse.linalg import ArpackError, LinearOperator, svds

    def times(x: Array) -> Array:
        M.run_pass(PassRequest(loss, curvature, U, V, V_bar=x.reshape(1, n) / frobenius, left=left))
        return left[:, 0].copy()

    def transposed_times(y: Array) -> Array:
        result = M.run_pass(PassRequest(loss, curvature, U, V, U_bar=y.reshape(m, 1) / frobenius))
        return np.zeros(n) if result.right is None else result.right[:, 0]

    start = np.random.default_rng(0).standard_normal(min(m, n))
    operator = LinearOperator((m, n), matvec=times, rmatvec=transposed_times, dtype=np.float64)
    try:
        top = float(svds(operator, k=1, v0=start, tol=1e-6, return_singular_vectors=False)[0])
    except ArpackError:
        return frobenius
    return min(SAFETY * top, 1.0) * frobenius
