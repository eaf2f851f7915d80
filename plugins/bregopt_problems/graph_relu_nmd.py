"""ReLU-NMD with a graph on the rows of M."""

from typing import Any, Unpack

from bregopt_lowrank import low_rank

from bregopt import Fixed, Problem, Regularizer
from bregopt_problems.graph import graph_term
from bregopt_problems.options import Options, checked


def graph_relu_nmd(
    M: Any,
    rank: int | None = None,
    graph: Any = None,
    mu: float = 1.0,
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "none",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖W − UV‖² + (μ/2) Tr(UᵀLU) + H₁(U) + H₂(V)  s.t.  max(0, W) = M``: ReLU-NMD with a graph on the rows.

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
        H₁ and H₂.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    return low_rank(
        M,
        rank,
        "relu",
        U=U,
        V=V,
        smooth={"U": graph_term(graph, mu, "graph-relu-nmd")},
        name="graph ReLU-NMD problem",
        owner="graph-relu-nmd",
        **checked(options, "graph-relu-nmd"),
    )
