"""The quadratic models of some rows of a factor and their minimisers, by NumPy alone."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, ScalarPenalty, Trait
from bregopt_lowrank.losses.loss import Arrays, ColumnLosses
from bregopt_lowrank.matrices.local import LocalMatrix

SWEEPS = 10
"""Sweeps over the coordinates of a row model, at most; 2r more where steps over all of them stand between."""
ROUNDING = 1e-14
"""An entry that a sweep moves by no more than that part of itself is not counted as moved."""
TILE_ENTRIES = 2**18
"""Entries of a tile, or r² of each of its rows: 2 MiB of float64."""


@final
@frozen(eq=False)
class Gathered:
    """What the models of some rows u are made of: ``f(u) + ⟨g, d⟩ + ½⟨Bd, d⟩``."""

    value: Array
    """f"""
    error: Array
    G: Array
    """``g = Σ e'_j v_j`` of each row"""
    B: Array
    """``B = Σ e''_j v_j v_jᵀ`` of each row; whoever minimises may write into it"""
    active: int
    """how many entries have a slope or a curvature"""


@final
@frozen(eq=False)
class Minimised:
    """The minimisers z = u + d of row models with damping and h."""

    Z: Array
    fall: Array
    """how far f falls in each model, damping included"""
    residual: Array
    """``|(B + damping)d|²`` of each row"""
    drop: Array | None
    """how far h falls, where h is known"""


class RowModels(ABC):
    """f on the rows of a factor whose other factor is held."""

    @abstractmethod
    def height(self, rank: int) -> int:
        """How many rows are gathered at a time."""

    @abstractmethod
    def gather(self, rows: slice, U: Array) -> Gathered:
        """The models of these rows."""

    @abstractmethod
    def measure(self, rows: slice, U: Array) -> tuple[Array, Array]:
        """f and the error of each row."""


Minimise = Callable[[slice, Gathered, Array, Array], Minimised]
"""``(rows, gathered, U, damping) -> minimised``"""


@final
@frozen(eq=False)
class PlainModels(RowModels):
    """The models by NumPy."""

    loss: ColumnLosses
    M: LocalMatrix
    V: Array

    def height(self, rank: int) -> int:
        return max(1, TILE_ENTRIES // max(self.M.shape[1], rank**2))

    def gather(self, rows: slice, U: Array) -> Gathered:
        found = self._on(rows, U)
        B = np.empty((len(U), U.shape[1], U.shape[1]))
        for i, bent in enumerate(found.curvature):
            root = self.V[:, bent > 0] * np.sqrt(bent[bent > 0])
            B[i] = root @ root.T
        active = int(np.count_nonzero((found.slope != 0) | (found.curvature != 0)))
        return Gathered(found.value.sum(axis=1), found.error.sum(axis=1), found.slope @ self.V.T, B, active)

    def measure(self, rows: slice, U: Array) -> tuple[Array, Array]:
        found = self._on(rows, U)
        return found.value.sum(axis=1), found.error.sum(axis=1)

    def _on(self, rows: slice, U: Array) -> Arrays:
        dtype = self.M.dtype
        X, tile = U.astype(dtype) @ self.V.astype(dtype), self.M.read(rows)
        if not self.loss.of_rows:
            return self.loss.on(X, tile, slice(0, X.shape[1]))
        return self.loss.on(X, tile, rows)


def minimise(h: ScalarPenalty, rows: slice, it: Gathered, U: Array, damping: Array) -> Minimised:
    """The minimisers for a scalar penalty: by a linear system for a quadratic one, else by sweeps."""
    B = it.B + damping[:, None, None] * np.eye(U.shape[1])
    if h.quadratic:
        Z, slope = _solved(B, it.G, U, h.ridge)
    else:
        Z, slope = _swept(B, it.G, U, 0.0, lambda p, x, step: h.prox(x, step), partial(_on_the_face, h, B))
    return _told(it.G, slope, U, Z, (h.values(U) - h.values(Z)).sum(axis=1))


def minimise_by_prox(
    H: Regularizer, shape: tuple[int, int], by_columns: bool, rows: slice, it: Gathered, U: Array, damping: Array
) -> Minimised:
    """The minimisers for any separable H, by its prox, on the same coordinate of all rows at a time.

    ``shape`` is that of the factor, whose rows may be the columns of the block that H is for. With a ROW_WISE H one row
    of the block is enough; and of a block of rows no more than its own are.
    """
    B = it.B + damping[:, None, None] * np.eye(U.shape[1])
    alike = Trait.ROW_WISE in H.traits
    if by_columns:
        block = np.zeros((1 if alike else shape[1], shape[0]))
    else:
        block = np.zeros((len(U), shape[1]) if alike else shape)
    steps = np.ones(block.shape)

    def prox(p: int, x: Array, step: Array) -> Array:
        if by_columns:
            place: tuple[int | slice, int | slice] = (0 if alike else p, rows)
        else:
            place = (slice(None) if alike else rows, p)
        block[place], steps[place] = x, step
        z: Array = H.prox(block, steps)[place]  # type: ignore[arg-type]  # an array of steps: H is separable
        block[place], steps[place] = 0.0, 1.0
        return z

    Z, slope = _swept(B, it.G, U, 1.0 / (0.9 * H.step_limit), prox)
    return _told(it.G, slope, U, Z, None)


def _swept(
    B: Array,
    G: Array,
    U: Array,
    floor: float,
    prox: Callable[[int, Array, Array], Array],
    onward: Callable[[Array, Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Exact steps in one coordinate after the other, all rows at once; ``G + B(Z − U)`` follows them.

    Curvatures below the floor are taken for it: the step in a coordinate is then one in a model that lies above.
    After a sweep that moved something, ``onward(Z, slope)`` is how each row goes on.
    """
    Z, slope = U.copy(), G.copy()
    for _ in range(SWEEPS + (0 if onward is None else 2 * U.shape[1])):
        before = Z.copy()
        for p in range(U.shape[1]):
            b = np.maximum(B[:, p, p], floor)
            z = prox(p, Z[:, p] - slope[:, p] / b, 1.0 / b)
            slope += (z - Z[:, p])[:, None] * B[:, p]
            Z[:, p] = z
        moved: NDArray[np.bool_] = np.any(np.abs(Z - before) > ROUNDING * np.abs(Z), axis=1)
        if not moved.any():
            break
        if onward is not None:
            way = np.where(moved[:, None], onward(Z, slope), 0.0)
            Z, slope = Z + way, slope + (B @ way[:, :, None])[:, :, 0]
    return Z, slope


def _on_the_face(h: ScalarPenalty, B: Array, Z: Array, slope: Array) -> Array:
    """The way to the minimiser over the entries that are neither zero nor at a bound.

    It goes up to the first that gets there; h is smooth on it.
    """
    free = (h.low < Z) & (h.high > Z) & ((Z != 0) | (h.l1 == 0))
    both = free[:, :, None] & free[:, None, :]
    A = np.where(both, B, 0.0) + np.where(free, h.ridge, 1.0)[:, :, None] * np.eye(Z.shape[1])
    steep = np.where(free, slope + h.ridge * Z + h.l1 * np.sign(Z), 0.0)
    D = -np.linalg.solve(A, steep[:, :, None])[:, :, 0]
    end = Z + D
    near = np.clip(end, h.low, h.high)
    near = np.where((h.l1 > 0) & (Z * end < 0), 0.0, near)
    shares = np.divide(near - Z, D, out=np.ones_like(D), where=near != end)
    share = shares.min(axis=1, keepdims=True)
    return np.where((near != end) & (shares == share), near - Z, share * D)


def _solved(B: Array, G: Array, U: Array, ridge: float) -> tuple[Array, Array]:
    """Z with ``(B + ridge)(Z − U) = −(G + ridge·U)``, where ``G + B(Z − U) = −ridge·Z``."""
    Z = U - np.linalg.solve(B + ridge * np.eye(U.shape[1]), (G + ridge * U)[:, :, None])[:, :, 0]
    return Z, -ridge * Z


def _told(G: Array, slope: Array, U: Array, Z: Array, drop: Array | None) -> Minimised:
    return Minimised(Z, -0.5 * ((G + slope) * (Z - U)).sum(axis=1), np.square(slope - G).sum(axis=1), drop)
