"""From a tile of X = UV to its residual S = X − W, with the sums that the history needs."""

from collections.abc import Callable

import numpy as np

from bregopt import Array
from bregopt_relu.compiled import Sums, sweeps, wanted
from bregopt_relu.data import Data

SMALL = 2**16
"""Entries from which on the compiled sweep pays for its import."""
Sweep = Callable[[slice, Array], Sums]
"""``(rows, X) -> (‖S‖², ‖M − max(0, X)‖², ‖min(0, X) off the support‖²)``; X becomes S."""


def sweep_for(M: Data) -> Sweep:
    """The sweep for this M: compiled, or by NumPy where that is switched off or M is too small to be worth it."""
    if not wanted() or M.shape[0] * M.shape[1] < SMALL:
        return (lambda rows, X: _dense(M, rows, X)) if M.dense is not None else (lambda rows, X: _sparse(M, rows, X))
    dense, sparse = sweeps()
    if M.dense is not None:
        held = M.dense
        return lambda rows, X: dense(X, held[rows])
    aside = np.empty(int(np.diff(M.starts).max(initial=0)))
    return lambda rows, X: sparse(X, M.starts[rows.start : rows.stop + 1], M.columns, M.values, aside)


def _dense(M: Data, rows: slice, X: Array) -> Sums:
    tile = M.array()[rows]
    X -= tile
    S = np.maximum(X, 0.0)
    np.copyto(S, X, where=tile > 0)
    X -= S
    below = float(np.vdot(X, X))
    np.copyto(X, S)
    np.maximum(S, -tile, out=S)
    return float(np.vdot(X, X)), float(np.vdot(S, S)), below


def _sparse(M: Data, rows: slice, X: Array) -> Sums:
    places, values = M.support(rows)
    line = X.reshape(-1)
    x = line[places]
    line[places] = 0.0
    S = np.maximum(X, 0.0)
    X -= S
    above, below = float(np.vdot(S, S)), float(np.vdot(X, X))
    np.copyto(X, S)
    x -= values
    line[places] = x
    clipped = np.maximum(x, -values)
    return above + float(x @ x), above + float(clipped @ clipped), below
