"""A quadratic form on the rows, such as that of a graph Laplacian."""

from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, SmoothRegularizer, Trait, validate
from bregopt.errors import DataError
from bregopt_regularizers.precision import floating

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


@final
@frozen(eq=False, slots=False)
class Graph(SmoothRegularizer):
    """``H(X) = (μ/2) Tr(XᵀLX)``, L = Lᵀ ⪰ 0 dense or scipy.sparse, each row of X a node of the graph."""

    L: Any = field(converter=semidefinite, repr=lambda L: f"<{L.shape[0]}×{L.shape[1]}>")
    mu: float = field(default=1.0, validator=validate.number(at_least=0))
    paper = "case (iv)"
    traits = Trait.CONVEX

    @property
    def row_bound(self) -> Array:
        """d ≥ 0 with μL ⪯ diag(d), d_i = μ Σ_j |L_ij|: twice the weighted degree for a Laplacian."""
        return np.asarray(float(self.mu) * abs(self.L).sum(axis=1))

    @property
    def norm_bound(self) -> float:
        """An upper bound of ``μ‖L‖₂``: the largest of ``row_bound``."""
        return float(self.row_bound.max())

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        eigenvalues, Q = np.linalg.eigh(self.L)
        return np.maximum(eigenvalues, 0.0), Q

    def value(self, X: Array) -> float:
        return 0.5 * float(self.mu) * max(float(np.vdot(X, self.L @ self._rows(X))), 0.0)

    def prox(self, X: Array, step: float) -> Array:
        """``(I + step·μL)⁻¹ X``: by the spectrum of a dense L, by a sparse factorisation otherwise."""
        rows, t = self._rows(X), float(step * self.mu)
        if isinstance(self.L, np.ndarray):
            eigenvalues, Q = self._spectrum
            solved = Q @ ((Q.T @ rows) / (1.0 + t * eigenvalues)[:, None])
        else:
            from scipy.sparse import eye_array
            from scipy.sparse.linalg import splu

            factors = splu(eye_array(self.L.shape[0], format="csc") + t * self.L, **SYMMETRIC)
            solved = factors.solve(rows.astype(np.float64))
        return np.asarray(solved.reshape(X.shape), dtype=floating(X))

    def gradient(self, X: Array) -> Array:
        """``μLX``."""
        return np.asarray((float(self.mu) * (self.L @ self._rows(X))).reshape(X.shape), dtype=floating(X))

    def curvature(self, X: Array) -> Array:
        """``row_bound``, as a column."""
        self._rows(X)
        return self.row_bound.reshape(-1, *[1] * (X.ndim - 1))

    def _rows(self, X: Array) -> Array:
        if X.ndim == 0 or X.shape[0] != self.L.shape[0]:
            raise DataError(f"The graph has {self.L.shape[0]} nodes, one for each row. Got a block of shape {X.shape}.")
        return X.reshape(X.shape[0], -1)
