"""From what a user has (an array, a mask, weights) to the matrix that the passes read."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from attrs import evolve, frozen

from bregopt import Array, resolve_data
from bregopt.errors import DataError, parameter
from bregopt_lowrank.matrices.local import (
    LocalMatrix,
    as_array,
    as_csr,
    as_local_matrix,
    check_kind,
    check_numbers,
    is_stored,
)
from bregopt_lowrank.matrices.matrix import Matrix

FEW = 0.08
"""The share of known entries of a dense M up to which a pass over them alone is the faster one."""


@frozen(eq=False)
class Given:
    """The data as they were given, checked for what can be checked before they are read."""

    M: Any
    mask: Any = None
    """True where an entry is known"""
    weights: Any = None
    upper: Any = None
    missing: str | None = None
    """``zeros`` where the zeros of M are unknown, ``nan`` where they are data; by default what the loss says"""
    part: bool = False
    """whether these are some rows of a larger matrix: they may be zero or missing everywhere"""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of M, once it is resolved."""
        return tuple(self.M.shape)

    @property
    def companions(self) -> dict[str, Any]:
        """What was given beside M."""
        rest = {name: getattr(self, name) for name in COMPANIONS}
        return {name: array for name, array in rest.items() if array is not None}

    def resolved(self) -> "Given":
        """With what plugins put in the place of these data."""
        M = resolve_data(self.M)
        if not hasattr(M, "shape"):
            M = as_array(M)
            check_numbers(M.dtype)
        return evolve(self, M=M, **{name: resolve_data(it) for name, it in self.companions.items()})

    def unfolded(self, shape: tuple[int, int]) -> "Given":
        """With every array as a matrix of this shape."""
        if self.shape == shape or isinstance(self.M, Matrix):
            return self
        for name, array in self.companions.items():
            _check_shape(name, array, self.shape)
        arrays = {"M": self.M, **self.companions}
        return evolve(self, **{name: _as_matrix(name, array, shape) for name, array in arrays.items()})


def _as_matrix(name: str, array: Any, shape: tuple[int, int]) -> Any:
    if isinstance(array, RemoteArray) or (is_stored(array) and not hasattr(array, "nnz")):
        raise DataError(f"The '{name}' must be in memory for this model: it is unfolded into a matrix.")
    return (array if hasattr(array, "reshape") else np.asarray(array)).reshape(shape)


COMPANIONS = ("mask", "weights", "upper")


class RemoteArray(ABC):
    """An array that lies elsewhere: an M of this kind is read there, together with its mask, its weights and ``upper``.

    A plugin returns one from ``bregopt_resolve_data``.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @abstractmethod
    def load(self, given: Given) -> Matrix:
        """The matrix ``given``, of which this array is M."""


def read(given: Given, dtype: str, threads: int | None, owner: str) -> Matrix:
    """The matrix."""
    companions = given.companions
    if isinstance(given.M, Matrix):
        for name in companions:
            raise parameter(name, owner, f"left out for an M that is a {type(given.M).__name__}", "an array")
        return given.M
    if given.missing not in (None, "nan", "zeros"):
        raise parameter("missing", owner, "'nan' or 'zeros'", given.missing)
    for name, array in companions.items():
        _check_shape(name, array, given.shape)
        if isinstance(array, RemoteArray) and not isinstance(given.M, RemoteArray):
            raise parameter(name, owner, "held here, as M is", f"a {type(array).__name__}")
    return given.M.load(given) if isinstance(given.M, RemoteArray) else local_matrix(given, dtype, threads, owner)


def local_matrix(
    given: Given, dtype: str = "auto", threads: int | None = None, owner: str = "the matrix"
) -> LocalMatrix:
    """The matrix held by this process, or read by it from where it is stored."""
    zeros = given.missing == "zeros"
    csr = as_csr(given.M, keep_zeros=True)
    if csr is not None:
        return _sparse(csr, given, zeros, dtype, threads, owner)
    M = given.M if is_stored(given.M) else as_array(given.M)
    check_kind(M.dtype, M.shape)
    M = _masked(M, _dense_mask(given.mask), zeros)
    weights = _checked_weights(given.weights, given.part)
    if type(M) is np.ndarray and M.ndim == 2 and M.dtype.kind == "f" and M.size and np.isnan(M.min()):
        known = ~np.isnan(M)
        if 0 < known.sum() <= FEW * M.size:
            return _sampled(M, known, given, weights, dtype, threads, owner)
    rest: dict[str, Any] = {"owner": owner, "part": given.part}
    return as_local_matrix(M, dtype, threads, upper=given.upper, weights=weights, **rest)


def _check_shape(name: str, array: Any, shape: Any) -> None:
    found = array.shape if hasattr(array, "shape") else np.shape(array)
    if tuple(found) != tuple(shape):
        raise DataError(f"The '{name}' must have the shape of M, {_times(shape)}. Got {_times(found)} instead.")


def _times(shape: Any) -> str:
    return "×".join(map(str, shape)) or "a single number"


def _dense_mask(mask: Any) -> Any:
    """The mask as truth values."""
    if mask is None:
        return None
    if hasattr(mask, "toarray"):
        mask = mask.toarray()
    mask = mask if hasattr(mask, "dtype") else np.asarray(mask)
    if mask.dtype.kind == "b":
        return mask
    if mask.dtype.kind in "iu" and bool(((mask == 0) | (mask == 1)).all()):
        return mask.astype(bool)
    raise DataError(f"The mask must be True where an entry is known and False where not. Got dtype {mask.dtype}.")


def _masked(M: Any, mask: Any, zeros: bool) -> Any:
    """M with nan where an entry is missing; what is stored elsewhere is read through a mask."""
    if mask is None and not zeros:
        return M
    if type(M) is np.ndarray or (not isinstance(M, np.ndarray) and hasattr(M, "__array_function__")):
        kind = M.dtype if M.dtype.kind == "f" else np.dtype(float)
        known = mask if mask is not None else M != 0
        if mask is not None and zeros:
            known = known & (M != 0)
        return np.where(known, M, np.array(math.nan, dtype=kind)).astype(kind)
    return MaskedSource(M, mask, zeros)


@frozen(eq=False)
class MaskedSource:
    """A matrix that is read by rows, with nan where an entry is missing."""

    source: Any
    mask: Any
    zeros: bool

    @property
    def shape(self) -> tuple[int, int]:
        shape: tuple[int, int] = self.source.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.source.dtype
        return kind if kind.kind == "f" else np.dtype(float)

    def __getitem__(self, rows: slice) -> Array:
        tile = np.array(self.source[rows], dtype=self.dtype, subok=False)
        if self.mask is not None:
            tile[~np.asarray(self.mask[rows], dtype=bool)] = math.nan
        if self.zeros:
            tile[tile == 0] = math.nan
        return tile


def _checked_weights(weights: Any, part: bool) -> Any:
    """Finite and not negative, and not all of them zero."""
    if weights is None:
        return None
    found: Any = (
        weights if hasattr(weights, "dtype") and hasattr(weights, "shape") else np.asarray(weights, dtype=float)
    )
    if found.dtype.kind not in "fiub":
        raise DataError(f"The weights must be numbers >= 0. Got dtype {found.dtype} instead.")
    if type(found) is np.ndarray or (hasattr(found, "data") and hasattr(found, "tocsr")):
        values = found if type(found) is np.ndarray else found.tocsr().data
        if values.size and not (np.isfinite(values).all() and values.min() >= 0):
            wrong = values[~(np.isfinite(values) & (values >= 0))][0]
            raise DataError(f"The weights must be finite numbers >= 0. Got {wrong:g} among them.")
        if not (part or np.any(values)):
            raise DataError("Every weight is zero: there is nothing to fit.")
    return found


def _sampled(
    M: Array, known: Any, given: Given, weights: Any, dtype: str, threads: int | None, owner: str
) -> LocalMatrix:
    """The few known entries of a dense M by themselves."""
    from scipy.sparse import csr_array

    rows, columns = map(np.ascontiguousarray, np.nonzero(known))  # NumPy gives views of one array
    starts = np.zeros(M.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=M.shape[0]), out=starts[1:])
    csr = csr_array((M[rows, columns], columns, starts), shape=M.shape)
    rest = {"upper": given.upper, "weights": weights}
    at = {name: None if it is None else np.asarray(it)[rows, columns] for name, it in rest.items()}
    return as_local_matrix(csr, dtype, threads, owner=owner, part=given.part, sampled=True, copy=False, **at)


def _sparse(csr: Any, given: Given, zeros: bool, dtype: str, threads: int | None, owner: str) -> LocalMatrix:
    """A sparse M: on its stored entries where zeros are missing, else with nan stored where an entry is."""
    from scipy.sparse import csr_array

    weights, mask = _checked_weights(given.weights, given.part), given.mask
    if not zeros and weights is not None and as_csr(weights) is None:
        return _as_dense(csr, given, dtype, threads, owner)
    if mask is not None:
        known = as_csr(mask) if hasattr(mask, "tocsr") else None
        if known is None:
            known = csr_array(_dense_mask(mask))
        known = known.astype(bool)
        if zeros:
            csr = _restricted(csr, known)
        else:
            share = known.nnz / (csr.shape[0] * csr.shape[1])
            if share > 0.5:
                return _as_dense(csr, given, dtype, threads, owner)
            csr, zeros = _on_pattern(csr, known), True
    if not zeros:
        csr.eliminate_zeros()
    on_support = {name: _aligned(name, it, csr) for name, it in (("upper", given.upper), ("weights", weights))}
    return as_local_matrix(csr, dtype, threads, owner=owner, part=given.part, sampled=zeros, copy=False, **on_support)


def _as_dense(csr: Any, given: Given, dtype: str, threads: int | None, owner: str) -> LocalMatrix:
    M = _masked(csr.toarray().astype(float if csr.dtype.kind != "f" else csr.dtype), _dense_mask(given.mask), False)
    weights, upper = (it.toarray() if hasattr(it, "toarray") else it for it in (given.weights, given.upper))
    rest: dict[str, Any] = {"owner": owner, "part": given.part}
    return as_local_matrix(M, dtype, threads, upper=upper, weights=_checked_weights(weights, given.part), **rest)


def _restricted(csr: Any, known: Any) -> Any:
    """The stored entries that are known."""
    from scipy.sparse import csr_array

    kept = _aligned("mask", known, csr).astype(bool)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))[kept]
    starts = np.zeros(csr.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=csr.shape[0]), out=starts[1:])
    return csr_array((csr.data[kept], csr.indices[kept], starts), shape=csr.shape)


def _on_pattern(csr: Any, known: Any) -> Any:
    """The entries of M at the known places, zeros stored."""
    from scipy.sparse import csr_array

    known = known.copy()
    known.sum_duplicates()
    kind = csr.dtype if csr.dtype.kind == "f" else np.dtype(float)
    places = csr_array((np.zeros(known.nnz, kind), known.indices, known.indptr), shape=csr.shape)
    places.data[:] = _aligned("M", csr, places)
    return places


def _aligned(name: str, array: Any, csr: Any) -> Any:
    """The entries of another matrix at the stored entries of this one; a sparse one may have none elsewhere."""
    if array is None:
        return None
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    other = as_csr(array, keep_zeros=True)
    if other is None:
        return np.asarray(array)[rows, csr.indices]
    n = csr.shape[1]
    mine = rows.astype(np.int64) * n + csr.indices
    theirs = np.repeat(np.arange(csr.shape[0], dtype=np.int64), np.diff(other.indptr)) * n + other.indices
    if name == "weights":
        outside = int(np.count_nonzero(~np.isin(theirs[other.data != 0], mine)))
        if outside:
            raise DataError(
                f"Sparse weights must lie on the stored entries of M. Got {outside} elsewhere: store zeros in M there "
                "with missing='zeros', or give dense weights."
            )
    place = np.searchsorted(theirs, mine)
    place = np.minimum(place, max(len(theirs) - 1, 0))
    if not len(theirs):
        return np.zeros(len(mine), other.dtype)
    return np.where(theirs[place] == mine, other.data[place], other.dtype.type(0))


def empty_lines(M: Matrix) -> list[str]:
    """A sentence about the rows, and one about the columns, that have no known entry."""
    if not M.missing or not isinstance(M, LocalMatrix):
        return []
    if M.sampled:
        known = ~np.isnan(M.values)
        rows = np.repeat(np.arange(M.shape[0]), np.diff(M.starts))[known]
        counts = np.bincount(rows, minlength=M.shape[0]), np.bincount(M.columns[known], minlength=M.shape[1])
    else:
        on_rows, on_columns = np.zeros(M.shape[0], np.int64), np.zeros(M.shape[1], np.int64)
        for part in M.tiles():
            known = ~np.isnan(M.read(part).M)
            on_rows[part], on_columns = known.sum(axis=1), on_columns + known.sum(axis=0)
        counts = on_rows, on_columns
    sentences = []
    for kind, factor, count in zip(("row", "column"), ("U", "V"), counts, strict=True):
        empty = np.flatnonzero(count == 0)
        if empty.size:
            many = f"{empty.size} {kind}s have" if empty.size > 1 else f"1 {kind} has"
            sentences.append(
                f"{many} no known entry (the first is {kind} {empty[0]}): there {factor} is what H alone says."
            )
    return sentences


def split_off(M: LocalMatrix, share: float, rng: np.random.Generator) -> tuple[LocalMatrix, LocalMatrix]:
    """M without a random ``share`` of its known entries, and these by themselves; a sparse M stays sparse."""
    if M.source is None and M.sampled:
        rows = np.repeat(np.arange(M.shape[0]), np.diff(M.starts))
        chosen = _chosen(len(M.values), share, rng)
        places = rows, M.columns, M.values
        fitted, tested = (_by_rows(M.shape, *(it[inside] for it in places)) for inside in (~chosen, chosen))
        at: dict[str, Any] = {
            name: None if it is None else it[~chosen] for name, it in (("upper", M.upper), ("weights", M.weights))
        }
        return (
            as_local_matrix(fitted, M.dtype.name, M.threads, sampled=True, **at),
            as_local_matrix(tested, M.dtype.name, M.threads, sampled=True, part=True),
        )
    sparse = M.source is None and M.upper is None and M.weights is None
    chosen, seen = _chosen(M.known, share, rng), 0
    out: list[tuple[Any, ...]] = []
    kept: list[tuple[Any, ...]] = []
    for part in M.tiles():
        tile = np.array(M.read(part).M)
        rows, columns = np.nonzero(~np.isnan(tile))
        inside = chosen[seen : seen + len(rows)]
        seen += len(rows)
        rows, columns = rows[inside], columns[inside]
        out.append((rows + part.start, columns, tile[rows, columns]))
        tile[rows, columns] = math.nan
        if sparse:
            rows, columns = np.nonzero(tile)
            kept.append((rows + part.start, columns, tile[rows, columns]))
        else:
            kept.append((tile,))
    tested = _by_rows(M.shape, *map(np.concatenate, zip(*out, strict=True)))
    fitted, *rest = map(np.concatenate, zip(*kept, strict=True))
    fitted = _by_rows(M.shape, fitted, *rest) if sparse else fitted
    return (
        as_local_matrix(fitted, M.dtype.name, M.threads, upper=M.upper, weights=M.weights),
        as_local_matrix(tested, M.dtype.name, M.threads, sampled=True, part=True),
    )


def _chosen(known: int, share: float, rng: np.random.Generator) -> Any:
    """Which of the known entries, counted by rows, are held out."""
    chosen = rng.random(known) < share
    if not chosen.any() or chosen.all():
        raise DataError(f"A share of {share:g} of {known} known entries leaves nothing to fit, or nothing to test.")
    return chosen


def _by_rows(shape: tuple[int, int], rows: Any, columns: Any, values: Any) -> Any:
    """The CSR array of entries that are listed by rows."""
    from scipy.sparse import csr_array

    starts = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=starts[1:])
    return csr_array((values, columns, starts), shape=shape)
