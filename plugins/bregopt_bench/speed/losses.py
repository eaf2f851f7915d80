"""A registered loss to be timed: data drawn for it, its problem, which pass that takes, and obvious NumPy code."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

import bregopt
from bregopt import ResolvedProblem
from bregopt_bench.speed.matrices import PARTS, SEED, Size, TimedMatrix, drawn, random_places

HALF = 0.5
"""The share of a dense M that is made zero where zeros are missing."""


@final
@frozen(eq=False)
class TimedLoss:
    """A loss, and a matrix to time its pass on."""

    spec: str
    matrix: TimedMatrix
    missing: str | None = None
    weights: Any = field(default=None, repr=False)
    """held as M is, where there are any"""
    upper: Any = field(default=None, repr=False)
    """the second number of each entry, for a loss that takes two"""

    @property
    def loss(self) -> Any:
        return bregopt.make("loss", self.spec)

    def problem(self) -> ResolvedProblem:
        """The loss in place of that of the paper's model."""
        M, rank, dtype = self.matrix.M, self.matrix.rank, self.matrix.dtype
        rest = {"weights": self.weights, "upper": self.upper, "missing": self.missing, "dtype": dtype}
        return bregopt.compose("low-rank", M, rank=rank, loss=self.spec, **PARTS, **rest)

    def on(self, device: str) -> "TimedLoss":
        """With the matrix on a device."""
        return evolve(self, matrix=self.matrix.on(device))

    def facts(self, problem: ResolvedProblem) -> Mapping[str, Any]:
        """Of the matrix and of the loss, and which pass the problem takes."""
        told = {"loss": self.spec, "missing": self.missing, "weights": self.weights is not None}
        return {**self.matrix.facts, **told, "pass": pass_kind(problem, self.loss)}


def pass_kind(problem: ResolvedProblem, loss: Any) -> str:
    """``dense``, ``sparse`` over all entries, ``sampled`` over the known ones, or ``Gram``, where zeros cost ½x²."""
    M: Any = problem.block.M  # type: ignore[attr-defined]  # of every low-rank problem
    if M.source is not None:
        return "dense"
    return "sampled" if M.sampled else "Gram" if loss.zero == "square" else "sparse"


def random_weights(matrix: TimedMatrix, wanted: bool) -> Any:
    """A weight from 0 to 1 for every entry of M, or for every stored one."""
    if not wanted:
        return None
    rng, kind = np.random.default_rng(SEED + 1), np.dtype(matrix.dtype).type
    if not hasattr(matrix.M, "nnz"):
        return 1 - rng.random(matrix.M.shape, dtype=kind)
    weights = matrix.M.copy()
    weights.data = 1 - rng.random(weights.data.size, dtype=kind)
    return weights


def drawn_for(spec: str, size: Size, dtype: str, missing: str | None, weighted: bool) -> TimedLoss:
    """Random data that the loss has a use for, at random places where the size has a density."""
    from scipy.sparse import csr_array

    loss: Any = bregopt.make("loss", spec)
    rng = np.random.default_rng(SEED)
    shape, sparse = (size.m, size.n), size.density is not None
    places = random_places(size, rng) if sparse else np.empty(size.m * size.n, np.int8)
    values = loss.sample_data(rng, places.size).astype(dtype)
    if sparse:
        zero = values == 0
        values[zero] = rng.choice(values[~zero], int(zero.sum()))  # a stored zero would be none
    elif missing == "zeros":
        values[rng.random(values.size) < HALF] = 0

    def held(numbers: Any) -> Any:
        if not sparse:
            return numbers.reshape(shape)
        M = csr_array((numbers, np.divmod(places, size.n)), shape=shape)
        M.sum_duplicates()
        return M

    upper = held(_above(values, rng)) if loss.bounds else None
    matrix = TimedMatrix(str(size), held(values), size.rank, dtype)
    return TimedLoss(spec, matrix, missing, random_weights(matrix, weighted), upper)


def _above(values: Any, rng: np.random.Generator) -> Any:
    """Upper ends of intervals with these lower ones."""
    return np.where(np.isfinite(values), values, 0) + rng.random(values.size, dtype=values.dtype)


def relu_problem(matrix: TimedMatrix, kind: str) -> ResolvedProblem:
    """What a pass is held against: ReLU on the support of M, or on a dense matrix of its shape."""
    if kind in ("dense", "sampled"):
        m, n = matrix.M.shape
        return drawn(Size(m, n, matrix.rank), matrix.dtype).problem()
    M = abs(matrix.M)
    M.data[~np.isfinite(M.data)] = 1
    return TimedMatrix(matrix.name, M, matrix.rank, matrix.dtype).problem()


def obvious_loss(timed: TimedLoss, U: Any, V: Any) -> Callable[[], Any]:
    """Value, both gradients and summed error, as one would write them down for a dense M."""
    loss, M, upper = timed.loss, _dense(timed.matrix.M, U.dtype), _dense(timed.upper, U.dtype)
    weights, known = _dense(timed.weights, U.dtype, off=1.0), None
    if np.isnan(M).any() or timed.missing == "zeros":
        known = ~np.isnan(M) & (M != 0) if timed.missing == "zeros" else ~np.isnan(M)
        M = np.where(known, M, loss.sample_data(np.random.default_rng(SEED), 1)[0])

    def code() -> Any:
        X = U @ V
        value, S, _, error = loss.arrays(X, M) if upper is None else loss.arrays(X, M, upper)
        if weights is not None:
            value, S = value * weights, S * weights
        if known is not None:
            value, S, error = (np.where(known, it, 0) for it in (value, S, error))
        return value.sum(), S @ V.T, U.T @ S, error.sum()

    return code


def _dense(M: Any, dtype: Any, off: float = 0.0) -> Any:
    """A matrix as a dense array, with ``off`` where a sparse one stores nothing."""
    if M is None or isinstance(M, np.ndarray):
        return None if M is None else np.asarray(M, dtype)
    dense, coo = np.full(M.shape, off, dtype), M.tocoo()
    dense[coo.row, coo.col] = coo.data
    return dense


def obvious_sampled(timed: TimedLoss, U: Any, V: Any) -> Callable[[], Any]:
    """The same over the stored entries of a CSR M."""
    from scipy.sparse import csr_array

    loss, M, VT = timed.loss, timed.matrix.M.tocsr(), np.ascontiguousarray(V.T)
    values, upper, weights = (
        None if it is None else it.tocsr().data.astype(U.dtype) for it in (M, timed.upper, timed.weights)
    )
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))

    def code() -> Any:
        x = np.einsum("kr,kr->k", U[rows], VT[M.indices])
        value, s, _, error = loss.arrays(x, values) if upper is None else loss.arrays(x, values, upper)
        if weights is not None:
            value, s = value * weights, s * weights
        S = csr_array((s, M.indices, M.indptr), shape=M.shape)
        return value.sum(), S @ VT, (S.T @ U).T, error.sum()

    return code
