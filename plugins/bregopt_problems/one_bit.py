"""One-bit matrix completion."""

from typing import Any, Unpack

from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.labels import SIGNS, signs
from bregopt_problems.options import Options, checked


def one_bit(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "ridge(0.1)",
    V: Regularizer | Fixed | str = "ridge(0.1)",
    labels: str = SIGNS,
    model: str = "product",
    **options: Unpack[Options],
) -> Problem:
    """``min ½ Σ max(0, 1 − m_ij (UV)_ij)² + H₁(U) + H₂(V)`` over the known m_ij = ±1: M ≈ sign(UV), with a margin.

    Parameters
    ----------
    M : array or sparse matrix
        m×n of 1 and −1. An entry that is 0 or nan is unknown, as is what a sparse M does not store.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂. Labels have no unit, so a ridge of 0.1 has the same strength for all data.
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
        signs(M, labels, options, "one-bit"),
        rank,
        "one-bit",
        model=model,
        U=U,
        V=V,
        name="one-bit problem",
        owner="one-bit",
        **checked(options, "one-bit"),
    )
