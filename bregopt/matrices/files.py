"""A matrix from a file, by its suffix; what is sparse stays sparse, and nothing is ever unpickled."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import BregoptError, DataError, FileError
from bregopt.matrices.mat import read_mat
from bregopt.matrices.mtx import read_mtx
from bregopt.matrices.text import read_text

NPZ_NAMES = ("M", "X", "data")
FREE_BYTES, BYTES_FOR_ONE, ROW_BYTES = 200 * 10**6, 20, 8
"""The index of the rows of a sparse matrix may take that much, and so much more for each byte of its file."""
LARGE = 2**30
"""Bytes from which on an .npy file is read by rows, as the run goes on, instead of being loaded."""


def read_matrix(path: str | Path) -> Any:
    """The real matrix in a file: a numpy array, or a scipy CSR array where the file is sparse.

    Parameters
    ----------
    path : str or Path
        Ends in .npy, .npz, .mtx, .mtx.gz, .mat, .csv, .tsv or .txt.
    """
    path = Path(path)
    reader = _reader(path)
    if not path.exists():
        raise FileError(
            f"The file {str(path)!r} does not exist. Check the path, or give no file for a built-in matrix."
        )
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not a file. Give the path of a matrix.")
    try:
        return _real(reader(path), path)
    except BregoptError:
        raise
    except PermissionError:
        raise FileError(f"The file {str(path)!r} may not be read. Check its permissions.") from None
    except MemoryError as error:
        raise FileError(f"The file {str(path)!r} is too large for this machine, or damaged: {error}.") from error
    except Exception as error:  # a damaged file makes the readers of numpy and scipy raise anything
        what = str(error).rstrip(".") or type(error).__name__
        raise FileError(f"The file {str(path)!r} is damaged or not of its type: {what}. Write it anew.") from error


def _reader(path: Path) -> Callable[[Path], Any]:
    for suffix, reader in READERS.items():
        if path.name.lower().endswith(suffix):
            return reader
    found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
    raise FileError(f"The file {str(path)!r} has {found}. bregopt reads {', '.join(READERS)}: save it as one of these.")


def _real(matrix: Any, path: Path) -> Any:
    from scipy.sparse import csr_array, issparse

    if matrix.dtype.kind not in "fiub":
        raise DataError(f"The matrix in {str(path)!r} must hold real numbers. Got dtype {matrix.dtype} instead.")
    if matrix.ndim != 2:
        raise DataError(f"The matrix in {str(path)!r} must have two dimensions. Got shape {matrix.shape} instead.")
    if not issparse(matrix):
        return matrix
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # an index beyond the shape would be a wild memory access
    most = (FREE_BYTES + BYTES_FOR_ONE * path.stat().st_size) // ROW_BYTES
    if matrix.shape[0] > most:
        raise DataError(
            f"The matrix in {str(path)!r} has {matrix.shape[0]} rows for {matrix.nnz} entries, and their index alone "
            f"would take {matrix.shape[0] * ROW_BYTES / 1e9:.1f} GB. At most {most} rows are read from a file of this "
            "size: leave empty rows out."
        )
    rows = csr_array(matrix)
    rows.sum_duplicates()
    return rows


def _read_npy(path: Path) -> Any:
    if path.stat().st_size >= LARGE:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    with path.open("rb") as handle:
        return np.lib.format.read_array(handle, allow_pickle=False)


def _read_npz(path: Path) -> Any:
    from scipy.sparse import load_npz

    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
        if "format" not in arrays.files:
            return arrays[_chosen(arrays.files, path)]
    return load_npz(path)


def _chosen(names: Sequence[str], path: Path) -> str:
    """The only array of an archive, or the one named as a matrix."""
    known = [name for name in NPZ_NAMES if name in names]
    if not known and len(names) != 1:
        raise FileError(
            f"The file {str(path)!r} must hold one array, or one named {', '.join(NPZ_NAMES)}. "
            f"Got {', '.join(names) or 'none'} instead."
        )
    return known[0] if known else names[0]


READERS: Mapping[str, Callable[[Path], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".mat": read_mat,
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
}
