"""M held by this process: dense, CSR, or read by rows from where it is stored."""

import math
import sys
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from bregopt import Array
from bregopt.errors import DataError, parameter
from bregopt_lowrank.matrices import spectrum
from bregopt_lowrank.matrices.matrix import Matrix, PassRequest, PassResult
from bregopt_lowrank.matrices.size import check_matrix, has_norm
from bregopt_lowrank.passes.run import run
from bregopt_lowrank.passes.threads import split, thread_count

READ_ENTRIES = 2**21
"""Entries of the rows that are read at a time."""


@final
@frozen(eq=False, slots=False)
class LocalMatrix(Matrix):
    """M, m×n: a dense ``source`` that can be sliced by rows, or CSR as (values, columns, starts) without zeros."""

    source: Any = field(default=None, repr=False)
    values: Array = field(factory=lambda: np.empty(0), repr=False)
    columns: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    starts: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    threads: int = field(factory=thread_count, metadata={"unsaved": True})

    @property
    def resident(self) -> bool:
        """Whether a tile of the source is there without being read."""
        return type(self.source) is np.ndarray

    @cached_property
    def spectral(self) -> float:
        return spectrum.norm(self)

    @cached_property
    def transposed(self) -> "LocalMatrix":
        """Mᵀ: CSR anew, or a view of which a tile at a time is copied."""
        shape = self.shape[::-1]
        if self.source is not None:
            return evolve(self, shape=shape, source=self.source.T)
        csr = self.matrix().T.tocsr()
        return evolve(self, shape=shape, values=csr.data, columns=csr.indices, starts=csr.indptr)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        return spectrum.leading(self, rank)

    def matrix(self) -> Any:
        """M as it is held: a dense array, a scipy CSR array, or the source that is read by rows."""
        if self.source is not None:
            return self.source
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.starts), shape=self.shape)

    def array(self) -> Array:
        """M as a dense array."""
        return np.asarray(self.matrix()[:] if self.source is not None else self.matrix().toarray())

    def read(self, rows: slice) -> Array:
        """Some rows as a dense array."""
        if self.source is None:
            starts = self.starts[rows.start : rows.stop + 1]
            inside = slice(int(starts[0]), int(starts[-1]))
            tile = np.zeros((rows.stop - rows.start, self.shape[1]), self.dtype)
            lines = np.repeat(np.arange(len(tile)), np.diff(starts))
            tile[lines, self.columns[inside]] = self.values[inside]
            return tile
        return _read(self.source, rows, self.dtype)

    def tiles(self) -> list[slice]:
        return self.parts(slice(0, self.shape[0]))

    def parts(self, rows: slice) -> list[slice]:
        """Some rows by parts to be read at a time."""
        return split(rows, -(-(rows.stop - rows.start) * self.shape[1] // READ_ENTRIES))

    def run_pass(self, request: PassRequest) -> PassResult:
        return run(self, request)


def as_local_matrix(
    M: Any, dtype: str = "auto", threads: int | None = None, *, owner: str = "the matrix", part: bool = False
) -> LocalMatrix:
    """M from a dense array, any scipy.sparse format, a pydata ``sparse`` array, or what can be sliced by rows.

    With ``part`` M is some rows of a larger matrix: it may be zero everywhere, and its size is not judged. Errors name
    the ``owner`` of a parameter that is wrong.
    """
    if isinstance(M, LocalMatrix):
        return M
    if dtype not in ("auto", "float32", "float64"):
        raise parameter("dtype", owner, "'auto', 'float32' or 'float64'", dtype)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise parameter("threads", owner, "a whole number >= 1", threads)
    workers = threads or thread_count()
    csr = _as_csr(M)
    if csr is not None:
        kind = _precision(csr.dtype, dtype)
        facts = _survey([csr.data], kind, part)
        csr = csr.astype(kind, copy=False)
        csr.eliminate_zeros()  # what is too small for the precision is zero, and no part of the support
        held = (csr.data, csr.indices, csr.indptr)
        return LocalMatrix(csr.shape, kind, *facts, None, *held, threads=workers)
    stored = _is_stored(M)
    source = M if stored else _dense(M)
    _check_kind(source.dtype, source.shape)
    kind = _precision(source.dtype, dtype)
    unread = LocalMatrix(source.shape, kind, 0.0, 0, 0.0, source, threads=workers)
    facts = _survey((_read(source, rows, source.dtype) for rows in unread.tiles()), kind, part)
    if not stored:
        source = np.ascontiguousarray(source, dtype=kind)
    return LocalMatrix(source.shape, kind, *facts, source, threads=workers)


def _is_stored(M: Any) -> bool:
    """Whether M is an array that lies elsewhere: a memory map, or a zarr, h5py or other array sliced by rows."""
    if isinstance(M, np.ndarray):
        return isinstance(M, np.memmap)
    described = isinstance(getattr(M, "dtype", None), np.dtype) and isinstance(getattr(M, "shape", None), tuple)
    return described and hasattr(M, "__getitem__") and not isinstance(M, np.generic)


def _dense(M: Any) -> Array:
    if isinstance(M, np.ma.MaskedArray) and np.ma.is_masked(M):
        raise DataError(
            f"M is a masked array with {int(np.count_nonzero(M.mask))} masked entries, and the mask would be ignored. "
            "Fill them first, as in M.filled(0)."
        )
    try:
        return np.asarray(M)
    except ValueError as error:
        raise DataError(f"M cannot be read as a matrix: {error}") from None


def _read(source: Any, rows: slice, dtype: np.dtype[Any]) -> Array:
    try:
        tile = source[rows.start : rows.stop]
        if type(source) is np.ndarray:
            return np.ascontiguousarray(tile, dtype=dtype)
        return np.array(tile, dtype=dtype, order="C", subok=False)  # a copy: the pages of a memory map are read here
    except (OSError, RuntimeError) as error:
        raise DataError(f"Rows {rows.start} to {rows.stop - 1} of M could not be read: {error}") from error


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
    _check_places(M)
    csr = scipy_sparse.csr_array(M, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr


def _check_places(M: Any) -> None:
    """Refuse a sparse M whose index arrays point outside of it: compiled code would follow them."""
    try:
        if hasattr(M, "check_format"):
            M.check_format(full_check=True)
            if np.any(M.indptr[1:] < M.indptr[:-1]):  # which a difference of 64 bits may hide
                raise ValueError("the index pointer falls")
        elif M.format == "coo" and M.nnz:
            for axis, places in enumerate(M.coords):
                if places.min() < 0 or places.max() >= M.shape[axis]:
                    raise ValueError(f"an index along axis {axis} is outside of 0 to {M.shape[axis] - 1}")
    except (ValueError, IndexError, TypeError) as error:
        raise DataError(f"The index arrays of the sparse M are damaged: {error}. Build the matrix again.") from None


def _precision(given: np.dtype[Any], wanted: str) -> np.dtype[Any]:
    if wanted == "auto":
        wanted = "float32" if given.kind == "f" and given.itemsize <= 4 else "float64"
    return np.dtype(wanted)


def _check_kind(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    if dtype.kind not in "fiub":
        hint = " Convert Python's own numbers first, as in M.astype(float)." if dtype.kind == "O" else ""
        raise DataError(f"M must hold real numbers. Got dtype {dtype} instead.{hint}")
    if len(shape) != 2:
        raise DataError(f"M must be a matrix with two dimensions. Got shape {shape} instead.")
    if 0 in shape:
        raise DataError(f"M is empty. Got shape {shape} instead of at least one row and one column.")


def _survey(parts: Any, kind: np.dtype[Any], part: bool) -> tuple[float, int, float]:
    """‖M‖_F, the number of non-zeros and the smallest entry, or 0, after reading every value as it is given.

    Only an M whose size suits the precision ``kind`` passes, or a ``part`` of one.
    """
    norm, nonzeros, bad, lowest = 0.0, 0, 0, 0.0
    for given in parts:
        line = given.reshape(-1)
        if not line.size:
            continue
        if line.dtype.itemsize > 8:  # longdouble, as float64 has it
            with np.errstate(over="ignore"):
                line = line.astype(np.float64)
        least, most = float(line.min()), float(line.max())
        lowest = min(lowest, least)
        if not (math.isfinite(least) and math.isfinite(most)):
            bad += int(line.size - np.isfinite(line).sum())
            continue
        if has_norm(max(-least, most), kind):
            line = line.astype(kind, copy=False)
            norm = math.hypot(norm, _norm(line))
        else:  # by a power of two in between
            power = math.frexp(max(-least, most))[1]
            with np.errstate(over="ignore"):
                norm = math.hypot(norm, np.ldexp(_norm(np.ldexp(line.astype(np.float64), -power)), power))
        nonzeros += int(np.count_nonzero(line))
    if bad:
        raise DataError(f"M must be finite. Got {bad} entries that are nan or inf instead.")
    if not (nonzeros or part):
        raise DataError("M is zero everywhere: there is nothing to decompose.")
    if not part:
        check_matrix(norm, kind)
    return norm, nonzeros, lowest


def _norm(line: Array) -> float:
    return math.sqrt(line @ line if line.dtype == np.float64 else np.square(line, dtype=np.float64).sum())
