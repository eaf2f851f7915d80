"""A Matrix Market file, read strictly: scipy's reader may crash where one is damaged."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from bregopt.errors import DataError

LAYOUTS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "pattern", "complex")
SIGNS = {"general": 0, "symmetric": 1, "skew-symmetric": -1, "hermitian": 1}
"""The sign of the upper half, which only a general file spells out."""
BYTES = 2
"""Of a number, at least: a digit and a space."""
MOST_COMPRESSED = 1032
"""How many bytes one byte of a gzip file stands for, at most."""


def read_mtx(path: Path) -> Any:
    """A sparse array from the layout ``coordinate``, a dense one from ``array``."""
    with _opened(path) as lines:
        layout, field, symmetry = _banner(next(lines, ""))
        if field == "complex":
            raise DataError(f"The matrix in {str(path)!r} must hold real numbers. Got complex ones instead.")
        sign = SIGNS[symmetry]
        if layout == "array":
            m, n = _sizes(lines, 2)
            _check_room(path, m * n if sign == 0 else n * (n - 1) // 2)
            return _dense(lines, m, n, sign)
        m, n, stored = _sizes(lines, 3)
        _check_room(path, 2 * stored)
        return _sparse(lines, m, n, stored, field == "pattern", sign)


def _check_room(path: Path, numbers: int) -> None:
    """Refuse a file that announces more numbers than it has bytes for: nothing is to be allocated for them."""
    size = path.stat().st_size
    most = size * MOST_COMPRESSED if path.suffix.lower() == ".gz" else size
    if BYTES * numbers > most:
        raise ValueError(f"it announces at least {numbers} numbers, and its {size} bytes cannot hold them")


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="latin-1") if path.suffix.lower() == ".gz" else path.open(encoding="latin-1")


def _banner(line: str) -> tuple[str, str, str]:
    mark, _, layout, field, symmetry, *_ = [*line.lower().split(), *[""] * 5]
    if mark != "%%matrixmarket" or layout not in LAYOUTS or field not in FIELDS or symmetry not in SIGNS:
        raise ValueError(
            f"its first line is not like '%%MatrixMarket matrix coordinate real general' but {line[:80]!r}"
        )
    return layout, field, symmetry


def _sizes(lines: Iterable[str], count: int) -> list[int]:
    line = next((line for line in lines if line.strip() and not line.startswith("%")), "")
    sizes = [int(word) for word in line.split() if word.isdecimal()]
    if len(sizes) != count or len(line.split()) != count:
        raise ValueError(f"its line of sizes must hold {count} whole numbers, not {line[:80]!r}")
    return sizes


def _sparse(lines: Iterable[str], m: int, n: int, stored: int, pattern: bool, sign: int) -> Any:
    from scipy.sparse import coo_array

    table = _numbers(lines, stored, 2 if pattern else 3)
    places = table[:, :2] - 1
    if not np.all((places >= 0) & (places < (m, n)) & (places == np.floor(places))):
        raise ValueError(f"it has an entry outside of its {m}×{n} places")
    i, j = places.astype(np.int64).T
    values = np.ones(stored) if pattern else table[:, 2]
    mirrored = (i != j) & (sign != 0)
    values = np.concatenate([values, sign * values[mirrored]])
    return coo_array((values, (np.r_[i, j[mirrored]], np.r_[j, i[mirrored]])), shape=(m, n))


def _dense(lines: Iterable[str], m: int, n: int, sign: int) -> Any:
    """Column by column; of a symmetric matrix the lower half."""
    if sign == 0:
        return _numbers(lines, m * n, 1).reshape(n, m).T
    places = np.triu_indices(n, 0 if sign > 0 else 1)
    half = np.zeros((n, m))
    half[places] = _numbers(lines, len(places[0]), 1)[:, 0]
    return half.T + sign * np.triu(half, 1)


def _numbers(lines: Iterable[str], rows: int, width: int) -> Any:
    if rows == 0:
        return np.zeros((0, width))
    table = np.loadtxt(lines, comments="%", ndmin=2)
    if table.shape != (rows, width):
        raise ValueError(
            f"it announces {rows} entries of {width} numbers, but holds {table.shape[0]} of {table.shape[1]}"
        )
    return table
