"""The array in an .npy file, or in a member of an .npz archive: sizes are checked before anything is allocated."""

import warnings
from io import BytesIO
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from attrs import frozen
from numpy.lib import format as npy_format

from bregopt.matrices.checks import check_matrix

LARGE = 2**30
"""Bytes from which on an .npy file is read by rows, as the run goes on, instead of being loaded."""
LONGEST_HEADER, BLOCK = 10_000, 2**20


@final
@frozen
class Header:
    """What an .npy file announces, and the byte at which its numbers begin."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    begin: int

    @property
    def count(self) -> int:
        """Entries of the array."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


def read_npy(path: Path) -> Any:
    """The matrix of an .npy file; a large one stays in the file, and is read from there by rows."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = read_header(file, size)
        check_matrix(header.dtype, header.shape, path)
        if size < LARGE:
            return read_body(file, header)
    return np.memmap(path, header.dtype, "r", header.begin, header.shape, "F" if header.fortran else "C")


def read_header(file: IO[bytes], size: int) -> Header:
    """The header of a file, or member, of that many bytes; ValueError if it announces more than there is."""
    head = BytesIO(file.read(LONGEST_HEADER + 12))
    version = npy_format.read_magic(head)
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's compiler, on words that are none
        shape, fortran, dtype = read(head, LONGEST_HEADER)
    header = Header(shape, fortran, dtype, head.tell())
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never unpickled")
    if min(shape, default=0) < 0 or header.begin + header.nbytes > size:
        raise ValueError(f"it announces the shape {shape} of {dtype} numbers, and its {size} bytes do not hold them")
    return header


def read_body(file: IO[bytes], header: Header) -> Any:
    """The array that follows the header."""
    file.seek(header.begin)
    flat = np.empty(header.count, header.dtype)
    if flat.size:
        _fill(flat.view(np.uint8).data, file)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _fill(room: memoryview, file: IO[bytes]) -> None:
    while room:
        read = file.readinto(room[:BLOCK])  # type: ignore[attr-defined]  # IO[bytes] leaves it out
        if not read:
            raise ValueError(f"it ends {len(room)} bytes too early")
        room = room[read:]
