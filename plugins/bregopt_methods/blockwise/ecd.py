"""Extrapolated coordinate descent."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ResolvedProblem, ScalarPenalty, Trait, validate
from bregopt.compiled import jit, wanted
from bregopt.errors import IncompatibleError
from bregopt_methods.blockwise.block_update import BlockModel, Solver, Step
from bregopt_methods.blockwise.extrapolated import ExtrapolatedBlocks

FLOOR, LEAST = 1e-14, 1e-150
"""Curvatures are at least that share of their sum, and at least that: a coordinate that F does not see has a step."""
WITHIN = 1.1
"""How far the curvature stays above the one at which the proximal map of H ends."""
LARGE = 2**19
"""Lines times r² from which on compiled sweeps pay for their import."""
Shrink = Callable[[int, Array], Array]
"""``(p, z) -> argmin_x  h(x) + (c_p/2)(x − z)²``, on all lines."""


@final
@frozen
class ECD(ExtrapolatedBlocks):
    """Extrapolated coordinate descent, for a separable H: W at Nesterov's point, then coordinates one by one.

    With y = Y^k + β_k(Y^k − Y^{k−1}), β_k = (θ_{k−1} − 1)/θ_k, and W = W(y) an iteration makes ``sweeps`` times::

        for p = 1 … r:   U_ip ← argmin over this entry of F((U, V_y), W) + H(U),   for all rows i at once

    and then the same for V with U^{k+1}. The objective of a state is the bound F(Y^k, W) + H(Y^k) of Φ(Y^k), its
    metrics are those at y: both cost nothing. Where the bound would rise, θ starts anew and the step is made from Y^k.
    Three products an iteration, six where the step is made twice; four and eight where H on U is not row-wise.
    With ``balance`` each iteration ends with the multiples of columns of U and rows of V, of the same product UV, that
    have the least H; for Tikhonov's H these are the factors that have it.
    """

    sweeps: int = field(default=2, validator=validate.whole(at_least=1))
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        for H in problem.regularizer.distinct():
            if Trait.SEPARABLE not in H.traits:
                raise IncompatibleError(
                    f"The method ecd sets the entries of a block one by one: it can take a separable H, such as none, "
                    f"l1, nonneg, ridge or mcp. Got {H!r} instead; aapb takes every H with a Bregman proximal map."
                )

    @property
    def name(self) -> str:
        return "ecd"

    @property
    def solver(self) -> Solver:
        return partial(coordinates, sweeps=self.sweeps)

    def row_wise(self, problem: ResolvedProblem, name: str) -> bool:
        return Trait.ROW_WISE in problem.regularizer[name].traits


def coordinates(model: BlockModel, sweeps: int) -> Step:
    """``x_p ← prox_{h/c_p}(x_p − ∇_p/c_p)`` for p = 1 … r, as often as ``sweeps`` says, with ``c_p = G_pp``.

    That is the minimiser in x_p. Where G_pp is so small that there may be none, c_p is larger: the model falls still.
    """
    G, c, h = model.G, curvatures(model), model.H.scalar()
    steps = (1.0 / c).tolist()
    if h is not None and wanted() and model.lines * len(c) ** 2 >= LARGE:
        return _compiled(G, c, h, sweeps)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        shrink = _by_block(model, c, len(X)) if h is None else lambda p, z: h.prox(z, steps[p])
        new, xi = sweep(np.array(X.T, order="C"), np.ascontiguousarray(gradient.T), G, c, sweeps, shrink)
        return new.T, xi.T

    return step


def curvatures(model: BlockModel) -> Array:
    """c_p: G_pp, or more where that is next to nothing or below what the proximal map of H needs."""
    diagonal = np.diag(model.G)
    return np.maximum(diagonal, max(FLOOR * float(diagonal.sum()), LEAST, WITHIN / model.H.step_limit))


def sweep(X: Array, gradient: Array, G: Array, c: Array, sweeps: int, shrink: Shrink) -> tuple[Array, Array]:
    """X and ξ with a coordinate in each row; X is worked on in place.

    With b = GX − ∇F at the first X, the gradient at the present one is ``GX − b``.
    """
    b, steps, xi = G @ X - gradient, (1.0 / c).tolist(), np.empty_like(X)
    for last in range(sweeps - 1, -1, -1):
        for p, step in enumerate(steps):
            z = G[p] @ X
            np.subtract(b[p], z, out=z)
            z *= step
            z += X[p]
            X[p] = shrink(p, z)
            if not last:
                z -= X[p]
                np.multiply(z, c[p], out=xi[p])
    return X, xi


def _by_block(model: BlockModel, c: Array, lines: int) -> Shrink:
    """By the proximal map of H, on a block that is zero but for this coordinate: h may differ from place to place."""
    H, alone = model.H, model.columns and Trait.ROW_WISE in model.H.traits
    scratch = np.zeros((1 if alone else len(c), lines) if model.columns else (lines, len(c)))

    def shrink(p: int, z: Array) -> Array:
        place = (0 if alone else p) if model.columns else (slice(None), p)
        scratch[place] = z
        new: Array = H.prox(scratch, 1.0 / c[p])[place]
        scratch[place] = 0.0
        return new

    return shrink


def _compiled(G: Array, c: Array, h: ScalarPenalty, sweeps: int) -> Step:
    """The step on some lines; it runs without the GIL."""
    loop, G, numbers = _loop(), np.ascontiguousarray(G), (h.l1, h.ridge, h.low, h.high)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        new, xi = np.array(X, order="C"), np.empty(X.shape)
        loop(new, np.ascontiguousarray(gradient), G, c, *map(float, numbers), sweeps, xi)
        return new, xi

    return step


def warm_up_ecd() -> None:
    """Meet the compiled sweep."""
    X = np.ones((1, 1))
    _compiled(X, X[0], ScalarPenalty(), 1)(X, X)


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
