"""What every reader of files checks, before anything is allocated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import DataError, FileError

FREE_BYTES, BYTES_FOR_ONE = 200 * 10**6, 20
"""Reading a file may take that many bytes of memory, and so many more for each byte of the file."""
SHOWN, LONGEST = 6, 40
"""Names that an error lists, and characters of each."""


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(it.stat().st_size for it in path.rglob("*") if it.is_file())
    return path.stat().st_size


def room(path: Path) -> int:
    """Bytes of memory that reading the file may take."""
    return FREE_BYTES + BYTES_FOR_ONE * size_of(path)


def check_room(path: Path, needed: int, advice: str) -> None:
    """Refuse a file that announces a matrix out of proportion to its size."""
    if needed > room(path):
        raise FileError(
            f"The file {str(path)!r} has {size_of(path)} bytes, and reading it would take {needed / 1e9:.3g} GB "
            f"of memory. At most {room(path) / 1e9:.3g} GB are taken for a file of this size. If it is not damaged, "
            f"{advice}."
        )


def check_matrix(dtype: np.dtype[Any], shape: tuple[int, ...], path: Path) -> None:
    """Refuse what is no matrix of real numbers."""
    if dtype.kind not in "fiub":
        raise DataError(f"The matrix in {str(path)!r} must hold real numbers. Got dtype {dtype!s:.40} instead.")
    if len(shape) != 2:
        raise DataError(f"The matrix in {str(path)!r} must have two dimensions. Got shape {shape!s:.80} instead.")


def check_codecs(array: Any, path: Path) -> None:
    """Refuse an array of zarr whose parts would be unpickled."""
    metadata = getattr(array, "metadata", None)
    if metadata is not None and "pickle" in str(metadata.to_dict()).lower():
        raise FileError(f"The store {str(path)!r} holds pickled objects, which are never unpickled. Write it anew.")


def listed(names: Sequence[str]) -> str:
    """The names that were found in a file, for an error."""
    shown = [name if name.isprintable() and len(name) <= LONGEST else repr(name[:LONGEST]) for name in names[:SHOWN]]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(shown) or "none") + more
