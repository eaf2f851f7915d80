"""One damped Newton step for every row of a factor, each accepted or taken back on its own."""

from functools import partial, reduce
from typing import final

import numpy as np
from attrs import astuple, evolve, frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, tikhonov
from bregopt.compiled import wanted
from bregopt_lowrank.losses.loss import ColumnLosses
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.newton import row_models
from bregopt_lowrank.newton.row_models import Gathered, Minimise, Minimised, PlainModels, RowModels
from bregopt_lowrank.passes.run import ALONE
from bregopt_lowrank.passes.threads import one_blas_thread, split, spread

LEAST, MOST = 1e-9, 4.0
"""The range of δ: a row is damped by δ·c·tr(VVᵀ)/r, where c bounds the curvature of the loss."""
POOR, WIDER = 0.25, 4.0
"""Below that share of the promised decrease δ grows by that factor."""
GOOD, CLOSER = 0.75, 0.3
"""Above that share it shrinks."""
TRIED = (0.1, 1.0)
"""What δ = 0 stands for: each row takes the δ of these with which f + h falls the most."""
TINY = 1e-200
"""tr(VVᵀ)/r is taken for at least that, so that no row model is singular."""


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

    Where a δ is zero, that of every row is chosen by trial.

    A row whose f + h does not fall is taken back, or, with an H that is known by its prox only, whose f lies above its
    model: f + h then falls by at least what the model promised.
    """
    (m, n), r = M.shape, U.shape[1]
    U, V = np.array(U, order="C"), np.ascontiguousarray(V)
    models, minimise = _models(loss, M, V), _minimiser(H, U, by_columns)
    unit, share = max(curvature * float(np.vdot(V, V)) / r, TINY), M.share(loss, r)
    new, next_delta = np.empty_like(U), np.empty_like(delta)

    def over(span: slice) -> Array:
        """The steps of some rows; Σf, the error, the residual and the active entries."""
        sums = np.zeros(5)
        for rows in split(span, -(-(span.stop - span.start) // models.height(r))):
            it, old = models.gather(rows, U[rows]), U[rows]
            trials = [delta[rows]] if delta[rows].all() else [np.full(len(old), tried) for tried in TRIED]

            def attempt(at: Array, it: Gathered = it, rows: slice = rows, old: Array = old) -> _Tried:
                found = minimise(rows, it, old, unit * at)
                return _tried(it, old, found, *models.measure(rows, found.Z), at)

            *others, last = trials
            copies = [evolve(it, B=it.B.copy()) for _ in others]  # B is worked on in place
            best = reduce(_Tried.or_better, [*map(attempt, others, copies), attempt(last)])
            new[rows], next_delta[rows] = best.U, best.delta
            again = (len(trials) - 1) * len(old) / m
            sums += best.value.sum(), best.error.sum(), best.residual.sum(), it.active, again
        return sums

    with one_blas_thread():
        sums = spread(over, split(slice(0, m), 1 if m * n < ALONE else min(M.threads, m)))
    value, error, residual, active, tried = np.sum(sums, axis=0).tolist()
    # X before and after, and at each further trial of δ; for each active entry
    # r + r(r + 1)/2 of the m·n·r multiplications of a product
    products = (2.0 + tried) * share + active / (m * n) * (1.0 + 0.5 * (r + 1))
    return RowSteps(new, next_delta, value, max(error, 0.0), residual, products)


@final
@frozen(eq=False)
class _Tried:
    """Rows after a step, or as they were where it was taken back."""

    U: Array
    delta: Array
    """for the next step"""
    value: Array
    error: Array
    residual: Array
    gain: Array
    """how far f + h falls, or f where h is not known; −∞ where the step was taken back"""

    def or_better(self, other: "_Tried") -> "_Tried":
        """Row by row the one with the larger gain; the later one where both were taken back."""
        own, theirs = astuple(self, recurse=False), astuple(other, recurse=False)
        first = (self.gain >= other.gain) & ~np.isneginf(self.gain)
        return _Tried(
            *(np.where(first if x.ndim == 1 else first[:, None], x, y) for x, y in zip(own, theirs, strict=True))
        )


def _tried(it: Gathered, U: Array, found: Minimised, value: Array, error: Array, delta: Array) -> _Tried:
    kept, following = judge(it.value - value, found.fall, found.drop, delta, U.shape[1])
    gain = it.value - value if found.drop is None else it.value - value + found.drop
    return _Tried(
        np.where(kept[:, None], found.Z, U),
        following,
        np.where(kept, value, it.value),
        np.where(kept, error, it.error),
        found.residual,
        np.where(kept, gain, -np.inf),
    )


def _models(loss: ColumnLosses, M: LocalMatrix, V: Array) -> RowModels:
    if not wanted():
        return PlainModels(loss, M, V)
    from bregopt_lowrank.newton.compiled_models import EntryModels, TileModels

    return EntryModels.of(loss, M, V) if M.by_entries(loss) else TileModels.of(loss, M, V)


def _minimiser(H: Regularizer, U: Array, by_columns: bool) -> Minimise:
    """Compiled, where h is known as such; else for all rows at once."""
    spelt = H.scalar()
    h = H.entry() if spelt is None else spelt.entry()
    if h is not None and wanted():
        from bregopt_lowrank.newton import compiled_minimisers

        ridge, floor = tikhonov(H), 1.0 / (0.9 * H.step_limit)
        faces = spelt is not None
        return lambda rows, it, U, damping: compiled_minimisers.minimise(h, ridge, faces, floor, it, U, damping)
    if spelt is not None:
        return partial(row_models.minimise, spelt)
    return partial(row_models.minimise_by_prox, H, U.shape, by_columns)


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
