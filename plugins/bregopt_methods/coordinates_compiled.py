"""The sweeps over coordinates for an h of four numbers, compiled: a line at a time, with its gradient in cache."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bregopt import Array, ScalarPenalty
from bregopt.compiled import jit
from bregopt_methods.turn import Step


def compiled(G: Array, c: Array, h: ScalarPenalty, sweeps: int) -> Step:
    """The step on some lines; it runs without the GIL."""
    loop, G, numbers = _loop(), np.ascontiguousarray(G), (h.l1, h.ridge, h.low, h.high)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        new, xi = np.array(X, order="C"), np.empty(X.shape)
        loop(new, np.ascontiguousarray(gradient), G, c, *map(float, numbers), sweeps, xi)
        return new, xi

    return step


@cache
def _loop() -> Callable[..., Any]:
    return jit(_lines, fastmath={"contract", "nsz"})


def _lines(
    X: Any, gradient: Any, G: Any, c: Any, l1: float, ridge: float, low: float, high: float, sweeps: int, xi: Any
) -> None:
    r = G.shape[0]
    scale = 1.0 / (c + ridge)
    g = np.empty(r)
    for i in range(X.shape[0]):
        x = X[i]
        for p in range(r):
            g[p] = gradient[i, p]
        for _ in range(sweeps):
            for p in range(r):
                t = c[p] * x[p] - g[p]
                new = (max(t - l1, 0.0) + min(t + l1, 0.0)) * scale[p]
                new = min(max(new, low), high)
                xi[i, p] = t - c[p] * new
                move = new - x[p]
                x[p] = new
                if move != 0.0:
                    for q in range(r):
                        g[q] += move * G[p, q]
