"""What the pass is held against: the three products it cannot do without, and the obvious NumPy code."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bregopt.cli.timing import Task

if TYPE_CHECKING:
    from bregopt.blocks import Blocks

LARGE = 2**30
"""Bytes of a float64 m×n matrix above which X goes by blocks of rows, and the obvious code is left out."""
BLOCK = 2**24
"""Entries of such a block."""


def rivals(M: Any, Y: "Blocks", dtype: str) -> dict[str, Task]:
    """Both at Y; the obvious code first, so that it wakes up the threads of BLAS, and on a dense M."""
    import numpy as np

    U, V = (Y[name].astype(dtype) for name in ("U", "V"))
    m, n = M.shape
    if 8 * m * n > LARGE:
        blocks = bare(U, V, max(1, BLOCK // n))
        return {"bare": lambda: blocks}
    products = bare(U, V, m)
    code = obvious(np.asarray(M if isinstance(M, np.ndarray) else M.toarray(), dtype), U, V)
    return {"obvious": lambda: code, "bare": lambda: products}


def bare(U: Any, V: Any, height: int) -> Callable[[], Any]:
    """``X = UV``, ``XVᵀ`` and ``UᵀX`` into arrays made beforehand, by blocks of so many rows."""
    import numpy as np

    m, (r, n) = U.shape[0], V.shape
    X, left, right = (np.empty(shape, U.dtype) for shape in ((min(height, m), n), (m, r), (r, n)))
    part = right if height >= m else np.empty_like(right)

    def products() -> Any:
        if part is not right:
            right[...] = 0
        for start in range(0, m, height):
            rows = slice(start, min(start + height, m))
            tile = np.matmul(U[rows], V, out=X[: rows.stop - start])
            np.matmul(tile, V.T, out=left[rows])
            np.matmul(U[rows].T, tile, out=part)
            if part is not right:
                np.add(right, part, out=right)
        return left, right

    return products


def obvious(M: Any, U: Any, V: Any) -> Callable[[], Any]:
    """Value, both gradients and relative error, as one would write them down for a dense M."""
    import numpy as np

    def code() -> Any:
        X = U @ V
        W = np.where(M > 0, M, np.minimum(0, X))
        value = 0.5 * np.linalg.norm(W - X) ** 2
        error = np.linalg.norm(M - np.maximum(0, X)) / np.linalg.norm(M)
        return value, (X - W) @ V.T, U.T @ (X - W), error

    return code
