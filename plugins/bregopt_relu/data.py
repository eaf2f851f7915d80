"""The data matrix M: checked once, dense or CSR, read in row tiles."""

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array
from bregopt.errors import DataError

TILE_ENTRIES = 2**17
"""Entries of a row tile: 1 MiB of float64, so that a tile and its residual stay in cache."""
TILE_ROWS = 64
"""A tile has at least that many rows, for the products to run at full speed."""
SAFETY = 1.0001
"""A computed spectral norm is a lower bound; this factor makes it an upper one."""


@final
@frozen(eq=False, slots=False)
class Data:
    """M ≥ 0, m×n: either ``dense``, or CSR as (values, columns, starts) with positive values only."""

    shape: tuple[int, int]
    dense: Array | None = field(default=None, repr=False)
    values: Array = field(factory=lambda: np.empty(0), repr=False)
    columns: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    starts: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    @cached_property
    def frobenius(self) -> float:
        return float(np.linalg.norm(self.values if self.dense is None else self.dense))

    @cached_property
    def nonzeros(self) -> int:
        return self.values.size if self.dense is None else int(np.count_nonzero(self.dense))

    @cached_property
    def spectral(self) -> float:
        """An upper bound of ‖M‖₂ that exceeds it by at most one part in 10⁴."""
        if min(self.shape) <= 2:
            top = float(np.linalg.norm(self.array(), 2))
        else:
            _, s, _ = self.leading(1)
            top = float(s[0])
        return min(SAFETY * top, self.frobenius)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        """The ``rank`` leading singular triplets (U, s, Vᵀ), largest first; small matrices by a full factorisation."""
        if rank > min(self.shape) // 3 or min(self.shape) <= 64:
            return self._factorised(rank)
        from scipy.sparse.linalg import ArpackError, svds

        v0 = np.random.default_rng(0).standard_normal(min(self.shape))
        try:
            U, s, Vt = svds(self.matrix(), k=rank, v0=v0, tol=1e-9)
        except ArpackError:  # singular values too close to each other for Lanczos
            return self._factorised(rank)
        order = np.argsort(-s)
        return U[:, order], s[order], Vt[order]

    def _factorised(self, rank: int) -> tuple[Array, Array, Array]:
        U, s, Vt = np.linalg.svd(self.array(), full_matrices=False)
        return U[:, :rank], s[:rank], Vt[:rank]

    def matrix(self) -> Any:
        """M as a dense array or a scipy CSR array, without a copy."""
        if self.dense is not None:
            return self.dense
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.starts), shape=self.shape)

    def array(self) -> Array:
        """M as a dense array."""
        return self.dense if self.dense is not None else np.asarray(self.matrix().toarray())

    @property
    def tile_rows(self) -> int:
        m, n = self.shape
        return min(m, max(TILE_ROWS, TILE_ENTRIES // n))

    def tiles(self) -> Iterator[slice]:
        """Row ranges that cover M."""
        m, size = self.shape[0], self.tile_rows
        for start in range(0, m, size):
            yield slice(start, min(start + size, m))

    def support(self, rows: slice) -> tuple[NDArray[np.int64], Array]:
        """CSR only: the positions of the non-zeros in the flattened tile, and their values."""
        starts = self.starts[rows.start : rows.stop + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        lines = np.repeat(np.arange(rows.stop - rows.start, dtype=np.int64), np.diff(starts))
        return lines * self.shape[1] + self.columns[inside], self.values[inside]


def as_data(M: Any) -> Data:
    """M from a dense array, any scipy.sparse format, or a pydata ``sparse`` array."""
    if isinstance(M, Data):
        return M
    sparse = _as_csr(M)
    if sparse is None:
        try:
            dense = np.asarray(M)
        except ValueError as error:
            raise DataError(f"M cannot be read as a matrix: {error}") from None
        _check_kind(dense.dtype, dense.shape)
        dense = np.ascontiguousarray(dense, dtype=np.float64)
        _check_values(dense)
        return Data(dense.shape, dense)
    values = np.ascontiguousarray(sparse.data, dtype=np.float64)
    _check_values(values)
    return Data(sparse.shape, None, values, sparse.indices, sparse.indptr)


def _as_csr(M: Any) -> Any:
    """M as canonical CSR without stored zeros, or ``None`` if it is not sparse."""
    pydata = sys.modules.get("sparse")
    if pydata is not None and isinstance(M, pydata.SparseArray):
        _check_kind(M.dtype, M.shape)
        if M.fill_value != 0:
            raise DataError(f"A sparse M must have the fill value 0. Got {M.fill_value!r} instead.")
        M = pydata.as_coo(M).to_scipy_sparse()
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is None or not scipy_sparse.issparse(M):
        return None
    _check_kind(M.dtype, M.shape)
    csr = scipy_sparse.csr_array(M, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr


def _check_kind(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    if dtype.kind not in "fiub":
        raise DataError(f"M must hold real numbers. Got dtype {dtype} instead.")
    if len(shape) != 2:
        raise DataError(f"M must be a matrix with two dimensions. Got shape {shape} instead.")
    if 0 in shape:
        raise DataError(f"M is empty. Got shape {shape} instead of at least one row and one column.")


def _check_values(values: Array) -> None:
    if values.size == 0 or not values.any():
        raise DataError("M is zero everywhere: there is nothing to decompose.")
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = int(values.size - np.isfinite(values).sum())
        raise DataError(f"M must be finite. Got {bad} entries that are nan or inf instead.")
    if low < 0:
        raise DataError(f"M must be non-negative. Got a smallest entry of {low:g} instead.")
