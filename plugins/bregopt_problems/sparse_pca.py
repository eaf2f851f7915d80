"""Sparse principal components."""

from typing import Any, Unpack, final

import numpy as np
from attrs import evolve, frozen
from bregopt_lowrank import LocalMatrix, LowRankBlock, low_rank

from bregopt import Array, Blocks, Problem, ProblemParts, Start, make
from bregopt.errors import IncompatibleError, parameter
from bregopt_problems.entries import in_memory
from bregopt_problems.options import Options, checked

SHARE = 0.1
"""The default η, in norms of the largest column of M."""


def sparse_pca(
    M: Any, rank: int | None = None, eta: float | None = None, center: bool = True, **options: Unpack[Options]
) -> Problem:
    """``min ½‖M − UV‖² + η Σ|v_ij|  s.t.  UᵀU = I``: principal components that are made of few of the variables each.

    A row of M is a sample, and a column a variable. The columns of U are the scores of the samples, orthonormal; the
    rows of V are the loadings, times what they explain: ``V = soft(UᵀM, η)``, so that a variable with ``‖m_j‖ ≤ η`` is
    in none. With η = 0 this is PCA, up to a rotation of the components.
    ``bregopt_problems.explained_variance(problem, result.Y)`` tells how much of the variance each component adds.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, in any form that ``low-rank`` takes; nan is missing.
    rank : int
        The number of components.
    eta : float, optional
        η. The default is a tenth of the norm of the largest column of M; from that norm on V is zero.
    center : bool
        Whether the mean of each column is taken off first, over its known entries. A sparse M would be dense then: it
        has to be given with ``center=False``, and so has an M that is not in memory.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.

    References
    ----------
    H. Shen and J. Z. Huang, Sparse principal component analysis via regularized low rank matrix approximation, 2008.
    M. Journée, Y. Nesterov, P. Richtárik and R. Sepulchre, Generalized power method for sparse principal component
    analysis, 2010.
    """
    if not isinstance(center, (bool, np.bool_)):
        raise parameter("center", "sparse-pca", "True or False", center)
    if eta is not None and (
        isinstance(eta, bool) or not isinstance(eta, (int, float, np.number)) or not 0 <= eta < np.inf
    ):
        raise parameter("eta", "sparse-pca", "a finite number >= 0", eta)
    if center:
        M = _centered(M, options.get("mask"), options.get("weights"))
    problem = low_rank(
        M,
        rank,
        "least-squares",
        U="orthonormal",
        V=make("regularizer", "l1", _usual_eta(M, options.get("mask")) if eta is None else float(eta)),
        name="sparse PCA problem",
        owner="sparse-pca",
        **checked(options, "sparse-pca"),
    )
    return evolve(problem, start=PrincipalComponents())


def _centered(M: Any, mask: Any, weights: Any) -> Any:
    """M less the mean of the known entries of each column."""
    if hasattr(M, "nnz"):
        raise parameter("center", "sparse-pca", "False for a sparse M, which would be dense once it is centered", True)
    if not in_memory(M):
        raise parameter("center", "sparse-pca", "False for an M that is not in memory: center it beforehand", True)
    A = np.asarray(M)
    if A.dtype.kind not in "fiub" or A.ndim != 2:
        return M  # low-rank says what is wrong
    A = A if A.dtype.kind == "f" else A.astype(float)
    weight = _known(A, mask).astype(float)
    if weights is not None and np.shape(weights) == A.shape:
        weight = weight * np.asarray(weights, dtype=float)
    total, filled = weight.sum(axis=0), np.where(weight > 0, A, 0.0)
    mean = np.divide((weight * filled).sum(axis=0), total, out=np.zeros(A.shape[1]), where=total > 0)
    return (A - mean).astype(A.dtype)


def _known(A: Array, mask: Any) -> Any:
    """Where an entry is; a mask of another shape is left to ``low-rank``, which refuses it."""
    known = ~np.isnan(A)
    mask = mask.toarray() if hasattr(mask, "toarray") else mask
    return known if mask is None or np.shape(mask) != A.shape else known & np.asarray(mask, dtype=bool)


def _usual_eta(M: Any, mask: Any) -> float:
    """``0.1·max_j ‖m_j‖`` over the known entries."""
    if hasattr(M, "tocsr"):
        S = M.tocsr().astype(float)
        squares = np.asarray(S.multiply(S).sum(axis=0)).ravel()
    elif in_memory(M):
        A = np.asarray(M)
        if A.dtype.kind not in "fiub" or A.ndim != 2:
            return 1.0  # low-rank says what is wrong
        A = A.astype(float)
        squares = np.square(np.where(_known(A, mask), A, 0.0)).sum(axis=0)
    else:
        raise parameter("eta", "sparse-pca", "given for an M that is not in memory", None)
    largest = float(np.sqrt(np.max(squares, initial=0.0)))
    if not 0 < largest < np.inf:
        return 1.0  # low-rank says what is wrong
    return SHARE * largest


@final
@frozen
class PrincipalComponents(Start):
    """U of the leading left singular vectors of M, missing entries taken for 0, and V = UᵀM: the solution for η = 0."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = problem.block
        shapes = block.model.shapes(block.M.shape, block.rank) if isinstance(block, LowRankBlock) else {}
        if not isinstance(block, LowRankBlock) or tuple(shapes) != ("U", "V"):
            raise IncompatibleError(
                f"The start 'pca' is for a product UV, and the {problem.name} has none: "
                "take scaled-random, or give the blocks to start from."
            )
        U, s, Vt = (np.asarray(it, dtype=float) for it in block.M.leading(block.rank))
        return Blocks(U=U, V=s[:, None] * Vt)


def explained_variance(problem: ProblemParts, Y: Blocks) -> Array:
    """The share of ``‖M‖²`` that each component of a ``sparse-pca`` problem adds to those before it.

    ``explained_variance(problem, result.Y).sum()`` is ``‖MQ‖²/‖M‖²`` for an orthonormal basis Q of the loadings. The
    loadings of sparse components are not orthogonal, and what two of them share counts once: for the first one, by the
    QR decomposition ``Vᵀ = QR``. Missing entries are taken for 0, which is the mean of a centered M.
    """
    block = problem.block
    if not isinstance(block, LowRankBlock) or "V" not in Y.names:
        raise IncompatibleError(f"The {problem.name} has no components: make it by compose('sparse-pca', …).")
    block.check_shapes(Y)
    M, Q = block.M, _gram_schmidt(np.asarray(Y["V"], dtype=float))
    if isinstance(M, LocalMatrix) and M.in_memory:
        scores = M.filled() @ Q
    else:
        scores = np.concatenate([np.nan_to_num(M.read(rows).M, nan=0.0) @ Q for rows in M.tiles()])
    return np.asarray(np.square(scores / M.frobenius).sum(axis=0))


def _gram_schmidt(V: Array) -> Array:
    """Q with orthonormal columns, in the order of the rows of V; zero where a row adds no direction."""
    Q = np.zeros(V.T.shape)
    for p, v in enumerate(V):
        size = np.linalg.norm(v)
        rest = v
        for _ in range(2):  # once more, as the first difference cancels
            rest = rest - Q @ (Q.T @ rest)
        if np.linalg.norm(rest) > 1e-12 * size:
            Q[:, p] = rest / np.linalg.norm(rest)
    return Q
