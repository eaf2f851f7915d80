"""A matrix from a file or folder, by its suffix; what is sparse stays sparse, and nothing is ever unpickled."""

import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from bregopt.errors import BregoptError, DataError, FileError
from bregopt.matrices.arrays import announced_shape, read_array
from bregopt.matrices.checks import check_matrix, room
from bregopt.matrices.folders.pictures import pictures_in, read_pictures
from bregopt.matrices.folders.tenx import matrix_in, read_tenx_folder
from bregopt.matrices.labelled import LabelledMatrix
from bregopt.matrices.mat import read_mat
from bregopt.matrices.mtx import read_mtx
from bregopt.matrices.npy import read_npy
from bregopt.matrices.npz import read_npz
from bregopt.matrices.stores.arrays import read_h5, read_zarr
from bregopt.matrices.tables.frames import read_parquet
from bregopt.matrices.tables.text import read_text

ROW_BYTES = 8
"""What a row takes in the index of a sparse matrix."""
PLAIN: Mapping[str, Callable[[Path], Any]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".mat": read_mat,
    ".parquet": read_parquet,
}
TEXTS = dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), read_text)
STORES = {".h5ad": read_h5, ".h5": read_h5, ".hdf5": read_h5, ".zarr": read_zarr}
"""Files with several arrays, of which one is named as in ``cells.h5ad:layers/counts``."""
SUFFIXES = (*PLAIN, *TEXTS, *STORES)
ADDRESS = re.compile(r"(?:https?|ftp|s3|gs):/")
PART = re.compile(rf"(.*(?:{'|'.join(map(re.escape, STORES))})):([^:]+)", re.IGNORECASE)


def read(
    path: str | Path, *, header: bool | None = None, index: bool | None = None, any_shape: bool = False
) -> LabelledMatrix:
    """The real matrix in a file or folder, with the labels of its rows and columns.

    Parameters
    ----------
    path : str or Path
        A file that ends in .npy, .npz, .mtx, .mtx.gz, .mat, .parquet, .csv, .tsv, .txt (these three also with .gz),
        .h5ad, .h5, .hdf5 or .zarr. ``"cells.h5ad:layers/counts"`` names an array within one of the last four. Or a
        folder: of pictures, or as 10x writes it.
    header, index : bool, optional
        Whether the first line of a text file names the columns, and its first column the rows. By default it is found
        out, and ``labels.taken`` says what was found.
    any_shape : bool
        Whether an array with other than two dimensions is taken too.

    Returns
    -------
    LabelledMatrix
        Its ``matrix`` is a numpy array, a scipy CSR array where the file is sparse, or for large files an array that is
        read by rows as a run goes on.
    """
    file, part = split_part(path)
    reader = _reader(file, part, header, index)
    folder = reader is None or file.suffix.lower() == ".zarr"
    _check_path(file, folder)
    try:
        if any_shape and (shape := announced_shape(file)) is not None and len(shape) != 2:
            return LabelledMatrix(read_array(file))
        found = _folder(file) if reader is None else reader()
        labelled = found if isinstance(found, LabelledMatrix) else LabelledMatrix(found)
        return evolve(labelled, matrix=_real(labelled.matrix, file, any_shape))
    except BregoptError:
        raise
    except PermissionError:
        raise _forbidden(file) from None
    except MemoryError as error:
        raise FileError(f"The file {str(file)!r} is too large for this machine, or damaged: {error}.") from error
    except Exception as error:  # a damaged file makes the readers of numpy and scipy raise anything
        what = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
        raise FileError(f"The file {str(file)!r} is damaged or not of its type: {what}. Write it anew.") from error


def read_matrix(path: str | Path) -> Any:
    """The real matrix in a file or folder, without its labels: ``read(path).matrix``."""
    return read(path).matrix


def is_path(value: object) -> bool:
    """Whether a value is the path of data, by its type or by how it ends."""
    if isinstance(value, Path):
        return True
    return isinstance(value, str) and str(split_part(value)[0]).lower().endswith(SUFFIXES)


def split_part(path: str | Path) -> tuple[Path, str | None]:
    """A path, and the name of an array within it."""
    found = PART.fullmatch(str(path))
    return (Path(found[1]).expanduser(), found[2]) if found else (Path(path).expanduser(), None)


def _reader(path: Path, part: str | None, header: bool | None, index: bool | None) -> Callable[[], Any] | None:
    """What reads the file; ``None`` for a folder, which is looked at later."""
    name = path.name.lower()
    if header is not None or index is not None:
        if not name.endswith(tuple(TEXTS)):
            raise DataError(f"Only text files have a header or an index to be told. {str(path)!r} has labels or none.")
        return lambda: read_text(path, header, index)
    for suffix, reader in STORES.items():
        if name.endswith(suffix):
            return lambda: reader(path, part)
    for suffix, plain in {**PLAIN, **TEXTS}.items():
        if name.endswith(suffix):
            return lambda: plain(path)
    if path.is_dir():
        return None
    found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
    raise FileError(
        f"The file {str(path)!r} has {found}. bregopt reads {', '.join(SUFFIXES)}: save it as one of these."
    )


def _folder(path: Path) -> LabelledMatrix:
    if matrix := matrix_in(path):
        return read_tenx_folder(path, matrix)
    if pictures := pictures_in(path):
        return read_pictures(path, pictures)
    raise FileError(
        f"The folder {str(path)!r} holds neither pictures nor a matrix.mtx with barcodes and features. Give the path "
        "of a file."
    )


def _check_path(path: Path, folder: bool) -> None:
    """Refuse a path at which no file can be read."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if ADDRESS.match(str(path)):
            raise FileError(f"{str(path)!r} is no file: bregopt downloads nothing. Save it first.") from None
        raise FileError(
            f"The file {str(path)!r} does not exist. Check the path, or give no file for a built-in matrix."
        ) from None
    except PermissionError:
        raise _forbidden(path) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"There can be no file {str(path)!r}: {why}. Check the path.") from None
    if folder and stat.S_ISDIR(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{str(path)!r} is not a file. Give the path of a matrix.")
    if not found.st_size:
        raise FileError(f"The file {str(path)!r} is empty. Write it anew.")


def _forbidden(path: Path) -> FileError:
    return FileError(f"The file {str(path)!r} may not be read. Check its permissions, and those of its folders.")


def _real(matrix: Any, path: Path, any_shape: bool) -> Any:
    from scipy.sparse import csr_array, issparse

    check_matrix(matrix.dtype, (0, 0) if any_shape else matrix.shape, path)
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
