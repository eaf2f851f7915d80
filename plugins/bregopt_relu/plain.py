"""The loops over a tile by NumPy alone: what the compiled ones do, for where those are switched off."""

from typing import Any

import numpy as np

from bregopt import Array
from bregopt_relu.compiled import Loops

Sums = tuple[float, float, float, int]


def square(X: Array) -> float:
    """‖X‖², summed in float64."""
    return float(np.vdot(X, X)) if X.dtype == np.float64 else float(np.square(X).sum(dtype=np.float64))


def _dense(X: Array, M: Array, i0: int, j0: int) -> Sums:
    tile = M[i0 : i0 + X.shape[0], j0 : j0 + X.shape[1]]
    X -= tile
    S = np.maximum(X, 0)
    np.copyto(S, X, where=tile > 0)
    X -= S
    below = square(X)
    np.copyto(X, S)
    np.maximum(S, -tile, out=S)
    return square(X), square(S), below, X.size


def _sparse(X: Array, j0: int, first: Any, last: Any, columns: Any, values: Array, aside: Array) -> Sums:
    lengths = last - first
    lines = np.repeat(np.arange(first.size), lengths)
    places = np.arange(lines.size) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    inside = columns[places] < j0 + X.shape[1]
    lines, places = lines[inside], places[inside]
    first += np.bincount(lines, minlength=first.size)
    given, spots = values[places], (lines, columns[places] - j0)
    x = X[spots]
    X[spots] = 0
    S = np.maximum(X, 0)
    X -= S
    above, below = square(S), square(X)
    np.copyto(X, S)
    x -= given
    X[spots] = x
    return above + square(x), above + square(np.maximum(x, -given)), below, X.size


PLAIN = Loops(_dense, _sparse)
