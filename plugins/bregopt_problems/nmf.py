"""Non-negative matrix factorisation."""

from typing import Any, Unpack

from attrs import evolve
from bregopt_lowrank import LowRankBlock, low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt.errors import DataError
from bregopt_problems.nonnegative import AbsoluteRandom, on_orthant
from bregopt_problems.options import Options, checked


def nmf(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "nonneg",
    V: Regularizer | Fixed | str = "nonneg",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − UV‖² + H₁(U) + H₂(V)  s.t.  U ≥ 0, V ≥ 0``: a non-negative M by parts that only add up.

    Weigh both factors or none: a weight on one of them alone can be made small by a smaller factor beside a larger one.

    Parameters
    ----------
    M : array or sparse matrix
        m×n and non-negative, in any form that ``low-rank`` takes; nan is missing. The zeros of a sparse M are data, and
        cost nothing.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂, which always hold on the non-negative orthant: ``l1(0.1)`` means ``with-nonneg(l1(0.1))``. Where the
        proximal map of such a sum is not known, an error says so.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    problem = low_rank(
        M,
        rank,
        "least-squares",
        U=on_orthant(U, "U", "nmf"),
        V=on_orthant(V, "V", "nmf"),
        name="NMF problem",
        owner="nmf",
        **checked(options, "nmf"),
    )
    check_non_negative(problem, "nmf", "Use semi-nmf, or low-rank with U='nonneg' and V='nonneg' if this is meant.")
    return evolve(problem, start=AbsoluteRandom())


def check_non_negative(problem: Problem, owner: str, advice: str) -> None:
    """Refuse an M with a negative entry."""
    block = problem.block
    if isinstance(block, LowRankBlock) and block.M.lowest < 0:
        raise DataError(f"M must be non-negative for {owner}. Got {block.M.lowest:g} in it. {advice}")
