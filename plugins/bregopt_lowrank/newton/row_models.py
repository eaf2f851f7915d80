"""The quadratic models of some rows of a factor and their minimisers, by NumPy alone."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Regularizer, ScalarPenalty
from bregopt_lowrank.losses.loss import Arrays, ColumnLosses, Tile

SWEEPS = 10
"""Sweeps over the coordinates of a row model."""
Coordinate = Callable[[slice, int, Array, Array], Array]
"""``(rows, p, x, step) -> argmin_z h(z) + (z − x)²/(2·step)`` for coordinate p of these rows."""


@final
@frozen(eq=False)
class Fit:
    """The minimisers of row models."""

    Z: Array
    fall: Array
    """how far f falls in each model"""
    residual: Array
    """``|(B + damping)(z − u)|²`` of each row"""
    active: int
    """how many entries of the tile are"""


class RowModels(ABC):
    """``⟨g, d⟩ + ½⟨(B + damping)d, d⟩ + h(u + d)`` for rows u: ``g = Σ e'_j v_j`` and ``B = Σ e''_j v_j v_jᵀ``.

    The sums are over the entries of a tile of X = UV that have a slope or a curvature: those that are active.
    """

    @abstractmethod
    def measure(self, rows: slice, X: Array, tile: Tile) -> tuple[Array, Array]:
        """f and the error of each row."""

    @abstractmethod
    def fit(self, rows: slice, X: Array, tile: Tile, U: Array, damping: Array) -> Fit:
        """The minimiser of each row's model: by a linear system for an h that is quadratic, else by sweeps."""


@final
@frozen(eq=False)
class PlainModels(RowModels):
    """What the compiled models do, and those of an h that four numbers do not spell."""

    loss: ColumnLosses
    V: Array
    step: Coordinate
    ridge: float | None
    """of an h that is ``(ridge/2)x²``"""
    floor: float = 0.0
    """curvatures below that are taken for it: the step in a coordinate is then one in a model that lies above"""

    def _on(self, rows: slice, X: Array, tile: Tile) -> Arrays:
        return self.loss.on(X, tile, rows if self.loss.of_rows else slice(0, X.shape[1]))

    def measure(self, rows: slice, X: Array, tile: Tile) -> tuple[Array, Array]:
        found = self._on(rows, X, tile)
        return found.value.sum(axis=1), found.error.sum(axis=1)

    def fit(self, rows: slice, X: Array, tile: Tile, U: Array, damping: Array) -> Fit:
        found = self._on(rows, X, tile)
        G = found.slope @ self.V.T
        B = damping[:, None, None] * np.eye(U.shape[1])
        for i, bent in enumerate(found.curvature):
            root = self.V[:, bent > 0] * np.sqrt(bent[bent > 0])
            B[i] += root @ root.T
        active = (found.slope != 0) | (found.curvature != 0)
        Z, slope = self._swept(rows, B, G, U) if self.ridge is None else _solved(B, G, U, self.ridge)
        fall, residual = -0.5 * ((G + slope) * (Z - U)).sum(axis=1), np.square(slope - G).sum(axis=1)
        return Fit(Z, fall, residual, int(np.count_nonzero(active)))

    def _swept(self, rows: slice, B: Array, G: Array, U: Array) -> tuple[Array, Array]:
        """Exact steps in one coordinate after the other, all rows at once; ``G + B(Z − U)`` follows them."""
        Z, slope = U.copy(), G.copy()
        for _ in range(SWEEPS):
            for p in range(U.shape[1]):
                b = np.maximum(B[:, p, p], self.floor)
                z = self.step(rows, p, Z[:, p] - slope[:, p] / b, 1.0 / b)
                slope += (z - Z[:, p])[:, None] * B[:, p]
                Z[:, p] = z
        return Z, slope


def _solved(B: Array, G: Array, U: Array, ridge: float) -> tuple[Array, Array]:
    """Z with ``(B + ridge)(Z − U) = −(G + ridge·U)``, where ``G + B(Z − U) = −ridge·Z``."""
    Z = U - np.linalg.solve(B + ridge * np.eye(U.shape[1]), (G + ridge * U)[:, :, None])[:, :, 0]
    return Z, -ridge * Z


def spelt(loss: ColumnLosses, V: Array, h: ScalarPenalty) -> PlainModels:
    """The models for a scalar penalty."""
    return PlainModels(loss, V, lambda rows, p, x, step: h.prox(x, step), h.ridge if h.quadratic else None)


def embedded(loss: ColumnLosses, V: Array, H: Regularizer, U: Array, *, by_columns: bool) -> PlainModels:
    """The models for any separable H, by its prox on the whole block, of which one coordinate is wanted.

    The rows of U may be the columns of the block.
    """

    def step(rows: slice, p: int, x: Array, width: Array) -> Array:
        X, steps = U.copy(), np.full(U.shape, width.min())
        X[rows, p], steps[rows, p] = x, width
        if by_columns:
            return H.prox(X.T, steps.T).T[rows, p]  # type: ignore[arg-type]  # an array of steps: H is separable
        return H.prox(X, steps)[rows, p]  # type: ignore[arg-type]  # as above

    return PlainModels(loss, V, step, ridge=None, floor=1.0 / (0.9 * H.step_limit))
