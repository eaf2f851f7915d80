"""Histories and factors as data frames of pandas or polars, whichever is installed."""

import importlib
from collections.abc import Mapping
from typing import Any

from bregopt.blocks import Array
from bregopt.errors import DataError, IncompatibleError, parameter

PACKAGES = ("pandas", "polars")


def frame_package(asked: str | None) -> Any:
    """The package that was asked for, or the first that is installed."""
    if asked is not None and asked not in PACKAGES:
        raise parameter("package", "to_frame", "'pandas' or 'polars'", asked)
    for name in PACKAGES if asked is None else (asked,):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise IncompatibleError(
        f"A data frame needs {asked or 'pandas or polars'}, which is not installed: pip install {asked or 'pandas'}."
    )


def history_frame(history: Mapping[str, Array], package: str | None) -> Any:
    """One column a figure, one row a state."""
    return frame_package(package).DataFrame({name: column.copy() for name, column in history.items()})


def block_frame(
    X: Array, rows: tuple[str, ...] | None, columns: tuple[str, ...] | None, package: str | None = None
) -> Any:
    """A block with what its rows and columns are called; polars, which has no index, gets a first column of names."""
    if X.ndim != 2:
        raise DataError(f"Only a matrix becomes a data frame. Got an array of {X.ndim} dimensions instead.")
    library = frame_package(package)
    if library.__name__ == "pandas":
        return library.DataFrame(X.copy(), index=rows, columns=columns)
    names = columns or tuple(f"component {k}" for k in range(1, X.shape[1] + 1))
    if len(set(names)) < len(names):
        raise DataError("Two columns have one name, which polars does not allow: ask for package='pandas'.")
    beside = {} if rows is None else {"": rows}
    return library.DataFrame({**beside, **{name: X[:, k] for k, name in enumerate(names)}})
