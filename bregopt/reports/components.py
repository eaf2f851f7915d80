"""What each component of UV is made of: how large it is, and which rows and columns of the data it is strong in."""

from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.labels import Labels

MOST = 8
"""Names that are listed of a component."""


@final
@frozen
class Component:
    """u_k v_k, the k-th term of UV."""

    number: int
    """from 1"""
    share: float
    """of ‖u_k‖‖v_k‖ in the sum over all components"""
    columns: tuple[tuple[str, float], ...]
    """the columns it is strongest in, with their entries of v_k, scaled so that the strongest is 1"""
    rows: tuple[tuple[str, float], ...]
    """the rows, with their entries of u_k, scaled likewise"""


def is_product(Y: Blocks) -> bool:
    """Whether U and V are blocks, and multiply."""
    return {"U", "V"} <= set(Y.names) and Y["U"].ndim == Y["V"].ndim == 2 and Y["U"].shape[1] == Y["V"].shape[0]


def components(Y: Blocks, labels: Labels | None) -> list[Component]:
    """The components of UV, the largest first; none where U and V are not its blocks."""
    if not is_product(Y):
        return []
    U, V, named = Y["U"], Y["V"], labels or Labels()
    sizes = np.linalg.norm(U, axis=0) * np.linalg.norm(V, axis=1)
    total = float(sizes.sum()) or 1.0
    rows = named.rows if len(named.rows or ()) == len(U) else None
    columns = named.columns if len(named.columns or ()) == V.shape[1] else None
    return [
        Component(int(k) + 1, float(sizes[k]) / total, _strongest(V[k], columns), _strongest(U[:, k], rows))
        for k in np.argsort(-sizes, kind="stable")
    ]


def _strongest(x: Array, names: tuple[str, ...] | None) -> tuple[tuple[str, float], ...]:
    """The names of the largest entries that are not zero, with these over the largest."""
    if names is None:
        return ()
    order = np.argsort(-np.abs(x), kind="stable")[:MOST]
    return tuple((names[j], float(x[j] / abs(x[order[0]]))) for j in order if x[j] != 0)
