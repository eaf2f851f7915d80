"""Robust PCA: a low-rank matrix and sparse outliers."""

from typing import Any, Unpack

import numpy as np
from bregopt_lowrank import LowRankBlock, Tile, low_rank

from bregopt import Array, Blocks, Fixed, Problem, ProblemParts, Regularizer
from bregopt.errors import DataError, IncompatibleError, parameter
from bregopt_problems.entries import in_memory, known_entries
from bregopt_problems.options import Options, checked

SHARE = 0.1
"""The default d, in robust standard deviations of the entries of M."""
NORMAL = 1.4826
"""The standard deviation of a normal variable over its median absolute deviation."""


def robust_pca(
    M: Any,
    rank: int | None = None,
    d: float | None = None,
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "none",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − UV − S‖² + d Σ|s_ij| + H₁(U) + H₂(V)``: M is of low rank but for noise and for sparse outliers S.

    S is minimised out: what is left is the Huber loss of M − UV, quadratic up to d and linear beyond. With W for M − S
    this is ``min ½‖W − UV‖² + G(W)``, G(W) = d‖M − W‖₁. ``bregopt_problems.outliers`` returns S.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, in any form that ``low-rank`` takes; nan is missing.
    rank : int
        Columns of U and rows of V.
    d : float, optional
        The size from which on a residual counts as an outlier: a few standard deviations of the noise. The default is a
        tenth of the standard deviation of the entries of M, which is estimated by their median absolute deviation: the
        outliers do not move it, it has the unit of M, and noise is smaller than what UV explains. A smaller d is safer
        against outliers, and a larger one uses more of the data.
    U, V : Regularizer, str or Fixed
        H₁ and H₂. A ridge η on both is the nuclear norm η‖UV‖_*, where the rank is large enough.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.
    """
    if d is None:
        d = _usual_d(M, options.get("mask"))
    elif isinstance(d, bool) or not isinstance(d, (int, float, np.number)) or not 0 < d < np.inf:
        raise parameter("d", "robust-pca", "a finite number > 0", d)
    return low_rank(
        M,
        rank,
        f"huber({float(d)!r})",
        U=U,
        V=V,
        name="robust PCA problem",
        owner="robust-pca",
        **checked(options, "robust-pca"),
    )


def _usual_d(M: Any, mask: Any) -> float:
    """``0.1·1.4826·median|m − median m|`` over the known entries; over those that are not zero where this is 0."""
    if not in_memory(M):
        raise parameter("d", "robust-pca", "given for an M that is not in memory", None)
    values = known_entries(M, mask)
    if values.dtype.kind not in "fiub":
        return 1.0  # low-rank says what is wrong
    values = values[np.isfinite(values)].astype(np.float64)
    for chosen in (values, values[values != 0]):
        spread = float(np.median(np.abs(chosen - np.median(chosen)))) if chosen.size else 0.0
        if spread > 0:
            return SHARE * NORMAL * spread
    raise DataError(
        "The size d of an outlier cannot be told from this M, as half of its entries or more are equal: give d to "
        "robust-pca."
    )


def outliers(problem: ProblemParts, Y: Blocks) -> Any:
    """The sparse part S of a ``robust-pca`` problem at Y, as a scipy CSR array: M − UV, shrunk by d towards zero.

    ``outliers(problem, result.Y)``. It is M − W, and zero where an entry of M is unknown.
    """
    from scipy.sparse import csr_array, vstack

    block = problem.block
    if not isinstance(block, LowRankBlock):
        raise IncompatibleError(f"The {problem.name} has no outliers: make it by compose('robust-pca', …).")
    block.check_shapes(Y)
    L, R = block.model.factors(Y)
    parts = []
    for rows in block.M.tiles():
        X, given = np.asarray(L[rows] @ R, dtype=np.float64), block.M.read(rows)
        slope = block.loss.on(X, Tile(given.M, given.upper), slice(0, block.M.shape[1])).slope
        parts.append(csr_array(_left(given.M, X, slope)))
    return vstack(parts, format="csr")


def _left(M: Array, X: Array, slope: Array) -> Array:
    """``m − (x − e'(x))`` of each entry, exactly 0 where e' = x − m."""
    return np.where(np.isnan(M), 0.0, (M - X) + slope)
