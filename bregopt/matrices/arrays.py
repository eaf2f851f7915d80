"""Arrays of any number of dimensions, in .npy and .npz files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from bregopt.errors import BregoptError, DataError, FileError
from bregopt.matrices.checks import check_room, listed
from bregopt.matrices.npy import read_body, read_header

TENSOR = "T"
"""The first parameter of a problem whose data may have any number of dimensions; under other names it is a matrix."""
ARRAYS = ("M", "X", "data", TENSOR)
"""The array of an .npz file with several that is the one to read."""


def announced_shape(path: Path) -> tuple[int, ...] | None:
    """The shape in the header of an .npy or .npz file; ``None`` where there is none, or it cannot be read."""
    try:
        shape: tuple[int, ...] | None = _with_header(path, lambda file, header: header.shape)
        return shape
    except (OSError, ValueError, KeyError, BadZipFile, BregoptError):
        return None  # the reader of matrices says what is wrong


def read_array(path: Path) -> Any:
    """The array of an .npy or .npz file, of any shape."""

    def read(file: Any, header: Any) -> Any:
        if header.dtype.kind not in "fiub":
            raise DataError(
                f"The array in {str(path)!r} must hold real numbers. Got dtype {header.dtype!s:.40} instead."
            )
        check_room(path, header.nbytes, "save it without compression")
        return read_body(file, header)

    try:
        return _with_header(path, read)
    except BregoptError:
        raise
    except Exception as error:  # a damaged archive makes zipfile and zlib raise anything
        raise FileError(f"The file {str(path)!r} is damaged or not of its type: {error}. Write it anew.") from error


def _with_header(path: Path, use: Callable[[Any, Any], Any]) -> Any:
    """``use(file, header)`` of the array in an .npy or .npz file; ``None`` for other files and for sparse arrays."""
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return use(file, read_header(file, path.stat().st_size))
    if path.suffix.lower() != ".npz":
        return None
    with ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if "format" in names:
            return None
        chosen = names[0] if len(names) == 1 else next((name for name in ARRAYS if name in names), None)
        if chosen is None:
            raise FileError(f"The file {str(path)!r} must hold one array, or one named T. Got {listed(names)} instead.")
        info = archive.getinfo(f"{chosen}.npy")
        with archive.open(info) as file:
            return use(file, read_header(file, info.file_size))
