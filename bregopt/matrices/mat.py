"""The matrix in a MATLAB file: by name, or the only one there is."""

from pathlib import Path
from typing import Any

from bregopt.errors import FileError
from bregopt.matrices import mat4, mat5
from bregopt.matrices.checks import listed

NAMES = ("M", "X", "fea", "A", mat5.SUITE_SPARSE)


def read_mat(path: Path) -> Any:
    """M, X, fea or A, ``Problem.A`` as SuiteSparse writes it, or else the only matrix of numbers."""
    with path.open("rb") as file:
        head = file.read(mat5.HEADER)
        if head.startswith(b"\x89HDF") or head[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
            raise FileError(
                f"The file {str(path)!r} is of MATLAB version 7.3, which bregopt does not read. Save it with '-v7'."
            )
        if head[124:128] in mat5.ORDERS:
            found = mat5.matrices(file, path)
        elif 0 in head[:4]:
            found = mat4.matrices(file, path)
        else:
            raise ValueError("it does not begin like a MATLAB file")
        chosen = next((name for name in NAMES if name in found), None) or _only(found, path)
        return found[chosen].read()


def _only(found: mat5.Matrices, path: Path) -> str:
    # labels and sizes, n×1 or 1×1, often stand beside the matrix
    large = [name for name, it in found.items() if min(it.shape) > 1] or list(found)
    if len(large) != 1:
        shapes = [f"{name} ({'×'.join(map(str, found[name].shape))})" for name in large]
        raise FileError(
            f"The file {str(path)!r} must hold one matrix of numbers, or one named {', '.join(NAMES)}. "
            f"Got {listed(shapes)} instead."
        )
    return large[0]
