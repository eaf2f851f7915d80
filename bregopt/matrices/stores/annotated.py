"""The matrices of single cells in a store, as AnnData and 10x write them, with the names of both sides."""

from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import DataError
from bregopt.labels import Labels
from bregopt.matrices.checks import check_codecs, check_matrix, check_room
from bregopt.matrices.labelled import LabelledMatrix, told

SPARSE = {"csr_matrix": "csr_array", "csc_matrix": "csc_array"}
"""What AnnData calls its sparse matrices, and what scipy does."""
ARRAYS = ("data", "indices", "indptr")
ENTRY_BYTES = 20
"""Of memory, for an entry while it is brought into its row."""


def is_annotated(store: Any) -> bool:
    """Whether a store is an AnnData."""
    return "obs" in store and "var" in store


def is_sparse(group: Any) -> bool:
    """Whether a group is a sparse matrix as AnnData writes it."""
    return hasattr(group, "keys") and _text(_attribute(group, "encoding-type", "h5sparse_format")) in (
        *SPARSE,
        *("csr", "csc"),
    )


def is_tenx(store: Any) -> bool:
    """Whether a store is what Cell Ranger writes."""
    return "matrix" in store and all(name in store["matrix"] for name in (*ARRAYS, "shape", "barcodes"))


def read_sparse(group: Any, path: Path) -> Any:
    """The sparse matrix of a group, in its own format; whether its indices make sense is for the caller to check."""
    layout = _text(_attribute(group, "encoding-type", "h5sparse_format"))
    shape = tuple(int(size) for size in _attribute(group, "shape", "h5sparse_shape"))
    return _compressed(group, SPARSE.get(layout, f"{layout}_array"), shape, path)


def read_tenx(group: Any, path: Path) -> LabelledMatrix:
    """Cells by features, with their barcodes and the names of the features."""
    features, cells = (int(size) for size in group["shape"][()])
    matrix = _compressed(group, "csr_array", (cells, features), path)  # by columns in the file: a cell each
    named = group.get("features", group)
    names = _texts(named["name" if "name" in named else "gene_names"], path)
    barcodes = _texts(group["barcodes"], path)
    _check_count(barcodes, cells, "barcodes", path)
    _check_count(names, features, "features", path)
    taken = f"rows are the barcodes ({told(barcodes)}), columns the features ({told(names)})"
    return LabelledMatrix(matrix, Labels(barcodes, names, taken=taken))


def labels_of(store: Any, name: str, shape: tuple[int, ...], path: Path) -> Labels:
    """obs_names and var_names, where the array is as long."""
    of_raw = name.startswith("raw/") and "raw" in store and "var" in store["raw"]
    rows, columns = _index(store["obs"], path), _index(store["raw/var" if of_raw else "var"], path)
    rows = rows if rows is not None and len(rows) == shape[0] else None
    columns = columns if columns is not None and len(shape) > 1 and len(columns) == shape[1] else None
    taken = [f"rows are obs_names ({told(rows)})"] if rows else []
    taken += [f"columns are var_names ({told(columns)})"] if columns else []
    return Labels(rows, columns, taken=", ".join(taken))


def _index(frame: Any, path: Path) -> tuple[str, ...] | None:
    """The index of a data frame as AnnData writes it; ``None`` where it is written in another way."""
    if not hasattr(frame, "keys"):  # the table of an old version
        names = frame.dtype.names or ()
        return _texts(frame["index"], path) if "index" in names else None
    name = _text(_attribute(frame, "_index"))
    return _texts(frame[name], path) if name in frame else None


def _texts(column: Any, path: Path) -> tuple[str, ...]:
    """A column of text, which may be kept by categories, or beside a mask."""
    if hasattr(column, "keys"):
        if "codes" in column:
            categories = _texts(column["categories"], path)
            return tuple("" if code < 0 else categories[code] for code in column["codes"][()].tolist())
        return _texts(column["values"], path)
    if not isinstance(column, np.ndarray):
        check_codecs(column, path)
        column = column[()]
    return tuple(map(_text, np.asarray(column).tolist()))


def _compressed(group: Any, kind: str, shape: tuple[int, ...], path: Path) -> Any:
    import scipy.sparse

    arrays = [group[name] for name in ARRAYS]
    check_matrix(arrays[0].dtype, shape, path)
    needed = sum(int(array.shape[0]) * (array.dtype.itemsize + ENTRY_BYTES) for array in arrays)
    check_room(path, needed, "save it without compression")
    for array in arrays:
        check_codecs(array, path)
    data, indices, indptr = (array[()] for array in arrays)
    for name, array in (("indices", indices), ("indptr", indptr)):
        if array.dtype.kind not in "iu":
            raise ValueError(f"its {name} are {array.dtype} and not whole numbers")
    return getattr(scipy.sparse, kind)((data, indices, indptr), shape=shape)


def _check_count(names: tuple[str, ...], count: int, what: str, path: Path) -> None:
    if len(names) != count:
        raise DataError(f"The file {str(path)!r} has {len(names)} {what} for a matrix with {count}. Write it anew.")


def _attribute(group: Any, *names: str) -> Any:
    return next((group.attrs[name] for name in names if name in group.attrs), None)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
