"""Logistic low-rank models."""

from typing import Any, Unpack

from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.labels import SIGNS, signs
from bregopt_problems.options import Options, checked


def logistic(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "ridge(0.1)",
    V: Regularizer | Fixed | str = "ridge(0.1)",
    labels: str = SIGNS,
    model: str = "product",
    **options: Unpack[Options],
) -> Problem:
    """``min Σ log(1 + exp(−m_ij (UV)_ij)) + H₁(U) + H₂(V)`` over the known m_ij = ±1: P(m_ij = 1) = 1/(1 + exp(−x_ij)).

    Parameters
    ----------
    M : array or sparse matrix
        m×n of 1 and −1. An entry that is 0 or nan is unknown, as is what a sparse M does not store.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂. Without any, UV grows without bound where it has all signs right. Labels have no unit, so a ridge of
        0.1 has the same strength for all data.
    labels : str
        ``+-1``, or ``01`` for an M of 0 and 1 or of truth values: 0 is then a label, and only nan, ``mask`` and what a
        sparse M does not store are unknown.
    model : str
        ``with-bias`` also fits a number for each row and for each column.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
        The metric is ``mistakes``, the share of wrong signs; with ``held_out`` also ``held_out_error``.
    """
    return low_rank(
        signs(M, labels, options, "logistic"),
        rank,
        "logistic",
        model=model,
        U=U,
        V=V,
        name="logistic problem",
        owner="logistic",
        **checked(options, "logistic"),
    )
