"""Non-negative factorisation with the Kullback-Leibler divergence."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import (
    Array,
    Blocks,
    ClosedFormBlock,
    DataModel,
    Kernel,
    Problem,
    ProblemParts,
    Regularizer,
    Separable,
    SmoothPart,
    Start,
    make,
)
from bregopt.errors import DataError, parameter

ENTRIES = 2**20
"""Stored entries of a sparse M, times the rank, that are worked on at a time."""
TINY = 1e-290
"""The least weight of an entry, so that it stays within the domain."""


def kl_nmf(M: Any, rank: int | None = None, U: Regularizer | str = "none", V: Regularizer | str = "none") -> Problem:
    """``min Σ x − m log x + (m log m − m) + H₁(U) + H₂(V)`` for X = UV with U, V > 0: NMF for counts.

    The sum is the Kullback-Leibler divergence of UV from M: 0 where they agree, and the likelihood of Poisson data. It
    has no kernel for both blocks at once. In each block it has one: Burg's, with a weight for each entry, which makes
    ``bpalm`` the multiplicative update. Other methods test their steps with Burg's kernel on both blocks.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, not negative, in memory. A row or column of zeros is refused: nothing keeps its factor from zero.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer or str
        H₁ and H₂, convex and separable, such as ``l1(0.1)``.

    References
    ----------
    D. D. Lee and H. S. Seung, Algorithms for non-negative matrix factorization, 2000. L. T. K. Hien and N. Gillis,
    Algorithms for nonnegative matrix factorization with the Kullback-Leibler divergence, 2021.
    """
    data = _read(M)
    m, n = data.shape
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 1 <= rank <= min(m, n):
        raise parameter("rank", "kl-nmf", f"a whole number from 1 to {min(m, n)}, as M is {m}×{n}", rank)
    size = float(data.values.sum())
    return Problem(
        smooth=Divergence(data),
        block=Approximation(data),
        regularizer=Separable(U=make("regularizer", U), V=make("regularizer", V)),
        kernel=size * make("kernel", "burg"),
        start=PositiveRandom(),
        shapes={"U": (m, int(rank)), "V": (int(rank), n)},
        metrics={"relative_error": data.relative_error},
        name="KL-NMF problem",
    )


@final
@frozen(eq=False)
class Counts:
    """M, by its stored entries where it is sparse."""

    M: Any = field(repr=False)
    rows: Array | None = field(default=None, repr=False)
    """of the stored entries of a sparse M; its columns are M.indices"""

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.M.shape[0]), int(self.M.shape[1])

    @property
    def values(self) -> Array:
        """The entries of M that are stored."""
        return np.asarray(self.M if self.rows is None else self.M.data)

    def at(self, Y: Blocks) -> Array:
        """UV, where M is stored."""
        U, V = Y["U"], Y["V"]
        if self.rows is None:
            return np.asarray(U @ V)
        X, VT = np.empty(len(self.rows)), np.ascontiguousarray(V.T)
        piece = max(1, ENTRIES // U.shape[1])
        for start in range(0, len(X), piece):
            part = slice(start, start + piece)
            X[part] = np.einsum("ep,ep->e", U[self.rows[part]], VT[self.M.indices[part]])
        return X

    def quotient(self, X: Array) -> Any:
        """M/X, sparse where M is."""
        if self.rows is None:
            return self.M / X
        return type(self.M)((self.M.data / X, self.M.indices, self.M.indptr), shape=self.M.shape)

    def relative_error(self, Y: Blocks, W: Any) -> float:
        """``‖M − UV‖/‖M‖``."""
        M, X, total = self.values, self.at(Y), 0.0
        if self.rows is not None:  # ‖UV‖² − Σ x² where nothing is stored
            total = float(np.vdot(Y["U"].T @ Y["U"], Y["V"] @ Y["V"].T)) - float(X @ X)
        return math.sqrt(max(total, 0.0) + float(np.square(M - X).sum())) / float(np.linalg.norm(M))


def _read(M: Any) -> Counts:
    if hasattr(M, "tocsr"):
        from scipy.sparse import csr_array

        S = csr_array(M, dtype=float)
        S.sum_duplicates()
        S.eliminate_zeros()
        data = Counts(S, np.repeat(np.arange(S.shape[0]), np.diff(S.indptr)))
    else:
        A = np.asarray(M)
        if A.dtype.kind not in "fiub":
            raise DataError(f"M must hold real numbers. Got dtype {A.dtype} instead.")
        data = Counts(np.ascontiguousarray(A, dtype=float))
    if len(data.M.shape) != 2 or min(data.M.shape) < 1:
        raise DataError(f"M must be a matrix. Got shape {data.M.shape} instead.")
    values = data.values
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataError("M must be finite and not negative for kl-nmf: it holds counts, or intensities.")
    for axis, lines in ((1, "row"), (0, "column")):
        empty = np.flatnonzero(np.asarray(data.M.sum(axis=axis)).ravel() == 0)
        if len(empty):
            raise DataError(f"M has {lines}s without a positive entry, such as {lines} {empty[0]}: leave them out.")
    return data


@final
@frozen(eq=False)
class Seen:
    """X = UV at Y: what stands for W, as the gradients at Y need it too."""

    Y: Blocks
    X: Array


@final
@frozen(eq=False)
class Approximation(ClosedFormBlock):
    """There is no W to minimise over."""

    data: Counts

    def check(self, Y: Blocks) -> None:
        m, n = self.data.shape
        U, V = (Y[name].shape if name in Y.names else () for name in ("U", "V"))
        if len(Y) != 2 or len(U) != 2 or len(V) != 2 or U[0] != m or V[1] != n or U[1] != V[0]:
            raise DataError(f"The factors must be U: {m}×r and V: r×{n}. Got {Y!r} instead.")

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> Seen:
        return Seen(Y, self.data.at(Y))

    def value(self, W: Seen) -> float:
        return 0.0


@final
@frozen(eq=False)
class Divergence(SmoothPart):
    """``F(U, V) = Σ x − m log x + m log m − m``."""

    data: Counts

    def data_model(self, block: Any) -> "ProductOfCounts":
        return ProductOfCounts(self.data.shape)

    def _X(self, Y: Blocks, W: Seen) -> Array:
        return W.X if W.Y is Y else self.data.at(Y)

    def value(self, Y: Blocks, W: Seen) -> float:
        return self._value(Y, self._X(Y, W))

    def _value(self, Y: Blocks, X: Array) -> float:
        """With z = x − m the terms are z − m log(1 + z/m), which cancel less."""
        M = self.data.values
        known = M > 0
        z = np.divide(X - M, M, out=np.zeros_like(X), where=known)
        with np.errstate(divide="ignore"):
            total = float((M * (z - np.log1p(z))).sum())
        if self.data.rows is None:
            return total + float(X[~known].sum())
        return total + float(Y["U"].sum(axis=0) @ Y["V"].sum(axis=1)) - float(X.sum())

    def value_and_gradient(self, Y: Blocks, W: Seen) -> tuple[float, Blocks]:
        X = self._X(Y, W)
        Q = self.data.quotient(X)
        return self._value(Y, X), Blocks(U=self._for_U(Y, Q), V=self._for_V(Y, Q))

    def block_gradient(self, Y: Blocks, W: Seen, name: str) -> Array:
        Q = self.data.quotient(self._X(Y, W))
        return self._for_U(Y, Q) if name == "U" else self._for_V(Y, Q)

    def _for_U(self, Y: Blocks, Q: Any) -> Array:
        return np.asarray(Y["V"].sum(axis=1)[None, :] - Q @ Y["V"].T)

    def _for_V(self, Y: Blocks, Q: Any) -> Array:
        return np.asarray(Y["U"].sum(axis=0)[:, None] - (Q.T @ Y["U"]).T)

    def block_kernel(self, Y: Blocks, name: str, gradient: Array) -> Kernel:
        """``−Σ c log u`` with c = u·b, b = (M/X)Vᵀ: by Jensen's inequality −m log x lies below its model with it.

        ``−m log Σ_p u_p v_p ≤ −m Σ_p s_p log(u_p v_p/s_p)`` for the shares s_p = ū_p v_p/x̄, with equality at ū.
        """
        total = Y["V"].sum(axis=1)[None, :] if name == "U" else Y["U"].sum(axis=0)[:, None]
        return burg()({name: np.maximum(Y[name] * (total - gradient), TINY)})


@final
@frozen
class ProductOfCounts(DataModel):
    """M as UV has it."""

    shape: tuple[int, int]
    formula = "UV"

    def rows(self, Y: Blocks, rows: slice) -> Array:
        return np.asarray(Y["U"][rows] @ Y["V"])


@cache
def burg() -> Callable[[Mapping[str, Array]], Kernel]:
    """Burg's kernel by the weights of its entries; one is made in every step."""
    return type(make("kernel", "burg"))


@final
@frozen
class PositiveRandom(Start):
    """Uniform entries, of the size at which UV has the sum of M."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        shapes = problem.shapes or {}
        (m, r), (_, n) = shapes["U"], shapes["V"]
        mean = float(problem.block.data.values.sum()) / (m * n * r) if isinstance(problem.block, Approximation) else 1.0
        return Blocks(**{name: math.sqrt(mean) * rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()})
