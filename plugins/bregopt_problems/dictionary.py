"""Dictionary learning."""

from typing import Any, Unpack, cast, final

import numpy as np
from attrs import evolve, frozen
from bregopt_lowrank import LowRankBlock, ScaledRandom, low_rank

from bregopt import Blocks, Fixed, Problem, ProblemParts, Regularizer, Start
from bregopt.errors import parameter
from bregopt_problems.options import Options, checked

TINY = 1e-12
"""The step, over |Y|², of a proximal map that is to leave finite weights without effect."""


def dictionary(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "unit-columns",
    V: Regularizer | Fixed | str = "l1(0.1)",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − UV‖² + η Σ|v_ij|  s.t.  ‖u_j‖ = 1``: each column of M by few of the atoms u_j.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, a signal in each column, in any form that ``low-rank`` takes; nan is missing.
    rank : int
        The number of atoms, which are the columns of U. There may be more of them than rows.
    U, V : Regularizer, str or Fixed
        What holds of the atoms, by default that they have norm one: without a bound the l1 norm of V could be made
        small by large atoms. What the code V costs, by default ``l1(0.1)``; η has the unit of M. ``bo.Fixed(U0)`` codes
        with the atoms that there are.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    if isinstance(U, Fixed) or isinstance(V, Fixed):
        return _problem(M, rank, U, V, options)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or rank < 1:
        raise parameter("rank", "dictionary", "a whole number >= 1", rank)
    problem = _problem(M, 1, U, V, options)  # the rank of low-rank is at most that of M, and more atoms are wanted here
    return evolve(problem, block=evolve(cast(LowRankBlock, problem.block), rank=int(rank)))


def _problem(
    M: Any, rank: int | None, U: Regularizer | Fixed | str, V: Regularizer | Fixed | str, options: Options
) -> Problem:
    passed_on = checked(options, "dictionary")
    problem = low_rank(M, rank, "least-squares", U=U, V=V, name="dictionary problem", owner="dictionary", **passed_on)
    return evolve(problem, start=RandomAtoms())


@final
@frozen
class RandomAtoms(Start):
    """``scaled-random``, with atoms as H wants them."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        Y = ScaledRandom().point(problem, rng)
        return problem.regularizer.prox(Y, TINY / (Y.dot(Y) or 1.0))
