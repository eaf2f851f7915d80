"""One damped Newton step for every row of a factor, each accepted or taken back on its own."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, ScalarPenalty
from bregopt.compiled import wanted
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.newton.row_models import RowModels, embedded, spelt
from bregopt_lowrank.passes.run import ALONE, SMALL
from bregopt_lowrank.passes.threads import one_blas_thread, split, spread
from bregopt_lowrank.tile_loss import TileLoss

LEAST, MOST = 1e-9, 4.0
"""The range of δ: a row is damped by δ·tr(VVᵀ)/r."""
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
    loss: TileLoss, M: LocalMatrix, U: Array, V: Array, delta: Array, H: Regularizer, *, by_columns: bool = False
) -> RowSteps:
    """A step for every row of U; with ``by_columns`` these are the columns of the block that H is for.

    A row whose f + h does not fall is taken back, or, with an H that is known by its prox only, whose f lies above its
    model: f + h then falls by at least what the model promised.
    """
    (m, n), r = M.shape, U.shape[1]
    h, U, V = H.scalar(), np.array(U, order="C"), np.ascontiguousarray(V)
    models = embedded(loss, V, H, U, by_columns=by_columns) if h is None else _spelt(loss, V, h, M)
    job = _Job(M, models, h, U, V, delta, np.empty_like(U), np.empty_like(delta))
    workers = 1 if m * n < ALONE else min(M.threads, m)
    height = max(1, (WHOLE_ENTRIES if h is None else TILE_ENTRIES) // max(n, r * r))
    with one_blas_thread():
        sums = spread(
            lambda span: job.over(split(span, -(-(span.stop - span.start) // height))), split(slice(0, m), workers)
        )
    value, error, residual, active = np.sum(sums, axis=0).tolist()
    # X before and after, and for each active entry r + r(r + 1)/2 of the m·n·r multiplications of a product
    products = 2.0 + active / (m * n) * (1.0 + 0.5 * (r + 1))
    return RowSteps(job.Z, job.next_delta, value, error, residual, products)


def _spelt(loss: TileLoss, V: Array, h: ScalarPenalty, M: LocalMatrix) -> RowModels:
    if not wanted() or M.shape[0] * M.shape[1] < SMALL:
        return spelt(loss, V, h)
    from bregopt_lowrank.newton.compiled_models import CompiledModels

    return CompiledModels(loss.loops, np.array(V.T, order="C"), h)


@final
@frozen(eq=False)
class _Job:
    """The steps of all rows; each thread writes those of its own."""

    M: LocalMatrix
    models: RowModels
    h: ScalarPenalty | None
    U: Array
    V: Array
    delta: Array
    Z: Array
    next_delta: Array

    def over(self, tiles: Sequence[slice]) -> Array:
        """The steps of some tiles; Σf, the error, the residual and the active entries."""
        V, sums = self.V.astype(self.M.dtype), np.zeros(4)
        unit = max(float(np.vdot(self.V, self.V)) / len(V), TINY)
        for rows in tiles:
            U, M = self.U[rows], self.M.read(rows)
            X = U.astype(V.dtype) @ V
            value, error = self.models.measure(X, M)
            fit = self.models.fit(rows, X, M, U, unit * self.delta[rows])
            np.matmul(fit.Z.astype(V.dtype), V, out=X)
            new_value, new_error = self.models.measure(X, M)
            drop = None if self.h is None else (self.h.values(U) - self.h.values(fit.Z)).sum(axis=1)
            kept, self.next_delta[rows] = judge(value - new_value, fit.fall, drop, self.delta[rows], len(V))
            self.Z[rows] = np.where(kept[:, None], fit.Z, U)
            values, errors = np.where(kept, new_value, value), np.where(kept, new_error, error)
            sums += values.sum(), errors.sum(), fit.residual.sum(), fit.active
        return sums


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
