"""U for new rows: Newton's steps on all of them, then on those that are not exact yet."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from attrs import frozen
from bregopt_lowrank import LowRankBlock

from bregopt import Array, Blocks, ResolvedProblem, ScalarPenalty, make, solve, tikhonov

EXACT = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
"""The gradient of a row x that is exact, relative to ‖xVᵀ‖, by the precision of X."""
SMALL = 1e-3
"""A row counts as at least that part of the largest one, so that a row without data can be exact."""
ROUNDS = 12, 20, 40, 80
"""The most iterations of each round; a round takes the rows that the one before left."""
MOST = 1000
"""Iterations at the most where H says nothing of single rows."""


@final
@frozen(eq=False)
class Rows:
    """Rows of U, and whether all of them are exact."""

    U: Array
    exact: bool


def solve_rows(problem: Callable[[Any], ResolvedProblem], V: Array) -> Rows:
    """The rows of ``problem(rows)``, where V is fixed.

    Where four numbers spell H, every row is a problem of its own and is judged by its own gradient. Otherwise one run
    goes on until the gradient of all rows together is that small.
    """
    whole = problem(slice(None))
    M, H = _block(whole).M, whole.regularizer["U"]
    images = np.asarray(_block(whole).M.filled() @ V.T, dtype=np.float64)  # type: ignore[attr-defined]  # a LocalMatrix
    U, tolerance, h = least_squares(images, V, tikhonov(H) or 0.0), EXACT[M.dtype], H.scalar()
    if h is None:
        stop = make("stop", "stationarity", tolerance) | make("stop", "plateau", 1e-14, 5)
        result = solve(whole, start=Blocks(U=U), stop=stop, max_iterations=MOST, on_interrupt="raise")
        return Rows(result.Y.U, result.converged)
    sizes = np.linalg.norm(images, axis=1)
    least = tolerance * np.maximum(sizes, SMALL * sizes.max(initial=0.0))
    rows, settled = np.flatnonzero(_gradients(whole, U, h) > least), False
    for limit in ROUNDS:
        if not rows.size:
            return Rows(U, True)
        some = whole if rows.size == len(U) else problem(rows)
        stop = make("stop", "plateau", 0.0, 3)
        result = solve(some, start=Blocks(U=U[rows]), stop=stop, max_iterations=limit, on_interrupt="raise")
        U[rows] = result.Y.U
        if settled and result.converged:  # rounding keeps a row from it: no step lowers its objective any more
            return Rows(U, True)
        settled, rows = result.converged, rows[_gradients(some, U[rows], h) > least[rows]]
    return Rows(U, settled or not rows.size)


def _gradients(problem: ResolvedProblem, U: Array, h: ScalarPenalty) -> Array:
    """For each row the norm of the shortest element of ∂Φ."""
    Y = Blocks(U=U)
    gradient = problem.oracle.evaluate(Y, at=Y).gradient
    if gradient is None:
        raise RuntimeError("The oracle gave no gradient, though it was asked for one.")
    return np.asarray(np.linalg.norm(h.steepest(U, gradient.U), axis=1))


def least_squares(images: Array, V: Array, ridge: float) -> Array:
    """``argmin_U ‖M − UV‖² + ridge‖U‖²``, of least norm, from ``images = MVᵀ``: where Newton's steps begin."""
    gram = V @ V.T + ridge * np.eye(len(V))
    return np.ascontiguousarray(np.linalg.lstsq(gram, images.T, rcond=None)[0].T)


def _block(problem: ResolvedProblem) -> LowRankBlock:
    if not isinstance(problem.block, LowRankBlock):
        raise TypeError(f"Rows are those of a low-rank problem. Got {type(problem.block).__name__} instead.")
    return problem.block
