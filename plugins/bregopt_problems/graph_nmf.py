"""NMF with a graph on the rows of M."""

from typing import Any, Unpack

from attrs import evolve
from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.graph import graph_term
from bregopt_problems.nmf import check_non_negative
from bregopt_problems.nonnegative import AbsoluteRandom, on_orthant
from bregopt_problems.options import Options, checked


def graph_nmf(
    M: Any,
    rank: int | None = None,
    graph: Any = None,
    mu: float = 1.0,
    U: Regularizer | Fixed | str = "nonneg",
    V: Regularizer | Fixed | str = "nonneg",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − UV‖² + (μ/2) Tr(UᵀLU) + H₁(U) + H₂(V)  s.t.  U ≥ 0, V ≥ 0``: rows that are close get close codes.

    As Tr(UᵀLU) = ½ Σ s_ij ‖u_i − u_j‖², neighbours in the graph are pulled together. A smaller U with a larger V would
    make it vanish: give V a bound or a weight, such as ``V="ridge(0.1)"``.

    Parameters
    ----------
    M : array or sparse matrix
        m×n and non-negative, a sample in each row, in any form that ``low-rank`` takes; nan is missing.
    rank : int
        Columns of U and rows of V.
    graph : array, sparse matrix or SmoothRegularizer
        m×m and symmetric. A matrix without negative entries holds the affinities S, and L = D − S with their row sums
        D; any other is taken for L, which must be positive semidefinite. Or a term of your own.
    mu : float
        μ.
    U, V : Regularizer, str or Fixed
        H₁ and H₂, which always hold on the non-negative orthant: ``l1(0.1)`` means ``with-nonneg(l1(0.1))``.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    problem = low_rank(
        M,
        rank,
        "least-squares",
        U=on_orthant(U, "U", "graph-nmf"),
        V=on_orthant(V, "V", "graph-nmf"),
        smooth={"U": graph_term(graph, mu, "graph-nmf")},
        name="graph NMF problem",
        owner="graph-nmf",
        **checked(options, "graph-nmf"),
    )
    check_non_negative(problem, "graph-nmf", "Use low-rank with smooth={'U': graph} for data of either sign.")
    return evolve(problem, start=AbsoluteRandom())
