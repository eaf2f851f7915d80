"""What people give as data, as a matrix with labels: paths, data frames, AnnData and tensors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bregopt.errors import DataError
from bregopt.labels import Labels
from bregopt.matrices.files import is_path, read
from bregopt.matrices.labelled import LabelledMatrix, told
from bregopt.matrices.tables.frames import from_arrow, from_pandas, from_polars


def labelled(data: Any, known: Callable[[Any], bool] = lambda data: False) -> LabelledMatrix | None:
    """The matrix that data of a known kind hold, with its labels; ``None`` for all else, which is taken as it is.

    What ``known`` says yes to is left to a plugin.
    """
    if isinstance(data, LabelledMatrix):
        return data
    if is_path(data):
        return read(data, any_shape=True)
    convert = _known(data)
    return None if convert is None or known(data) else convert(data)


def is_data(value: object) -> bool:
    """Whether a value is data of a known kind, or has the shape of a matrix; a bare word is a name, and no folder."""
    if isinstance(value, str):
        return is_path(value) or ("/" in value and Path(value).is_dir())
    return isinstance(value, (LabelledMatrix, Path)) or len(getattr(value, "shape", ())) >= 2


def _known(data: Any) -> Callable[[Any], LabelledMatrix] | None:
    """What takes data of this class, found without importing its package."""
    for kind in type(data).__mro__:
        found = KINDS.get((kind.__module__.partition(".")[0], kind.__name__))
        if found is not None:
            return found
    return None


def _from_anndata(data: Any) -> LabelledMatrix:
    if data.X is None:
        raise DataError("The AnnData has no X. Give a layer, as in adata.layers['counts'].")
    matrix = data.X.to_memory() if hasattr(data.X, "to_memory") else data.X
    rows, columns = tuple(map(str, data.obs_names)), tuple(map(str, data.var_names))
    taken = f"rows are obs_names ({told(rows)}), columns are var_names ({told(columns)})"
    return LabelledMatrix(matrix, Labels(rows, columns, taken=taken))


def _lazy(data: Any) -> LabelledMatrix:
    raise DataError("A LazyFrame has no values yet. Give data.collect() instead.")


KINDS: Mapping[tuple[str, str], Callable[[Any], LabelledMatrix]] = {
    ("pandas", "DataFrame"): from_pandas,
    ("polars", "DataFrame"): from_polars,
    ("polars", "LazyFrame"): _lazy,
    ("pyarrow", "Table"): lambda table: from_arrow(table, "The table"),
    ("anndata", "AnnData"): _from_anndata,
}
"""By package and class."""
