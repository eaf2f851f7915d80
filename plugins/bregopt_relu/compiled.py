"""The elementwise sweep over a tile, compiled: the residual in place, and the sums that the history needs."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

Sums = tuple[float, float, float]
SWITCH = "BREGOPT_COMPILE"
"""Set to 0 to run on NumPy alone."""


def wanted() -> bool:
    return os.environ.get(SWITCH, "1") != "0"


@cache
def sweeps() -> tuple[Callable[..., Sums], Callable[..., Sums]]:
    """``(dense, sparse)``: each turns a tile of X = UV into S = X − W and returns ‖S‖², ‖M − max(0, X)‖², ‖W₋‖².

    W₋ is W off the support of M. Compiled at the first use and kept on disk; they run without the GIL.
    """
    from numba import njit

    compiled: Any = njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
    return compiled(_dense), compiled(_sparse)


def _dense(X: Any, M: Any) -> Any:
    residual = error = below = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x, m = X[i, j], M[i, j]
            above = max(x, 0.0)
            s = x - m if m > 0.0 else above
            clipped = max(s, -m)
            w = 0.0 if m > 0.0 else x - above
            X[i, j] = s
            residual += s * s
            error += clipped * clipped
            below += w * w
    return residual, error, below


def _sparse(X: Any, starts: Any, columns: Any, values: Any, aside: Any) -> Any:
    residual = error = below = 0.0
    for i in range(X.shape[0]):
        first, last = starts[i], starts[i + 1]
        for k in range(first, last):  # the support is put aside: it leaves zeros, so the sweep needs no branch
            m = values[k]
            s = X[i, columns[k]] - m
            clipped = max(s, -m)
            residual += s * s
            error += clipped * clipped
            aside[k - first] = s
            X[i, columns[k]] = 0.0
        off = low = 0.0
        for j in range(X.shape[1]):
            x = X[i, j]
            above = max(x, 0.0)
            off += above * above
            low += (x - above) * (x - above)
            X[i, j] = above
        for k in range(first, last):
            X[i, columns[k]] = aside[k - first]
        residual += off
        error += off
        below += low
    return residual, error, below
