"""A graph on the rows of M, as a smooth term on U."""

from typing import Any

import numpy as np

from bregopt import SmoothRegularizer, make
from bregopt.errors import parameter


def graph_term(graph: Any, mu: float, owner: str) -> SmoothRegularizer:
    """``(μ/2) Tr(UᵀLU)``: L as it is given, or L = D − S for affinities S, which have no negative entry."""
    if isinstance(graph, SmoothRegularizer):
        if mu != 1:
            raise parameter("mu", owner, "left out where graph is a regularizer, which has its own", mu)
        return graph
    if graph is None:
        raise parameter("graph", owner, "affinities or a Laplacian, with a row for each row of M", graph)
    L = graph if hasattr(graph, "tocsr") else np.asarray(graph)
    if L.ndim == 2 and L.shape[0] == L.shape[1] and L.dtype.kind in "fiub" and L.shape[0] and not L.min() < 0:
        from scipy.sparse.csgraph import laplacian

        L = laplacian(L.astype(np.float64))
    term: SmoothRegularizer = make("regularizer", "graph", L, mu=mu)
    return term
