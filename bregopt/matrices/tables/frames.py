"""Data frames as matrices: of pandas, polars and pyarrow, and from parquet files, with the names of both sides."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from bregopt.errors import DataError
from bregopt.labels import Labels
from bregopt.matrices.checks import check_room, listed
from bregopt.matrices.extras import needed
from bregopt.matrices.labelled import LabelledMatrix, informative, numbered, told
from bregopt.matrices.tables.layout import is_index_name


def read_parquet(path: Path) -> LabelledMatrix:
    """The numbers of a parquet file; a null is nan, and the index of pandas, or a first column of text, names rows."""
    parquet = needed("pyarrow.parquet", path)
    with parquet.ParquetFile(path) as file:
        check_room(path, file.metadata.num_rows * file.metadata.num_columns * 16, "save it without compression")
        return from_arrow(file.read(), f"The file {str(path)!r}")


def from_arrow(table: Any, owner: str) -> LabelledMatrix:
    """A table of pyarrow."""
    from pyarrow import ArrowException, float64, types

    def is_text(kind: Any) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    kinds = {field.name: field.type for field in table.schema}
    index = _pandas_index(table.schema.metadata or {})
    if not index:
        index = _index(
            [str(name) for name in kinds],
            [is_text(kind) for kind in kinds.values()],
            lambda name: table.column(name).to_pylist(),
        )
    rows = None if index not in kinds else _texts(table.column(index).to_pylist())
    numbers = table.drop_columns([index]) if index in kinds else table
    wrong = [name for name in numbers.column_names if not _has_numbers(kinds[name], types)]
    _refuse_text(owner, wrong)
    columns = [column.cast(float64(), safe=False) for column in numbers.columns]
    try:
        matrix = _dense(type(table).from_arrays(columns, names=[str(k) for k in range(len(columns))]))
    except ArrowException as error:
        raise DataError(f"{owner} cannot be read as numbers: {error}.") from None
    truths = all(types.is_boolean(column.type) for column in numbers.columns)
    return _labelled(matrix, rows, tuple(map(str, numbers.column_names)), truths)


def _dense(table: Any) -> Any:
    """A table of pyarrow as a matrix, made by parts of its rows; null is nan."""
    matrix, at = np.empty((table.num_rows, table.num_columns)), 0
    for batch in table.to_batches():
        for j, column in enumerate(batch.columns):
            matrix[at : at + len(batch), j] = column.to_numpy(zero_copy_only=False)
        at += len(batch)
    return matrix


def _has_numbers(kind: Any, types: Any) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    )


def _pandas_index(metadata: Any) -> str | None:
    """The column that pandas wrote its index to; ``None`` where the rows are only counted."""
    try:
        (index,) = json.loads(metadata[b"pandas"])["index_columns"]
    except (KeyError, ValueError, TypeError):
        return None
    return index if isinstance(index, str) else None


def _index(names: Sequence[str], texts: Sequence[bool], column: Callable[[str], Any]) -> str | None:
    """The first column, if it is the only one of text, or numbers the rows and is called so."""
    if len(names) > 1 and texts[0] and not any(texts[1:]):
        return names[0]
    if len(names) > 1 and is_index_name(names[0]) and numbered(_texts(column(names[0]))):
        return names[0]
    return None


def from_pandas(frame: Any) -> LabelledMatrix:
    """A frame of pandas, by its index and its columns; what is not there is nan, and what is sparse stays sparse."""
    if _first_names_rows(frame):
        frame = frame.iloc[:, 1:].set_axis(frame.iloc[:, 0])
    kinds = [dtype.kind for dtype in frame.dtypes]
    _refuse_text(
        "The data frame", [name for name, kind in zip(frame.columns, kinds, strict=True) if kind not in "fiub"]
    )
    if kinds and all(type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0 for dtype in frame.dtypes):
        matrix = frame.sparse.to_coo().tocsr()
    else:
        matrix = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return _labelled(matrix, _texts(frame.index), _texts(frame.columns), set(kinds) == {"b"})


def _first_names_rows(frame: Any) -> bool:
    """Whether a frame of pandas has names in its first column and none in its index, as ``read_csv`` leaves it."""
    if not frame.size or not numbered(_texts(frame.index)):
        return False
    first, texts = frame.iloc[:, 0], [dtype.kind not in "fiub" for dtype in frame.dtypes]
    names = texts[0] and all(isinstance(it, str) for it in first)
    return _index(_texts(frame.columns), [names, *texts[1:]], lambda _: first) is not None


def from_polars(frame: Any) -> LabelledMatrix:
    """A frame of polars; a null is nan, and a first column of text names the rows."""
    texts = [str(dtype).startswith(("String", "Utf8", "Categorical", "Enum")) for dtype in frame.dtypes]
    index = _index(frame.columns, texts, lambda name: frame.get_column(name).to_list())
    rows = None if index is None else _texts(frame.get_column(index).to_list())
    numbers = frame if index is None else frame.drop(index)
    kinds = zip(numbers.columns, numbers.dtypes, strict=True)
    _refuse_text(
        "The data frame", [name for name, kind in kinds if not (kind.is_numeric() or str(kind) in ("Boolean", "Null"))]
    )
    matrix = np.empty(numbers.shape)
    for j, column in enumerate(numbers.iter_columns()):
        matrix[:, j] = column.cast(float).fill_null(np.nan).to_numpy()
    truths = all(str(kind) == "Boolean" for kind in numbers.dtypes)
    return _labelled(matrix, rows, tuple(numbers.columns), truths)


def _texts(names: Any) -> tuple[str, ...]:
    """Names as text; those of several levels are joined."""
    return tuple(" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names)


def _refuse_text(owner: str, names: Sequence[Any]) -> None:
    if names:
        raise DataError(
            f"{owner} must hold numbers. The columns {listed([str(name) for name in names])} hold text or other "
            "things: make numbers of them, or leave them out. Only a first column of text names the rows."
        )


def _labelled(matrix: Any, rows: tuple[str, ...] | None, columns: tuple[str, ...], truths: bool) -> LabelledMatrix:
    """Names that only number rows or columns are left out; truth values stay what they are, where all are known."""
    if truths and isinstance(matrix, np.ndarray) and not np.isnan(matrix).any():
        matrix = matrix.astype(bool)
    labels = Labels(informative(rows), informative(columns))
    names = {"rows": labels.rows, "columns": labels.columns}
    taken = [f"{lines} are named ({told(it)})" for lines, it in names.items() if it]
    return LabelledMatrix(matrix, evolve(labels, taken=", ".join(taken)))
