"""Matrix completion."""

from typing import Any, Unpack

from bregopt_lowrank import LowRankBlock, low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt.errors import DataError
from bregopt_problems.options import Options, checked


def completion(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "none",
    model: str = "product",
    **options: Unpack[Options],
) -> Problem:
    """``min ½ Σ (m_ij − (UV)_ij)² + H₁(U) + H₂(V)`` over the known entries of M: the others are filled in by UV.

    A ridge η on both factors is the nuclear norm: ``min_{UV = X} (η/2)(‖U‖² + ‖V‖²) = η‖X‖_*`` where the rank is large
    enough. With few known entries a row some ridge is needed, as the fit is not unique without.

    Parameters
    ----------
    M : array or sparse matrix
        m×n. The zeros of a sparse M are unknown, and its stored zeros known; only what is stored is visited. Of a dense
        M the entries that are nan are unknown, and those where ``mask`` is False; with ``missing="zeros"`` its zeros.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂.
    model : str
        ``with-bias`` also fits a number for each row and for each column, as ratings want it.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
        ``held_out=0.2`` keeps a fifth of the known entries from the fit. The relative error on them is the metric
        ``held_out_error``, which the stop rule ``held-out`` looks at.
    """
    if hasattr(M, "nnz"):  # sparse, by scipy or by pydata
        options = {"missing": "zeros", **options}
    problem = low_rank(
        M,
        rank,
        "least-squares",
        model=model,
        U=U,
        V=V,
        name="completion problem",
        owner="completion",
        **checked(options, "completion"),
    )
    if isinstance(problem.block, LowRankBlock) and not problem.block.M.missing:
        raise DataError(
            "Every entry of M is known, and there is nothing to complete. Mark unknown entries by nan, by a mask or by "
            "missing='zeros'; for a complete M take the problem low-rank."
        )
    return problem
