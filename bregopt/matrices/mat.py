"""The matrix in a MATLAB file: by name, or the only one there is."""

import struct
from collections.abc import Callable, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from bregopt.errors import FileError

NAMES = ("M", "X", "fea", "A")
HEADER = 128
MATRIX, COMPRESSED = 14, 15
KINDS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, MATRIX, COMPRESSED, 16, 17, 18}
"""The tags that a file of version 5 is made of."""


def read_mat(path: Path) -> Any:
    """M, X, fea or A, ``Problem.A`` as SuiteSparse writes it, or else the only matrix of numbers."""
    from scipy.io import loadmat

    _check_tags(path)
    try:
        variables = {name: X for name, X in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:
        raise FileError(
            f"The file {str(path)!r} is of MATLAB version 7.3, which bregopt does not read. Save it with '-v7'."
        ) from None
    matrices = {name: X for name, X in variables.items() if _numeric(X)}
    for name in NAMES:
        if name in matrices:
            return matrices[name]
    inside = _suite_sparse(variables)
    if inside is not None:
        return inside
    # labels and sizes, n×1 or 1×1, often stand beside the matrix
    large = {name: X for name, X in matrices.items() if min(X.shape) > 1} or matrices
    if len(large) != 1:
        found = ", ".join(f"{name} ({'×'.join(map(str, X.shape))})" for name, X in large.items()) or "none"
        raise FileError(
            f"The file {str(path)!r} must hold one matrix of numbers, or one named {', '.join(NAMES)}. "
            f"Got {found} instead."
        )
    return next(iter(large.values()))


def _numeric(X: Any) -> bool:
    return getattr(X, "ndim", 0) == 2 and X.dtype.kind in "biufc"


def _suite_sparse(variables: Mapping[str, Any]) -> Any:
    """``Problem.A``, or ``None``."""
    problem = variables.get("Problem")
    if problem is None or "A" not in (problem.dtype.names or ()):
        return None
    A = problem["A"].flat[0]
    return A if _numeric(A) else None


def _check_tags(path: Path) -> None:
    """Raise ValueError unless every tag of a version 5 file is known and its data lie within the file.

    scipy's reader crashes where a tag is damaged.
    """
    if path.stat().st_size < HEADER:
        return
    with path.open("rb") as handle, mmap(handle.fileno(), 0, access=ACCESS_READ) as data:
        order = {b"IM": "<", b"MI": ">"}.get(data[126:HEADER])
        if order is not None:
            _walk(data, HEADER, len(data), struct.Struct(f"{order}II").unpack_from)


def _walk(data: mmap, at: int, end: int, unpack: Callable[[Any, int], tuple[int, ...]]) -> None:
    while at < end:
        if at + 8 > end:
            raise ValueError(f"it is cut off at byte {end}")
        kind, size = unpack(data, at)
        body = at + 8
        if kind >> 16:  # the short form: size and kind in one number, four bytes of data
            kind, size, body = kind & 0xFFFF, kind >> 16, at + 4
        if kind not in KINDS or body + size > end:
            raise ValueError(f"the tag at byte {at} makes no sense")
        if kind == MATRIX:
            _walk(data, body, body + size, unpack)
        at = body + size
        if kind != COMPRESSED:
            at += -at % 8
