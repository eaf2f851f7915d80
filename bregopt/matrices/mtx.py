"""A Matrix Market file, read strictly: scipy's reader may crash where one is damaged."""

import gzip
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from bregopt.errors import DataError
from bregopt.matrices.checks import check_room, room

LAYOUTS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "pattern", "complex")
SIGNS = {"general": 0, "symmetric": 1, "skew-symmetric": -1, "hermitian": 1}
"""The sign of the upper half, which only a general file spells out."""
PART, BLOCK = 2**20, 50_000
"""Characters that are unpacked, and lines that are parsed, at a time."""
BYTES = 2
"""Of a number in the file, at least: a digit and a space."""
MOST_COMPRESSED = 1032
"""How many bytes one byte of a gzip file stands for, at most."""
ENTRY_BYTES, NUMBER_BYTES = 60, 16
"""Of memory, for an entry of a sparse matrix and its mirror image, and for a number of a dense one."""


def read_mtx(path: Path) -> Any:
    """A sparse array from the layout ``coordinate``, a dense one from ``array``."""
    with _opened(path) as file:
        lines = _lines(file, path)
        layout, field, symmetry = _banner(next(lines, ""))
        if field == "complex":
            raise DataError(f"The matrix in {str(path)!r} must hold real numbers. Got complex ones instead.")
        sign = SIGNS[symmetry]
        if layout == "array":
            return _dense(lines, path, _sizes(lines, 2), sign)
        return _sparse(lines, path, _sizes(lines, 3), field == "pattern", sign)


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="latin-1") if path.suffix.lower() == ".gz" else path.open(encoding="latin-1")


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    """The lines, unpacked by parts, and no more of them than a file of that size may unpack to."""
    left, rest = room(path), ""
    while part := file.read(PART):
        left -= len(part)
        if left < 0:
            raise ValueError(f"it unpacks to more than {room(path)} bytes, which is the most for a file of its size")
        *lines, rest = (rest + part).split("\n")
        if len(rest) >= PART:
            raise ValueError(f"it has a line of more than {PART} characters")
        yield from lines
    yield rest


def _banner(line: str) -> tuple[str, str, str]:
    mark, _, layout, field, symmetry, *_ = [*line.lower().split(), *[""] * 5]
    if mark != "%%matrixmarket" or layout not in LAYOUTS or field not in FIELDS or symmetry not in SIGNS:
        raise ValueError(
            f"its first line is not like '%%MatrixMarket matrix coordinate real general' but {line[:80]!r}"
        )
    return layout, field, symmetry


def _sizes(lines: Iterator[str], count: int) -> list[int]:
    line = next((line for line in lines if line.strip() and not line.startswith("%")), "")
    sizes = [int(word) for word in line.split() if word.isdecimal() and len(word) < 20]
    if len(sizes) != count or len(line.split()) != count:
        raise ValueError(f"its line of sizes must hold {count} whole numbers, not {line[:80]!r}")
    return sizes


def _sparse(lines: Iterator[str], path: Path, sizes: list[int], pattern: bool, sign: int) -> Any:
    from scipy.sparse import coo_array

    m, n, stored = sizes
    width = 2 if pattern else 3
    _check_announced(path, stored * width, stored * ENTRY_BYTES)
    kind = np.int32 if max(m, n) < 2**31 else np.int64
    i, j, values = np.empty(stored, kind), np.empty(stored, kind), np.ones(stored)
    for rows, table in _tables(lines, stored, width):
        places = table[:, :2] - 1
        if not np.all((places >= 0) & (places < (m, n)) & (places == np.floor(places))):
            raise ValueError(f"it has an entry outside of its {m}×{n} places")
        i[rows], j[rows] = places.T
        if not pattern:
            values[rows] = table[:, 2]
    if sign:
        off = i != j
        i, j, values = np.r_[i, j[off]], np.r_[j, i[off]], np.r_[values, sign * values[off]]
    return coo_array((values, (i, j)), shape=(m, n))


def _dense(lines: Iterator[str], path: Path, sizes: list[int], sign: int) -> Any:
    """Column by column; of a symmetric matrix the lower half."""
    m, n = sizes
    if sign and m != n:
        raise ValueError(f"it announces a symmetric matrix of the shape {m}×{n}")
    stored = m * n if sign == 0 else n * (n + sign) // 2
    _check_announced(path, stored, m * n * NUMBER_BYTES)
    numbers = np.empty(stored)
    for rows, table in _tables(lines, stored, 1):
        numbers[rows] = table[:, 0]
    if sign == 0:
        return numbers.reshape(n, m).T
    matrix, at = np.zeros((n, n)), 0
    for column in range(n):
        first = column if sign > 0 else column + 1
        below = numbers[at : at + n - first]
        matrix[first:, column], matrix[column, first:] = below, sign * below
        at += n - first
    return matrix


def _check_announced(path: Path, numbers: int, needed: int) -> None:
    """Refuse a file that announces more numbers than it has bytes for: nothing is to be allocated for them."""
    size = path.stat().st_size
    compressed = path.suffix.lower() == ".gz"
    if BYTES * numbers > (size * MOST_COMPRESSED if compressed else size):
        raise ValueError(f"it announces at least {numbers} numbers, and its {size} bytes cannot hold them")
    if compressed:
        check_room(path, needed, "unpack it first")


def _tables(lines: Iterator[str], stored: int, width: int) -> Iterator[tuple[slice, Any]]:
    """The numbers of some lines at a time, and where they stand among all of them."""
    found = 0
    while block := list(islice(lines, BLOCK)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a block without numbers
            table = _parsed(block, width)
        if not len(table):
            continue
        rows = slice(found, found + len(table))
        found = rows.stop
        if table.shape[1] != width or found > stored:
            break
        yield rows, table
    else:
        if found == stored:
            return
        table = np.empty((0, width))
    raise ValueError(
        f"it announces {stored} entries of {width} numbers, but holds {'at least ' * (found > stored)}{found}"
        f"{f' of {table.shape[1]}' * (table.shape[1] != width)}"
    )


def _parsed(block: list[str], width: int) -> Any:
    try:
        return np.loadtxt(block, comments="%", ndmin=2)
    except ValueError:
        for line in block:
            if not _is_entry(line.partition("%")[0].split(), width):
                raise ValueError(f"it announces entries of {width} numbers, and holds the line {line[:40]!r}") from None
        raise


def _is_entry(words: list[str], width: int) -> bool:
    try:
        return len([float(word) for word in words]) in (0, width)
    except ValueError:
        return False
