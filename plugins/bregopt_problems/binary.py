"""Low-rank models of a matrix of zeros and ones, all of which are data."""

from typing import Any, Unpack

from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.labels import ZERO_ONE, signs
from bregopt_problems.options import Options, checked


def binary(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "ridge(0.1)",
    V: Regularizer | Fixed | str = "ridge(0.1)",
    model: str = "with-bias",
    **options: Unpack[Options],
) -> Problem:
    """``min Σ log(1 + exp(x_ij)) − m_ij x_ij + H₁(U) + H₂(V)``, X = UV + a1ᵀ + 1bᵀ: m_ij = 1 with odds exp(x_ij).

    It is the problem ``logistic`` with the labels 0 and 1, and every zero of M is one of them.

    Parameters
    ----------
    M : array or sparse matrix
        m×n of 0 and 1, or of truth values; nan is unknown. A sparse M becomes dense, as each of its zeros counts.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂. Without any, UV grows without bound where it tells ones from zeros.
    model : str
        ``with-bias`` fits a number for each row and for each column, as ones are rarer in some; else ``product``.
    **options
        ``mask``, ``weights``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
        The metric is ``mistakes``, the share of entries on the wrong side of ½.
    """
    dense = M.toarray() if hasattr(M, "toarray") else M.todense() if hasattr(M, "todense") else M
    return low_rank(
        signs(dense, ZERO_ONE, options, "binary"),
        rank,
        "logistic",
        model=model,
        U=U,
        V=V,
        name="binary problem",
        owner="binary",
        **checked(options, "binary"),
    )
