"""Semi-non-negative matrix factorisation."""

from typing import Any, Unpack

from attrs import evolve
from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.nonnegative import AbsoluteRandom, on_orthant
from bregopt_problems.options import Options, checked


def semi_nmf(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "nonneg",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − UV‖² + H₁(U) + H₂(V)  s.t.  V ≥ 0``: M of either sign, mixed by non-negative weights V.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, in any form that ``low-rank`` takes; nan is missing. Its columns are what is mixed; for rows take Mᵀ.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁, on all of the space, and H₂, on the non-negative orthant: ``V="l1(0.1)"`` means ``with-nonneg(l1(0.1))``.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    problem = low_rank(
        M,
        rank,
        "least-squares",
        U=U,
        V=on_orthant(V, "V", "semi-nmf"),
        name="semi-NMF problem",
        owner="semi-nmf",
        **checked(options, "semi-nmf"),
    )
    return evolve(problem, start=AbsoluteRandom(("V",)))
