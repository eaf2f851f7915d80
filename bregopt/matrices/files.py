"""A matrix from a file, by its suffix; what is sparse stays sparse, and nothing is ever unpickled."""

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import BregoptError, DataError, FileError
from bregopt.matrices.checks import check_matrix, room
from bregopt.matrices.mat import read_mat
from bregopt.matrices.mtx import read_mtx
from bregopt.matrices.npy import read_npy
from bregopt.matrices.npz import read_npz
from bregopt.matrices.text import read_text

ROW_BYTES = 8
"""What a row takes in the index of a sparse matrix."""
READERS: Mapping[str, Callable[[Path], Any]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".mat": read_mat,
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
}


def read_matrix(path: str | Path) -> Any:
    """The real matrix in a file: a numpy array, or a scipy CSR array where the file is sparse.

    Parameters
    ----------
    path : str or Path
        Ends in .npy, .npz, .mtx, .mtx.gz, .mat, .csv, .tsv or .txt.
    """
    path = Path(path)
    reader = _reader(path)
    _check_path(path)
    try:
        return _real(reader(path), path)
    except BregoptError:
        raise
    except PermissionError:
        raise _forbidden(path) from None
    except MemoryError as error:
        raise FileError(f"The file {str(path)!r} is too large for this machine, or damaged: {error}.") from error
    except Exception as error:  # a damaged file makes the readers of numpy and scipy raise anything
        what = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
        raise FileError(f"The file {str(path)!r} is damaged or not of its type: {what}. Write it anew.") from error


def _reader(path: Path) -> Callable[[Path], Any]:
    for suffix, reader in READERS.items():
        if path.name.lower().endswith(suffix):
            return reader
    found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
    raise FileError(f"The file {str(path)!r} has {found}. bregopt reads {', '.join(READERS)}: save it as one of these.")


def _check_path(path: Path) -> None:
    """Refuse a path at which no file can be read."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(
            f"The file {str(path)!r} does not exist. Check the path, or give no file for a built-in matrix."
        ) from None
    except PermissionError:
        raise _forbidden(path) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"There can be no file {str(path)!r}: {why}. Check the path.") from None
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{str(path)!r} is not a file. Give the path of a matrix.")
    if not found.st_size:
        raise FileError(f"The file {str(path)!r} is empty. Write it anew.")


def _forbidden(path: Path) -> FileError:
    return FileError(f"The file {str(path)!r} may not be read. Check its permissions, and those of its folders.")


def _real(matrix: Any, path: Path) -> Any:
    from scipy.sparse import csr_array, issparse

    check_matrix(matrix.dtype, matrix.shape, path)
    if not issparse(matrix):
        return matrix
    _check_places(matrix)
    most = room(path) // ROW_BYTES
    for size, lines in zip(matrix.shape, ("rows", "columns"), strict=True):
        if size > most:
            raise DataError(
                f"The matrix in {str(path)!r} has {size} {lines} for {matrix.nnz} entries, and an index of them alone "
                f"would take {size * ROW_BYTES / 1e9:.1f} GB. At most {most} {lines} are read from a file of this "
                f"size: leave empty {lines} out."
            )
    rows = csr_array(matrix)
    rows.sum_duplicates()
    return rows


def _check_places(matrix: Any) -> None:
    """Raise ValueError where an index points outside of the matrix: compiled code would follow it."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
        if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):  # a difference may overflow in the check of scipy
            raise ValueError("its row pointer falls")
