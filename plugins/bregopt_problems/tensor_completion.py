"""Tensor completion."""

from typing import Any, cast

import numpy as np
from attrs import evolve
from bregopt_lowrank import LowRankBlock

from bregopt import Problem, Separable, make
from bregopt.errors import DataError, parameter
from bregopt_problems.cp import cp_problem

SHARE = 1e-3
"""By how much of itself the default ridge shrinks a product as large as T."""


def tensor_completion(T: Any, rank: int | None = None, ridge: float | None = None, **options: Any) -> Problem:
    """``min ½ Σ (t − x)² + (η/2) Σ ‖Ui‖²`` over the known entries of T, X = Σ_p u1_p ∘ … ∘ un_p: X fills in the others.

    ``result = bo.solve(bo.compose("tensor-completion", T, rank=3))`` for a T with nan, and
    ``np.einsum("ip,jp,kp->ijk", *result.Y)`` is X for three dimensions.

    At a minimum the n vectors of a product of norm σ are equally long, so that the ridge costs ``(nη/2) Σ σ^{2/n}``
    over the products: those that few entries ask for go to zero, and the rank may be larger than needed. For n = 2 that
    is the nuclear norm of X, as in ``completion``. Without a ridge products may grow against each other without end.

    Parameters
    ----------
    T : array
        Of n ≥ 2 dimensions. The zeros of a pydata ``sparse`` T are unknown, and its stored zeros known; only what is
        stored is visited. Of a dense T the entries that are nan are unknown, and those where ``mask`` is False; with
        ``missing="zeros"`` its zeros.
    rank : int
        Columns of every factor.
    ridge : float, optional
        η. The default is ``0.001·‖T‖^{2 − 2/n}``, the norm taken over the known entries: it has the unit that it needs,
        and shrinks a product as large as T by a thousandth, and smaller ones by more.
    **options
        ``U1``, …, ``Un``: H of one factor in the place of its ridge, such as ``with-nonneg(ridge(0.1))``; and ``mask``,
        ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
        ``held_out=0.2`` keeps a fifth of the known entries from the fit. The relative error on them is the metric
        ``held_out_error``, which the stop rule ``held-out`` looks at.

    References
    ----------
    E. Acar, D. M. Dunlavy, T. G. Kolda and M. Mørup, Scalable tensor factorizations for incomplete data, 2011.
    J. A. Bazerque, G. Mateos and G. B. Giannakis, Rank regularization and Bayesian inference for tensor completion and
    extrapolation, 2013.
    """
    if hasattr(T, "nnz"):  # sparse, by pydata or by scipy
        options = {"missing": "zeros", **options}
    problem = cp_problem(T, rank, "least-squares", "none", options, "tensor-completion", "tensor completion problem")
    block = cast(LowRankBlock, problem.block)
    if not block.M.missing:
        raise DataError(
            "Every entry of T is known, and there is nothing to complete. Mark unknown entries by nan, by a mask or by "
            "missing='zeros'; for a complete T take the problem cp."
        )
    names = tuple(block.model.shapes(block.M.shape, block.rank))
    if ridge is None:
        ridge = SHARE * block.M.frobenius ** (2.0 - 2.0 / block.model.degree)
    elif isinstance(ridge, bool) or not isinstance(ridge, (int, float, np.number)) or not 0 <= ridge < np.inf:
        raise parameter("ridge", "tensor-completion", "a finite number >= 0", ridge)
    every = make("regularizer", "ridge", float(ridge)) if ridge else make("regularizer", "none")
    return evolve(
        problem,
        regularizer=Separable(**{name: problem.regularizer[name] if name in options else every for name in names}),
    )
