"""Gauss–Seidel sweeps over the coordinates of a block: each is set to its minimiser, on all lines at once."""

from collections.abc import Callable

import numpy as np

from bregopt import Array, Trait
from bregopt.compiled import wanted
from bregopt_methods.coordinates_compiled import compiled
from bregopt_methods.turn import Model, Step

FLOOR, LEAST = 1e-14, 1e-150
"""Curvatures are at least that share of their sum, and at least that: a coordinate that F does not see has a step."""
WITHIN = 1.1
"""How far the curvature stays above the one at which the proximal map of H ends."""
LARGE = 2**19
"""Lines times r² from which on compiled sweeps pay for their import."""
Shrink = Callable[[int, Array], Array]
"""``(p, z) -> argmin_x  h(x) + (c_p/2)(x − z)²``, on all lines."""


def coordinates(model: Model, sweeps: int) -> Step:
    """``x_p ← prox_{h/c_p}(x_p − ∇_p/c_p)`` for p = 1 … r, as often as ``sweeps`` says, with ``c_p = G_pp``.

    That is the minimiser in x_p. Where G_pp is so small that there may be none, c_p is larger: the model falls still.
    """
    G, c, h = model.G, curvatures(model), model.H.scalar()
    if h is not None and wanted() and model.lines * len(c) ** 2 >= LARGE:
        return compiled(G, c, h, sweeps)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        shrink = _by_block(model, c, len(X)) if h is None else lambda p, z: h.prox(z, 1.0 / c[p])
        new, xi = _sweep(np.array(X.T, order="C"), np.ascontiguousarray(gradient.T), G, c, sweeps, shrink)
        return new.T, xi.T

    return step


def curvatures(model: Model) -> Array:
    """c_p: G_pp, or more where that is next to nothing or below what the proximal map of H needs."""
    diagonal = np.diag(model.G)
    return np.maximum(diagonal, max(FLOOR * float(diagonal.sum()), LEAST, WITHIN / model.H.step_limit))


def _sweep(X: Array, gradient: Array, G: Array, c: Array, sweeps: int, shrink: Shrink) -> tuple[Array, Array]:
    """X and ξ with a coordinate in each row; X is worked on in place."""
    E, xi = np.zeros_like(X), np.empty_like(X)
    for _ in range(sweeps):
        for p in range(len(c)):
            z = X[p] - (gradient[p] + G[p] @ E) / c[p]
            new = shrink(p, z)
            E[p] += new - X[p]
            X[p] = new
            xi[p] = c[p] * (z - new)
    return X, xi


def _by_block(model: Model, c: Array, lines: int) -> Shrink:
    """By the proximal map of H, on a block that is zero but for this coordinate: h may differ from place to place."""
    H, alone = model.H, model.columns and Trait.ROW_WISE in model.H.traits
    room = np.zeros((1 if alone else len(c), lines) if model.columns else (lines, len(c)))

    def shrink(p: int, z: Array) -> Array:
        place = (0 if alone else p) if model.columns else (slice(None), p)
        room[place] = z
        new: Array = H.prox(room, 1.0 / c[p])[place]
        room[place] = 0.0
        return new

    return shrink
