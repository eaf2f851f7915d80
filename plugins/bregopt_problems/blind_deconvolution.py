"""Blind deconvolution: a signal and the blur that it went through."""

import math
from collections.abc import Sequence
from typing import Any, Unpack, final

import numpy as np
from attrs import evolve, frozen
from bregopt_lowrank import LowRankBlock, low_rank

from bregopt import Blocks, Fixed, Problem, ProblemParts, Regularizer, Start, make
from bregopt.errors import DataError, IncompatibleError, parameter
from bregopt_problems.entries import as_given
from bregopt_problems.options import Options, checked

TINY = 1e-12
"""The step of a proximal map that is to leave finite weights without effect."""


def blind_deconvolution(
    M: Any,
    size: int | Sequence[int],
    k: Regularizer | str = "with-nonneg(ball(1))",
    x: Regularizer | str = "l1(0.1)",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − k ∗ x‖² + H₁(k) + H₂(x)``: M is a sparse signal x that went through a short, unknown blur k.

    ``result = bo.solve(bo.compose("blind-deconvolution", image, (5, 5)))``, ``result.Y.k / result.Y.k.sum()`` is the
    blur as a mean. From k ∗ x alone both are known up to a factor, which H₁ settles, and up to a shift of k against x.

    The constraint ``Σk = 1`` does not tell a blur from none: ``‖k ∗ x‖ ≤ ‖x‖`` for every norm that shifts do not
    change, l1 and total variation among them, so that x = M beside a k of one point fits exactly and costs no more than
    the truth. With ``‖k‖ ≤ 1``, the default, a spread k lets x be smaller. Local minima remain: compare objectives, and
    try ipalm, which steps k and x each on its own scale.

    Parameters
    ----------
    M : array
        Of any number of dimensions; nan is missing. The convolution is periodic. For any other boundary pad M with nan,
        by ``size − 1`` on one side of each dimension: what wraps around then falls on unknown entries.
    size : int or sequence of int
        Of k, in each dimension; one number means the same in all. The middle of k is its centre.
    k : Regularizer or str
        H₁, by default ``k ≥ 0`` and ``‖k‖ ≤ 1``; ``ball(1)`` allows either sign, and ``simplex(1, all)`` is k ≥ 0 with
        the sum 1, for an H₂ that is no norm, such as ``l0(0.1)``.
    x : Regularizer or str
        H₂, by default ``l1(0.1)``, which has the unit of M: ``with-nonneg(l1(0.1))``, ``l0(0.1)``, ``tv(0.1)`` …
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.

    References
    ----------
    A. Benichoux, E. Vincent and R. Gribonval, A fundamental pitfall in blind deconvolution with sparse and
    shift-invariant priors, 2013. H.-W. Kuo, Y. Lau, Y. Zhang and J. Wright, Geometry and symmetry in short-and-sparse
    deconvolution, 2020.
    """
    M = as_given(M)
    dims = len(M.shape)
    if dims < 1 or hasattr(M, "nnz"):
        found = "a single number" if dims < 1 else "a sparse one"
        raise DataError(f"M must be a dense array for blind-deconvolution, with nan where it is unknown. Got {found}.")
    for name, part in (("k", k), ("x", x)):
        if isinstance(part, Fixed):
            rule = "a regularizer: where one of the two is known, take low-rank with the model 'linear'"
            raise parameter(name, "blind-deconvolution", rule, part)
    sizes = (size,) * dims if isinstance(size, (int, np.integer)) else tuple(size) if np.iterable(size) else ()
    whole = all(isinstance(it, (int, np.integer)) and not isinstance(it, bool) and it >= 1 for it in sizes)
    if len(sizes) != dims or not whole:
        raise parameter(
            "size", "blind-deconvolution", f"a whole number >= 1, or one for each of {dims} dimensions", size
        )
    problem = low_rank(
        M,
        None,
        "least-squares",
        make("model", "convolution", tuple(map(int, sizes))),
        k=k,
        x=x,
        name="blind deconvolution problem",
        owner="blind-deconvolution",
        **checked(options, "blind-deconvolution"),
    )
    return evolve(problem, start=FlatBlur(), notes=())  # low-rank's are about rows of M without a known entry


@final
@frozen
class FlatBlur(Start):
    """A constant k, as far as H₁ allows it, and ``x = tkᵀ∗M``, the step from 0 of steepest descent for this k.

    It stays away from x = M, which fits without any blur beside a k of one point. Missing entries are taken for 0.
    """

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = problem.block
        shapes = block.model.shapes(block.M.shape, block.rank) if isinstance(block, LowRankBlock) else {}
        if not isinstance(block, LowRankBlock) or tuple(shapes) != ("k", "x"):
            raise IncompatibleError(
                f"The start 'flat-blur' is for a convolution k ∗ x, and the {problem.name} has none: "
                "take scaled-random, or give the blocks to start from."
            )
        H, model = problem.regularizer, block.model
        k = H["k"].prox(np.full(shapes["k"], 1.0 / math.sqrt(math.prod(shapes["k"]))), TINY)
        data = np.concatenate([block.M.read(rows).M for rows in block.M.tiles()]).astype(float)
        S = np.nan_to_num(data, nan=0.0)
        flat = Blocks(k=k, x=np.zeros(shapes["x"]))
        L, R = model.factors(flat)
        x = model.pull(flat, S @ R.T, L.T @ S)["x"]
        L, R = model.factors(Blocks(k=k, x=x))
        X = np.where(np.isnan(data), 0.0, L @ R)
        square = float(np.vdot(X, X))
        return Blocks(k=k, x=H["x"].prox(x * (float(np.vdot(X, S)) / square if square > 0 else 0.0), TINY))
