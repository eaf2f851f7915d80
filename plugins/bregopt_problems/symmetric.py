"""Symmetric factorisation."""

from typing import Any, Unpack

import numpy as np
from attrs import evolve
from bregopt_lowrank import low_rank

from bregopt import Problem, Regularizer
from bregopt.errors import DataError, parameter
from bregopt_problems.entries import in_memory
from bregopt_problems.nonnegative import AbsoluteRandom, on_orthant
from bregopt_problems.options import Options, checked

TOLERANCE = 1e-10
"""Rounding allowed in the symmetry of M, relative to its largest entry."""


def symmetric(
    M: Any,
    rank: int | None = None,
    U: Regularizer | str = "none",
    nonneg: bool = False,
    loss: str = "least-squares",
    **options: Unpack[Options],
) -> Problem:
    """``min Σ e((UUᵀ)_ij; m_ij) + H(U)`` over the known entries of M = Mᵀ; by default ``½‖M − UUᵀ‖² + H(U)``.

    Parameters
    ----------
    M : array or sparse matrix
        n×n and symmetric, such as a covariance, a kernel matrix or the adjacency of a graph; in memory.
    rank : int
        Columns of U.
    U : Regularizer or str
        H.
    nonneg : bool
        Whether U ≥ 0: each row of U then says how much a node belongs to each of the clusters. H holds on the
        non-negative orthant, as ``with-nonneg(H)``.
    loss : str
        Any entrywise loss, such as ``logistic`` for an M of signs.
    **options
        ``mask``, ``weights``, ``missing``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``. An entry is known
        where m_ij is, whatever m_ji is.
    """
    if not isinstance(nonneg, (bool, np.bool_)):
        raise parameter("nonneg", "symmetric", "True or False", nonneg)
    if options.get("held_out"):
        raise parameter("held_out", "symmetric", "left out, as m_ji tells m_ij", options.get("held_out"))
    mirrored = _check_symmetry(M) and not {"mask", "weights", "missing"} & options.keys()
    problem = low_rank(
        M,
        rank,
        loss,
        f"symmetric(mirrored={str(mirrored).lower()})",
        U=on_orthant(U, "U", "symmetric") if nonneg else U,
        name="symmetric problem",
        owner="symmetric",
        **checked(options, "symmetric"),
    )
    return evolve(problem, start=AbsoluteRandom(("U",))) if nonneg else problem


def _check_symmetry(M: Any) -> bool:
    """Refuse an M whose entries differ from those across the diagonal, where both are known.

    True where all are known and they do not differ at all.
    """
    if not in_memory(M):
        raise DataError("M must be in memory for symmetric, so that its symmetry can be seen: take low-rank instead.")
    A: Any = M.tocsr() if hasattr(M, "tocsr") else np.asarray(M)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise DataError(f"M must be a square matrix for symmetric. Got shape {A.shape} instead.")
    if A.dtype.kind not in "fiub":
        return False  # low-rank says what is wrong
    A = A.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinite entries, which low-rank refuses
        gap, largest = _peak(A - A.T), _peak(A)
    if gap > TOLERANCE * largest:
        raise DataError(
            f"M must be symmetric. Got entries that differ by {gap:g} from those across the diagonal: (M + Mᵀ)/2 is."
        )
    known = not np.isnan(A.data if hasattr(A, "tocsr") else A).any()
    return known and gap == 0


def _peak(A: Any) -> float:
    """The largest absolute value of a known entry."""
    values = np.abs(A.data if hasattr(A, "tocsr") else A)
    return float(np.max(values, where=~np.isnan(values), initial=0.0))
