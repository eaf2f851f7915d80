"""M held by this process: dense, CSR, or read by rows from where it is stored."""

import math
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from bregopt import Array
from bregopt.errors import DataError, parameter
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss, Tile, spread
from bregopt_lowrank.matrices import spectrum
from bregopt_lowrank.matrices.matrix import Matrix, PassRequest, PassResult
from bregopt_lowrank.matrices.size import check_matrix, has_norm
from bregopt_lowrank.passes.run import ONE_TILE, run
from bregopt_lowrank.passes.threads import split, thread_count

READ_ENTRIES = 2**21
"""Entries of the rows that are read at a time."""


@final
@frozen(eq=False, slots=False)
class LocalMatrix(Matrix):
    """M, m×n: a dense ``source`` that can be sliced by rows, or CSR as (values, columns, starts).

    An entry that is nan is missing. A CSR M has no stored zeros, unless the entries that are not stored are missing.
    """

    source: Any = field(default=None, repr=False)
    values: Array = field(factory=lambda: np.empty(0), repr=False)
    columns: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    starts: NDArray[np.integer[Any]] = field(factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    upper: Any = field(default=None, repr=False)
    """the second number of each entry, held like M, or on the stored entries of a CSR M"""
    weights: Any = field(default=None, repr=False)
    """the weight of each entry, held likewise; entries of a CSR M that are not stored have the weight 1"""
    sampled: bool = False
    """whether the entries of a CSR M that are not stored are missing"""
    threads: int = field(factory=thread_count, metadata={"unsaved": True})

    @property
    def resident(self) -> bool:
        """Whether a tile of the source is there without being read."""
        return type(self.source) is np.ndarray

    @cached_property
    def in_double(self) -> bool:
        """Whether M is in memory, and in double precision throughout."""
        held = self.values if self.source is None else self.source
        return self.in_memory and self.dtype == np.float64 and held.dtype == np.float64

    @cached_property
    def whole(self) -> Tile:
        """All entries as one tile, where M is dense and in memory."""
        return Tile(self.source, self.upper, self.weights, not self.missing)

    @cached_property
    def small_tiles(self) -> list[tuple[slice, Tile]]:
        """Rows of a small M in memory as dense arrays, with what many passes compare them with."""
        m, height = self.shape[0], max(1, ONE_TILE // self.shape[1])
        places = [slice(top, min(top + height, m)) for top in range(0, m, height)]
        return [(rows, self.read(rows)._replace(kept={})) for rows in places]

    @property
    def in_memory(self) -> bool:
        return self.source is None or self.resident

    @property
    def plain(self) -> bool:
        return not (self.missing or self.sampled) and self.upper is None and self.weights is None

    def by_entries(self, loss: ColumnLosses) -> bool:
        """Whether a pass visits the stored entries alone: the others are missing, or cost ½x²."""
        return self.source is None and (self.sampled or loss.square)

    def share(self, loss: ColumnLosses, rank: int) -> float:
        if not self.by_entries(loss):
            return 1.0
        (m, n), grams = self.shape, 0.0 if self.sampled else float(rank)
        return (len(self.values) + (m + n) * grams) / (m * n)

    @cached_property
    def spectral(self) -> float:
        return spectrum.norm(self)

    @cached_property
    def transposed(self) -> "LocalMatrix":
        """Mᵀ: CSR anew, or a view of which a tile at a time is copied."""
        shape = self.shape[::-1]
        if self.source is not None:
            upper, weights = (None if it is None else it.T for it in (self.upper, self.weights))
            return evolve(self, shape=shape, source=self.source.T, upper=upper, weights=weights)
        from scipy.sparse import csr_array

        order = csr_array((np.arange(len(self.values)), self.columns, self.starts), shape=self.shape).T.tocsr()
        upper, weights = (None if it is None else it[order.data] for it in (self.upper, self.weights))
        values = self.values[order.data]
        return evolve(
            self, shape=shape, values=values, columns=order.indices, starts=order.indptr, upper=upper, weights=weights
        )

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        return spectrum.leading(self, rank)

    def matrix(self) -> Any:
        """M as it is held: a dense array, a scipy CSR array, or the source that is read by rows."""
        if self.source is not None:
            return self.source
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.starts), shape=self.shape)

    def filled(self) -> Any:
        """``matrix()`` with 0 for missing entries, of an M in memory."""
        if not self.missing or (self.sampled and not np.isnan(self.values).any()):
            return self.matrix()
        if self.source is not None:
            return np.nan_to_num(self.source, nan=0.0)
        return evolve(self, values=np.nan_to_num(self.values, nan=0.0)).matrix()

    def array(self) -> Array:
        """M as a dense array, 0 for missing entries."""
        found = self.filled()
        return np.asarray(found[:] if self.source is not None else found.toarray())

    def read(self, rows: slice) -> Tile:
        """Some rows as dense arrays."""
        if self.source is None:
            starts = self.starts[rows.start : rows.stop + 1]
            inside = slice(int(starts[0]), int(starts[-1]))
            lines = np.repeat(np.arange(rows.stop - rows.start), np.diff(starts))
            stored = Tile(self.values, self.upper, self.weights, not self.missing).part(inside)
            shape = (rows.stop - rows.start, self.shape[1])
            return spread(shape, (lines, self.columns[inside]), stored, math.nan if self.sampled else 0.0)
        M, upper, weights = (
            None if it is None else _read(it, rows, self.dtype) for it in (self.source, self.upper, self.weights)
        )
        return Tile(np.empty(0) if M is None else M, upper, weights, not self.missing)

    def tiles(self) -> list[slice]:
        return self.parts(slice(0, self.shape[0]))

    def parts(self, rows: slice) -> list[slice]:
        """Some rows by parts to be read at a time."""
        return split(rows, -(-(rows.stop - rows.start) * self.shape[1] // READ_ENTRIES))

    def unfit(self, loss: ColumnLosses) -> tuple[EntrywiseLoss, float] | None:
        for columns, part in loss.runs(slice(0, self.shape[1])):
            if type(part).fits is EntrywiseLoss.fits:
                continue
            for values in self._values_of(columns):
                known = values[~np.isnan(values)] if self.missing else values
                wrong = known[~part.fits(known)]
                if wrong.size:
                    return part, float(wrong[0])
        return None

    def _values_of(self, columns: slice) -> Iterator[Array]:
        """The entries of some columns, part by part; zeros that are not stored are left out."""
        if self.source is None:
            for start in range(0, len(self.values), READ_ENTRIES):
                places = self.columns[start : start + READ_ENTRIES]
                inside = (places >= columns.start) & (places < columns.stop)
                yield self.values[start : start + READ_ENTRIES][inside]
            if not self.sampled:
                yield np.zeros(1)
        else:
            yield from (self.read(rows).M[:, columns] for rows in self.tiles())

    def run_pass(self, request: PassRequest) -> PassResult:
        return run(self, request)


def as_local_matrix(
    M: Any,
    dtype: str = "auto",
    threads: int | None = None,
    *,
    owner: str = "the matrix",
    part: bool = False,
    upper: Any = None,
    weights: Any = None,
    sampled: bool = False,
    copy: bool = True,
) -> LocalMatrix:
    """M from a dense array, any scipy.sparse format, a pydata ``sparse`` array, or what can be sliced by rows.

    ``upper`` and ``weights`` are held as M is; of a CSR M they are arrays of its stored entries. With ``sampled`` the
    entries that a sparse M does not store are missing. With ``part`` M is some rows of a larger matrix: it may be zero
    everywhere, and its size is not judged. Without ``copy`` the arrays of a CSR M are taken over, and may be changed.
    Errors name the ``owner`` of a parameter that is wrong.
    """
    if isinstance(M, LocalMatrix):
        return M
    if dtype not in ("auto", "float32", "float64"):
        raise parameter("dtype", owner, "'auto', 'float32' or 'float64'", dtype)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise parameter("threads", owner, "a whole number >= 1", threads)
    workers = threads or thread_count()
    csr = as_csr(M, keep_zeros=sampled, copy=copy)
    if csr is not None:
        kind = _precision(csr.dtype, dtype)
        off = csr.shape[0] * csr.shape[1] - csr.nnz if sampled else 0
        facts = _survey([csr.data], kind, part, upper is not None, off)
        csr = csr.astype(kind, copy=False)
        if not sampled and upper is None and weights is None:
            csr.eliminate_zeros()  # what is too small for the precision is zero, and no part of the support
        most = max(_most(weights), 0.0 if sampled else 1.0)
        upper, weights = _alike(upper, kind), _alike(weights, kind)
        held = (csr.data, csr.indices, csr.indptr)
        return LocalMatrix(csr.shape, kind, *facts, most, None, *held, upper, weights, sampled, workers)
    stored = is_stored(M)
    source = M if stored else as_array(M)
    check_kind(source.dtype, source.shape)
    kind = _precision(source.dtype, dtype)
    unread = LocalMatrix(source.shape, kind, 0.0, 0, 0.0, 0, 1.0, source)
    facts = _survey((_read(source, rows, source.dtype) for rows in unread.tiles()), kind, part, upper is not None)
    if not stored:
        source = np.ascontiguousarray(source, dtype=kind)
    rest: dict[str, Any] = {"upper": _alike(upper, kind), "weights": _alike(weights, kind), "threads": workers}
    return LocalMatrix(source.shape, kind, *facts, _most(weights), source, **rest)


def _alike(X: Any, kind: np.dtype[Any]) -> Any:
    """A further number of each entry, in the precision of M where it is in memory."""
    return X if X is None or is_stored(X) else np.ascontiguousarray(X, dtype=kind)


def _most(weights: Any) -> float:
    """The largest weight, read by parts."""
    if weights is None:
        return 1.0
    steps = range(0, len(weights), max(1, READ_ENTRIES // max(1, np.asarray(weights[0:1]).size)))
    return max((float(np.max(weights[k : k + steps.step])) for k in steps), default=0.0)


def is_stored(M: Any) -> bool:
    """Whether M is an array that lies elsewhere: a memory map, or a zarr, h5py or other array sliced by rows."""
    if isinstance(M, np.ndarray):
        return isinstance(M, np.memmap)
    described = isinstance(getattr(M, "dtype", None), np.dtype) and isinstance(getattr(M, "shape", None), tuple)
    return described and hasattr(M, "__getitem__") and not isinstance(M, np.generic)


def as_array(M: Any) -> Array:
    """M as a dense array, if it can be read as one."""
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


def as_csr(M: Any, *, keep_zeros: bool = False, copy: bool = True) -> Any:
    """M as canonical CSR, without stored zeros unless they are kept, or ``None`` if it is not sparse."""
    pydata = sys.modules.get("sparse")
    if pydata is not None and isinstance(M, pydata.SparseArray):
        check_kind(M.dtype, M.shape)
        if M.fill_value != 0:
            raise DataError(f"A sparse M must have the fill value 0. Got {M.fill_value!r} instead.")
        M = pydata.as_coo(M).to_scipy_sparse()
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is None or not scipy_sparse.issparse(M):
        return None
    check_kind(M.dtype, M.shape)
    _check_places(M)
    csr = scipy_sparse.csr_array(M, copy=copy)
    csr.sum_duplicates()
    if not keep_zeros:
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


def check_numbers(dtype: np.dtype[Any]) -> None:
    """Refuse what are no real numbers."""
    if dtype.kind not in "fiub":
        hints = {
            "O": " Convert Python's own numbers first, as in M.astype(float).",
            "U": " Give numbers, or the path of a file that exists.",
        }
        raise DataError(f"M must hold real numbers. Got dtype {dtype} instead.{hints.get(dtype.kind, '')}")


def check_kind(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse what is no matrix of real numbers."""
    check_numbers(dtype)
    if len(shape) != 2:
        raise DataError(f"M must be a matrix with two dimensions. Got shape {shape} instead.")
    if 0 in shape:
        raise DataError(f"M is empty. Got shape {shape} instead of at least one row and one column.")


def _survey(
    parts: Any, kind: np.dtype[Any], part: bool, unbounded: bool, off: int = 0
) -> tuple[float, int, float, int]:
    """‖M‖_F, the non-zeros, the smallest entry, or 0, and the missing ones, after reading every value as it is given.

    Only an M whose size suits the precision ``kind`` passes, or a ``part`` of one. ``off`` entries are missing besides.
    Where the entries are bounds, they may be infinite, and M may be zero.
    """
    norm, nonzeros, bad, lowest, missing, seen = 0.0, 0, 0, 0.0, off, 0
    for given in parts:
        line = given.reshape(-1)
        if not line.size:
            continue
        seen += line.size
        if line.dtype.itemsize > 8:  # longdouble, as float64 has it
            with np.errstate(over="ignore"):
                line = line.astype(np.float64)
        least, most = float(line.min()), float(line.max())
        if math.isnan(least):
            known = ~np.isnan(line)
            missing += int(line.size - known.sum())
            line = line[known]
            if not line.size:
                continue
            least, most = float(line.min()), float(line.max())
        if unbounded and not (math.isfinite(least) and math.isfinite(most)):
            line = line[np.isfinite(line)]
            least, most = float(line.min(initial=0.0)), float(line.max(initial=0.0))
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
        raise DataError(f"M must be finite. Got {bad} entries that are inf instead.")
    if not part:
        if missing and missing == seen + off:
            raise DataError("Every entry of M is missing: there is nothing to decompose.")
        if not (nonzeros or unbounded):
            raise DataError("M is zero everywhere: there is nothing to decompose.")
        if nonzeros:
            check_matrix(norm, kind)
    return norm, nonzeros, lowest, missing


def _norm(line: Array) -> float:
    return math.sqrt(line @ line if line.dtype == np.float64 else np.square(line, dtype=np.float64).sum())
