"""One damped Newton step for every row of a factor, each accepted or taken back on its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, ScalarPenalty
from bregopt.compiled import wanted
from bregopt_lowrank.losses.loss import ColumnLosses
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.newton.row_models import RowModels, embedded, spelt
from bregopt_lowrank.passes.run import ALONE, SMALL
from bregopt_lowrank.passes.threads import one_blas_thread, split, spread

if TYPE_CHECKING:
    from bregopt_lowrank.newton.compiled_models import EntryModels

LEAST, MOST = 1e-9, 4.0
"""The range of δ: a row is damped by δ·c·tr(VVᵀ)/r, where c bounds the curvature of the loss."""
POOR, WIDER = 0.25, 4.0
"""Below that share of the promised decrease δ grows by that factor."""
GOOD, CLOSER = 0.75, 0.3
"""Above that share it shrinks."""
TINY = 1e-200
"""tr(VVᵀ)/r is taken for at least that, so that no row model is singular."""
TILE_ENTRIES = 2**18
"""Entries of a tile, or r² of each of its rows: 2 MiB of float64."""
WHOLE_ENTRIES = 2**22
"""Entries of a tile where each step in a coordinate takes the prox of the whole block."""


@final
@frozen(eq=False)
class RowSteps:
    """The rows after their steps, δ for the next, and what is then true of f."""

    U: Array
    delta: Array
    value: float
    """f"""
    error: float
    """‖M − M̂‖², where M̂ is what UV predicts for M"""
    residual: float
    """``Σ |(B_i + damping_i) d_i|²`` over the steps d_i that were tried"""
    products: float


def row_newton(
    loss: ColumnLosses,
    M: LocalMatrix,
    U: Array,
    V: Array,
    delta: Array,
    H: Regularizer,
    *,
    curvature: float = 1.0,
    by_columns: bool = False,
) -> RowSteps:
    """A step for every row of U; with ``by_columns`` these are the columns of the block that H is for.

    A row whose f + h does not fall is taken back, or, with an H that is known by its prox only, whose f lies above its
    model: f + h then falls by at least what the model promised.
    """
    (m, n), r = M.shape, U.shape[1]
    h, U, V = H.scalar(), np.array(U, order="C"), np.ascontiguousarray(V)
    job = _Job(M, h, U, V, curvature, delta, np.empty_like(U), np.empty_like(delta))
    workers, share = 1 if m * n < ALONE else min(M.threads, m), 1.0
    if h is not None and wanted() and M.by_entries(loss):
        from bregopt_lowrank.newton.compiled_models import EntryModels

        entries, share = EntryModels(loss, M, np.array(V.T, order="C"), h), M.share(loss, r)

        def over(span: slice) -> Array:
            return job.over_entries(entries, span)
    else:
        models = embedded(loss, V, H, U, by_columns=by_columns) if h is None else _spelt(loss, V, h, M)
        height = max(1, (WHOLE_ENTRIES if h is None else TILE_ENTRIES) // max(n, r * r))

        def over(span: slice) -> Array:
            """By tiles of so many rows, all with one loss where the losses are those of the rows."""
            parts = [run for run, _ in loss.runs(span)] if loss.of_rows else [span]
            tiles = [tile for part in parts for tile in split(part, -(-(part.stop - part.start) // height))]
            return job.over(models, tiles)

    with one_blas_thread():
        sums = spread(over, split(slice(0, m), workers))
    value, error, residual, active = np.sum(sums, axis=0).tolist()
    # X before and after, and for each active entry r + r(r + 1)/2 of the m·n·r multiplications of a product
    products = 2.0 * share + active / (m * n) * (1.0 + 0.5 * (r + 1))
    return RowSteps(job.Z, job.next_delta, value, error, residual, products)


def _spelt(loss: ColumnLosses, V: Array, h: ScalarPenalty, M: LocalMatrix) -> RowModels:
    if not wanted() or (M.shape[0] * M.shape[1] < SMALL and loss.has_arrays):
        return spelt(loss, V, h)
    from bregopt_lowrank.newton.compiled_models import CompiledModels

    return CompiledModels(loss, M, np.array(V.T, order="C"), h)


@final
@frozen(eq=False)
class _Job:
    """The steps of all rows; each thread writes those of its own."""

    M: LocalMatrix
    h: ScalarPenalty | None
    U: Array
    V: Array
    curvature: float
    delta: Array
    Z: Array
    next_delta: Array

    @property
    def _unit(self) -> float:
        return max(self.curvature * float(np.vdot(self.V, self.V)) / len(self.V), TINY)

    def over(self, models: RowModels, tiles: Sequence[slice]) -> Array:
        """The steps of some tiles; Σf, the error, the residual and the active entries."""
        V, sums = self.V.astype(self.M.dtype), np.zeros(4)
        for rows in tiles:
            U, tile = self.U[rows], self.M.read(rows)
            X = U.astype(V.dtype) @ V
            before = models.measure(rows, X, tile)
            fit = models.fit(rows, X, tile, U, self._unit * self.delta[rows])
            np.matmul(fit.Z.astype(V.dtype), V, out=X)
            values, errors = self._judged(rows, fit.Z, fit.fall, before, models.measure(rows, X, tile))
            sums += values.sum(), errors.sum(), fit.residual.sum(), fit.active
        return sums

    def over_entries(self, models: "EntryModels", span: slice) -> Array:
        """The same on stored entries alone."""
        Z, figures, active = models.steps(span, self.U[span], self._unit * self.delta[span])
        value, error, new_value, new_error, fall, residual = figures.T
        values, errors = self._judged(span, Z, fall, (value, error), (new_value, new_error))
        return np.array([values.sum(), errors.sum(), residual.sum(), active])

    def _judged(
        self, rows: slice, Z: Array, fall: Array, before: tuple[Array, Array], after: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Keep the steps that do well, and return f and the error of each row then."""
        U, (value, error), (new_value, new_error) = self.U[rows], before, after
        drop = None if self.h is None else (self.h.values(U) - self.h.values(Z)).sum(axis=1)
        kept, self.next_delta[rows] = judge(value - new_value, fall, drop, self.delta[rows], len(self.V))
        self.Z[rows] = np.where(kept[:, None], Z, U)
        return np.where(kept, new_value, value), np.where(kept, new_error, error)


def judge(gain: Array, fall: Array, drop: Array | None, delta: Array, rank: int) -> tuple[NDArray[np.bool_], Array]:
    """Which rows keep their step, and δ for the next.

    ``gain`` is the decrease of f, ``fall`` that in the model, ``drop`` the decrease of h. Where h is not known, δ may
    grow to the rank: the damped model then lies above f everywhere.
    """
    if drop is None:
        kept = gain >= fall
        return kept, np.clip(delta * np.where(kept, CLOSER, WIDER), LEAST, max(MOST, rank))
    gain, promised = gain + drop, fall + drop
    factor = np.where(gain > GOOD * promised, CLOSER, 1.0)
    factor = np.where(gain >= POOR * promised, factor, WIDER)  # nan counts as poor
    return gain > 0, np.clip(delta * factor, LEAST, MOST)
