"""A quadratic form on the rows, such as that of a graph Laplacian."""

from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, SmoothRegularizer, Trait, validate
from bregopt.errors import DataError
from bregopt_regularizers.laplacian import SYMMETRIC, semidefinite
from bregopt_regularizers.precision import floating


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
