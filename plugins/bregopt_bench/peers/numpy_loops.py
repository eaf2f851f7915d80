"""What one would write by hand in NumPy: a smooth objective for scipy, HALS, and alternating least squares."""

from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array


@final
@frozen(eq=False)
class SmoothLowRank:
    """``loss(M, UV) + (ridge/2)(‖U‖² + ‖V‖²)`` of all entries of U and V as one vector.

    The loss is ½‖M − UV‖² for the model ``nmf``, and for ``relu-nmd`` that of M = max(0, UV).
    """

    M: Array
    model: str
    rank: int
    ridge: float

    def factors(self, x: Array) -> tuple[Array, Array]:
        m, n = self.M.shape
        return x[: m * self.rank].reshape(m, self.rank), x[m * self.rank :].reshape(self.rank, n)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        U, V = self.factors(x)
        X = U @ V
        E = X - self.M if self.model == "nmf" else np.where(self.M > 0, X - self.M, np.maximum(X, 0.0))
        value = 0.5 * float(np.vdot(E, E)) + 0.5 * self.ridge * float(np.vdot(x, x))
        return value, np.concatenate([(E @ V.T).ravel(), (U.T @ E).ravel()]) + self.ridge * x

    @property
    def bounds(self) -> list[tuple[float, None]] | None:
        """What scipy is to keep to."""
        return [(0.0, None)] * (sum(self.M.shape) * self.rank) if self.model == "nmf" else None


def hals_sweep(rows: Array, target: Array, gram: Array, ridge: float = 0.0) -> None:
    """``h_k ← max(0, (t_k − Σ_{j≠k} g_kj h_j)/(g_kk + ridge))`` for the rows h of a factor, in place.

    For V it is target = UᵀM and gram = UᵀU; for the rows of Uᵀ it is VMᵀ and VVᵀ.
    """
    for k, row in enumerate(rows):
        curvature = gram[k, k] + ridge
        if curvature > 0:
            row[:] = np.maximum((target[k] - gram[k] @ rows + gram[k, k] * row) / curvature, 0.0)


def als_sweep(rows: Array, other: Array, values: Any, ridge: float) -> None:
    """A ridge regression for each row of a factor on the entries that are known, in place.

    ``values`` is a CSR array of what is known, and ``other`` has a row for each of its columns.
    """
    eye = ridge * np.eye(rows.shape[1])
    for i, (begin, end) in enumerate(zip(values.indptr, values.indptr[1:], strict=False)):
        seen = other[values.indices[begin:end]]
        rows[i] = np.linalg.solve(seen.T @ seen + eye, seen.T @ values.data[begin:end])
