"""Linear measurements z = Ax of a signal: A and b as users have them, products with A, and bounds of its norms."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from bregopt import Array
from bregopt.errors import DataError

Numbers = NDArray[Any]
"""Real or complex."""
EXACT = 256
"""The size of a symmetric matrix up to which its eigenvalues are computed; beyond the largest is bounded."""
SMALL = 2**24
"""Entries up to which an operator is turned into a matrix, so that its norms are as good as those of a matrix."""
SAFETY = 1.0 + 1e-11
"""For the rounding of an eigenvalue."""
STEPS, FAILURE = 64, 1e-12
"""Of a bound by Lanczos: its products, and the probability that it is none."""


@final
@frozen(eq=False, slots=False)
class Measurements:
    """``z = Ax`` for an m×d A, real or complex; the block of a complex x holds d pairs (Re x, Im x)."""

    A: Any = field(repr=False)
    """an array, a CSR array or a LinearOperator"""
    shape: tuple[int, int]
    is_complex: bool
    size: float
    """‖A‖_F; of an operator an estimate, to measure rounding by"""

    @property
    def block_shape(self) -> tuple[int, ...]:
        return (self.shape[1], 2) if self.is_complex else (self.shape[1],)

    def vector(self, X: Array) -> Numbers:
        """x of its block, as a view."""
        if X.shape != self.block_shape:
            wanted, found = ("×".join(map(str, shape)) for shape in (self.block_shape, X.shape))
            pairs = ": the pairs (Re x, Im x)" if self.is_complex else ""
            raise DataError(f"The block x must have the shape {wanted} for this A{pairs}. Got {found} instead.")
        return np.ascontiguousarray(X).view(np.complex128)[:, 0] if self.is_complex else X

    def block(self, x: Numbers) -> Array:
        """The block that holds x."""
        if not self.is_complex:
            return np.asarray(x.real, dtype=np.float64)
        return np.ascontiguousarray(x, dtype=np.complex128).view(np.float64).reshape(-1, 2)

    def times(self, X: Array) -> Numbers:
        """Ax."""
        return np.asarray(self.A @ self.vector(X))

    def adjoint_times(self, z: Numbers) -> Array:
        """The block that holds A*z."""
        if hasattr(self.A, "rmatvec"):
            return self.block(self.A.rmatvec(z))
        return self.block((z.conj() @ self.A).conj() if self.is_complex else z @ self.A)  # no copy of A

    @cached_property
    def norm(self) -> float:
        """An upper bound of ‖A‖₂."""
        return math.sqrt(self.largest_eigenvalue(np.ones(self.shape[0])))

    def matrix(self) -> Any:
        """A as an array or a CSR array; ``None`` for an operator of which that would be large."""
        m, d = self.shape
        if not hasattr(self.A, "rmatvec"):
            return self.A
        return np.asarray(self.A @ np.eye(d)) if m * d <= SMALL or d <= STEPS else None

    def gram(self, weights: Array, columns: Any = slice(None)) -> Numbers | None:
        """``Σ w_i a_i a_i*`` on these columns as an array, where it is small; a_i* is row i of A."""
        A = self.matrix() if self.shape[1] <= EXACT or not isinstance(columns, slice) else None
        if A is None:
            return None
        A = A[:, columns]
        return _dense(A.conj().T @ _scaled_rows(A, weights))

    def gram_times(self, weights: Array, X: Array) -> Array:
        """``Σ w_i a_i a_i* x``, as a block."""
        return self.adjoint_times(weights * self.times(X))

    def largest_eigenvalue(self, weights: Array) -> float:
        """An upper bound of that of ``Σ w_i a_i a_i*``, for w ≥ 0."""
        if self.shape[0] < self.shape[1] and self.shape[0] <= EXACT and (A := self.matrix()) is not None:
            R = _scaled_rows(A, np.sqrt(weights))
            return largest_eigenvalue(_dense(R @ R.conj().T))  # the same but for zeros, and smaller
        G = self.gram(weights)
        if G is not None:
            return largest_eigenvalue(G)
        shape = self.block_shape
        return lanczos_bound(lambda v: self.gram_times(weights, v.reshape(shape)).ravel(), math.prod(shape))

    def squared_rows(self) -> Array | None:
        """``|a_i|²``; ``None`` for a large operator."""
        A = self.matrix()
        return None if A is None else np.asarray(_squares(A).sum(axis=1))

    def largest_columns(self, weights: Array, count: int) -> NDArray[np.intp]:
        """Those with the largest ``Σ_i w_i |a_ij|²``."""
        A = self.matrix()
        if A is None:
            raise DataError(
                "leading-eigenvector(support=…) needs the entries of A, and A is a large operator: leave it out."
            )
        return np.sort(np.argsort(-(weights @ _squares(A)), kind="stable")[:count])


def largest_eigenvalue(G: Numbers) -> float:
    """An upper bound of the largest eigenvalue of a positive semidefinite matrix."""
    if not np.isfinite(G).all():
        return math.inf
    if len(G) > EXACT:
        return lanczos_bound(lambda v: G @ v, len(G))
    return SAFETY * max(float(np.linalg.eigvalsh(G)[-1]), 0.0)


def lanczos_bound(times: Callable[[Array], Array], n: int) -> float:
    """An upper bound of the largest eigenvalue of a positive semidefinite n×n matrix, n > 64, by 64 products.

    Kuczyński and Woźniakowski (1992): from a random start, the largest Ritz value θ of k steps has θ < (1 − ε)λ with a
    probability of at most 1.648 √n exp(−√ε(2k − 1)), whatever the matrix is. Here ε is such that this is 1e-12,
    and the bound is about 7 % above λ.
    """
    rng = np.random.default_rng(0)
    before, v = np.zeros(n), rng.standard_normal(n)
    v /= np.linalg.norm(v)
    diagonal, beside = np.zeros(STEPS), np.zeros(STEPS)
    for k in range(STEPS):
        w = times(v) - (beside[k - 1] * before if k else 0.0)
        diagonal[k] = v @ w
        w -= diagonal[k] * v
        beside[k] = np.linalg.norm(w)
        if not math.isfinite(beside[k]):
            return math.inf
        if not beside[k] > 1e-14 * np.abs(diagonal).max():  # the start lies in an invariant subspace
            diagonal, beside = diagonal[: k + 1], beside[: k + 1]
            break
        before, v = v, w / beside[k]
    tridiagonal = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    theta = max(float(np.linalg.eigvalsh(tridiagonal)[-1]), 0.0)
    epsilon = (math.log(1.648 * math.sqrt(n) / FAILURE) / (2 * STEPS - 1)) ** 2
    return SAFETY * theta / (1.0 - epsilon)


def _squares(A: Any) -> Any:
    """``|a_ij|²``."""
    return abs(A).power(2) if hasattr(A, "tocsr") else np.square(np.abs(A))


def _scaled_rows(A: Any, weights: Array) -> Any:
    if hasattr(A, "tocsr"):
        from scipy.sparse import diags_array

        return diags_array(weights) @ A
    return weights[:, None] * A


def _dense(A: Any) -> Numbers:
    return np.asarray(A.toarray() if hasattr(A, "toarray") else A)


def read_measurements(A: Any, owner: str, *, complex_too: bool) -> Measurements:
    """A, once it is seen that it can be used."""
    if hasattr(A, "matvec"):
        return _operator(A, owner, complex_too)
    if hasattr(A, "tocsr"):
        from scipy.sparse import csr_array

        A = csr_array(A)
        entries = A.data
    else:
        try:
            A = entries = np.asarray(A)
        except ValueError:
            raise DataError("A must be a matrix. Got rows of different lengths instead.") from None
    _check_kind(entries.dtype, owner, complex_too)
    _check_shape(A.shape)
    if not np.isfinite(entries).all():
        raise DataError("Every entry of A must be finite. Got nan or inf in it.")
    if not entries.any():
        raise DataError("A is zero: its measurements say nothing about x.")
    A = A.astype(np.complex128 if entries.dtype.kind == "c" else np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore"):
        return Measurements(A, A.shape, A.dtype.kind == "c", float(np.linalg.norm(entries)))


def _operator(A: Any, owner: str, complex_too: bool) -> Measurements:
    from scipy.sparse.linalg import aslinearoperator

    A = aslinearoperator(A)
    dtype = np.dtype(A.dtype)
    _check_kind(dtype, owner, complex_too)
    _check_shape(A.shape)
    found, rng = Measurements(A, tuple(A.shape), dtype.kind == "c", 0.0), np.random.default_rng(0)
    x, z = rng.standard_normal(found.block_shape), rng.standard_normal(A.shape[0])
    try:
        Ax, Az = found.times(x), found.adjoint_times(z)
    except (NotImplementedError, AttributeError, TypeError):
        raise DataError("An operator A must have its adjoint: give it the method rmatvec.") from None
    one, other = float(np.vdot(z, Ax).real), float(np.vdot(Az, x))
    size = float(np.linalg.norm(Ax) * np.linalg.norm(z) + np.linalg.norm(Az) * np.linalg.norm(x))
    if not math.isfinite(size):
        raise DataError("Every entry of A must be finite. Got nan or inf in a product with it.")
    if size == 0:
        raise DataError("A is zero: its measurements say nothing about x.")
    if not abs(one - other) <= 1e-5 * size:
        raise DataError(
            f"The rmatvec of A is not the adjoint of its matvec: ⟨z, Ax⟩ is {one:g} and ⟨A*z, x⟩ {other:g}."
        )
    return evolve(found, size=float(max(np.linalg.norm(Ax), np.linalg.norm(Az))))  # E|Ax|² = ‖A‖_F² for a Gaussian x


def _check_kind(dtype: "np.dtype[Any]", owner: str, complex_too: bool) -> None:
    if dtype.kind == "c" and not complex_too:
        raise DataError(f"A must be real for {owner}. Got {dtype} instead: phase-retrieval takes a complex A.")
    if dtype.kind not in "fiubc":
        raise DataError(f"A must hold numbers. Got {dtype} instead.")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise DataError(f"A must be a matrix with a measurement in each row. Got the shape {tuple(shape)} instead.")


def read_data(b: Any, A: Measurements) -> Array:
    """b, once it is seen that it holds a real number for each row of A."""
    b, m = np.asarray(b), A.shape[0]
    if b.dtype.kind not in "fiub":
        raise DataError(f"b must hold real numbers. Got {b.dtype} instead.")
    if b.shape != (m,):
        raise DataError(f"b must be a vector of {m} numbers, one for each row of A. Got the shape {b.shape} instead.")
    if not np.isfinite(b).all():
        raise DataError("Every entry of b must be finite. Got nan or inf in it.")
    return np.array(b, dtype=np.float64)
