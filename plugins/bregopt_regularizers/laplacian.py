"""The Laplacian of a graph, and what any such matrix must be."""

from typing import Any

import numpy as np

from bregopt.errors import DataError

TOLERANCE = 1e-10
"""Rounding allowed in the symmetry and the definiteness of L, relative to its largest row sum."""
SYMMETRIC = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
"""Options of scipy's splu for a symmetric matrix whose pivots may be taken from the diagonal."""


def symmetric(L: Any, name: str) -> Any:
    """A copy of L in double precision, dense or CSC, once it is seen to be a symmetric matrix."""
    from scipy.sparse import csc_array, issparse

    try:
        L = L if issparse(L) else np.asarray(L)
    except ValueError as error:
        raise DataError(f"{name} cannot be read as a matrix: {error}") from None
    if L.dtype.kind not in "fiub" or L.ndim != 2 or L.shape[0] != L.shape[1] or L.shape[0] == 0:
        raise DataError(f"{name} must be a square matrix of real numbers. Got {L.dtype} of shape {L.shape} instead.")
    L = csc_array(L, dtype=np.float64, copy=True) if issparse(L) else np.array(L, dtype=np.float64)
    if not np.isfinite(L.data if issparse(L) else L).all():
        raise DataError(f"{name} must hold finite numbers only.")
    gap = abs(L - L.T).max()
    if gap > TOLERANCE * abs(L).max():
        raise DataError(f"{name} must be symmetric. Got entries that differ by {gap:g} from those across the diagonal.")
    return L


def semidefinite(L: Any) -> Any:
    """L, once it is seen to be positive semidefinite: cheaply where it is diagonally dominant, as a Laplacian is."""
    L = symmetric(L, "L")
    sums = abs(L).sum(axis=1)
    rounding = TOLERANCE * sums.max()
    if np.all(2 * L.diagonal() >= sums - rounding):
        return L
    if isinstance(L, np.ndarray):
        good = bool(np.linalg.eigvalsh(L)[0] >= -rounding)
    else:
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        factors = splu(L + rounding * eye_array(L.shape[0], format="csc"), **SYMMETRIC)
        good = np.array_equal(factors.perm_r, factors.perm_c) and bool(np.all(factors.U.diagonal() > 0))
    if not good:
        raise DataError("L must be positive semidefinite, as laplacian(S) of affinities S >= 0 is.")
    return L


def laplacian(S: Any) -> Any:
    """``L = D − S`` for affinities S = Sᵀ ≥ 0 with row sums D; sparse stays sparse, self-loops do not count."""
    from scipy.sparse import diags_array, issparse

    S = symmetric(S, "S")
    if S.min() < 0:
        raise DataError(f"Affinities must be >= 0. Got {S.min():g} instead.")
    if not issparse(S):
        S = S - np.diag(np.diagonal(S))
        return np.diag(S.sum(axis=1)) - S
    S = S - diags_array(S.diagonal(), format="csc")
    return diags_array(S.sum(axis=1), format="csc") - S
