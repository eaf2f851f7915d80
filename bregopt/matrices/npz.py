"""The matrix in an .npz archive: a dense array, or a sparse one as scipy writes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from bregopt.errors import DataError, FileError
from bregopt.matrices.checks import check_matrix, check_room, listed
from bregopt.matrices.npy import Header, read_body, read_header

NAMES = ("M", "X", "data")
INDICES = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
"""The arrays of whole numbers that say where the data of each sparse format stand."""
ENTRY_BYTES = {"csr": 12, "csc": 20, "coo": 28, "bsr": 48, "dia": 48}
"""Of memory, at most, for an entry while it is brought into its row."""


def read_npz(path: Path) -> Any:
    """The only array, the one named M, X or data, or the sparse array that ``scipy.sparse.save_npz`` wrote."""
    with ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if "format" in names:
            return _sparse(archive, path)
        chosen = _chosen(names, path)
        header = _header(archive, chosen)
        check_matrix(header.dtype, header.shape, path)
        check_room(path, header.nbytes, "save it without compression, or as a sparse array")
        return _array(archive, chosen, header)


def _chosen(names: Sequence[str], path: Path) -> str:
    """The only array of an archive, or the one named as a matrix."""
    known = [name for name in NAMES if name in names]
    if not known and len(names) != 1:
        raise FileError(
            f"The file {str(path)!r} must hold one array, or one named {', '.join(NAMES)}. Got {listed(names)} instead."
        )
    return known[0] if known else names[0]


def _sparse(archive: ZipFile, path: Path) -> Any:
    """The sparse array in its own format; whether its indices make sense is for the caller to check."""
    import scipy.sparse

    layout = _small(archive, "format", "SU").item()
    layout = layout.decode("ascii") if isinstance(layout, bytes) else layout
    if layout not in INDICES:
        raise ValueError(f"its format is {layout[:20]!r}, not one of {', '.join(INDICES)}")
    shape = tuple(int(size) for size in np.atleast_1d(_small(archive, "shape", "iu")))
    places = ("coords",) if layout == "coo" and "coords.npy" in archive.namelist() else INDICES[layout]
    headers = {name: _header(archive, name) for name in ("data", *places)}
    check_matrix(headers["data"].dtype, shape, path)
    if headers["data"].dtype.itemsize == 2 and headers["data"].dtype.kind == "f":
        raise DataError(f"The sparse matrix in {str(path)!r} holds float16 numbers. Save it with float32 ones.")
    for name in places:
        if headers[name].dtype.kind not in "iu":
            raise ValueError(f"its {name} are {headers[name].dtype} and not whole numbers")
    needed = sum(header.nbytes for header in headers.values()) + ENTRY_BYTES[layout] * headers["data"].count
    check_room(path, needed, "save it without compression")
    arrays = {name: _array(archive, name, header) for name, header in headers.items()}
    data, *indices = (array.astype(array.dtype.newbyteorder("="), copy=False) for array in arrays.values())
    if data.dtype.kind in "iu" and data.dtype.itemsize < 8:
        data = data.astype(np.int64, copy=False)  # entries of the same place will be summed
    if layout == "coo":
        row, col = indices[0] if len(indices) == 1 else indices
        return scipy.sparse.coo_array((data, (row, col)), shape=shape)
    return getattr(scipy.sparse, f"{layout}_array")((data, *indices), shape=shape)


def _small(archive: ZipFile, name: str, kinds: str) -> Any:
    """An array of a few bytes."""
    header = _header(archive, name)
    if header.dtype.kind not in kinds or header.nbytes > 100:
        raise ValueError(f"its {name} is of shape {header.shape} and dtype {header.dtype}")
    return _array(archive, name, header)


def _header(archive: ZipFile, name: str) -> Header:
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ValueError(f"its member {name[:40]!r} is compressed in a way that numpy does not write")
    with archive.open(info) as member:
        return read_header(member, info.file_size)


def _array(archive: ZipFile, name: str, header: Header) -> Any:
    with archive.open(f"{name}.npy") as member:
        array = read_body(member, header)
        if member.read(1):  # at the end, the checksum is checked
            raise ValueError(f"its member {name[:40]!r} is longer than it announces")
        return array
