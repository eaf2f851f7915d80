"""The matrix in a MATLAB file: by name, or the only one there is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bregopt.cli.mat_tags import check_tags
from bregopt.errors import FileError

NAMES = ("M", "X", "fea", "A")


def read_mat(path: Path) -> Any:
    """M, X, fea or A, ``Problem.A`` as SuiteSparse writes it, or else the only matrix of numbers."""
    from scipy.io import loadmat

    check_tags(path)
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
