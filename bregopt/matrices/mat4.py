"""The matrices of a MATLAB file of version 4: a head of five numbers, a name, and the numbers column by column."""

import struct
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from bregopt.errors import DataError
from bregopt.matrices.mat5 import Matrices, Stored

NUMBERS = ("f8", "f4", "i4", "i2", "u2", "u1")
DENSE, TEXT, SPARSE = range(3)
HEAD, LONGEST_NAME = 20, 1000


def matrices(file: IO[bytes], path: Path) -> Matrices:
    """The matrices of real or complex numbers, by name."""
    file.seek(0)
    order = "<" if int.from_bytes(file.read(4), "little") < 5000 else ">"
    end, at = path.stat().st_size, 0
    found: dict[str, Stored] = {}
    while at < end:
        file.seek(at)
        head = file.read(HEAD)
        if len(head) < HEAD:
            raise ValueError(f"it is cut off at byte {end}")
        code, m, n, is_complex, length = struct.unpack(f"{order}5i", head)
        kind, precision = code % 10, code // 10 % 10
        sensible = 0 <= code < 2000 and code // 100 % 10 == 0 and kind <= SPARSE and precision < len(NUMBERS)
        if not (sensible and m >= 0 and n >= 0 and is_complex in (0, 1) and 0 < length <= LONGEST_NAME):
            raise ValueError(f"the head of a variable at byte {at} makes no sense")
        name = file.read(length).partition(b"\0")[0].decode("latin-1")
        at += HEAD + length
        dtype = np.dtype(order + NUMBERS[precision])
        read = partial(_numbers, file, at, dtype, (m, n))
        at += m * n * dtype.itemsize * (1 + is_complex)
        if at > end:
            raise ValueError(f"a matrix announces the shape {m}×{n}, and its {end} bytes do not hold it")
        if kind == SPARSE:
            matrix = _sparse(read(), path)
            found[name] = Stored(matrix.shape, partial(_same, matrix))
        elif kind == DENSE:
            found[name] = Stored((m, n), partial(_refuse, path) if is_complex else read)
    return found


def _numbers(file: IO[bytes], at: int, dtype: np.dtype[Any], shape: tuple[int, int]) -> Any:
    file.seek(at)
    flat = np.frombuffer(bytearray(file.read(shape[0] * shape[1] * dtype.itemsize)), dtype)
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order="F")


def _sparse(table: Any, path: Path) -> Any:
    """From rows of (i, j, value), of which the last holds the shape."""
    from scipy.sparse import coo_array

    if table.shape[1] == 4:
        _refuse(path)
    if table.shape[1] != 3 or not len(table):
        raise ValueError(f"a sparse matrix must have three columns and one row at least, not the shape {table.shape}")
    places = table[:, :2]
    if not (np.all(places == np.floor(places)) and np.all(places[:-1] >= 1) and np.all(places[:-1] <= places[-1])):
        raise ValueError("a sparse matrix has an entry outside of its shape")
    i, j = places[:-1].astype(np.int64).T - 1
    return coo_array((table[:-1, 2].astype(float), (i, j)), shape=tuple(int(size) for size in places[-1]))


def _same(matrix: Any) -> Any:
    return matrix


def _refuse(path: Path) -> Any:
    raise DataError(f"The matrix in {str(path)!r} must hold real numbers. Got complex ones instead.")
