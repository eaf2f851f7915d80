"""Deep linear networks."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Unpack, cast, final

import numpy as np
from attrs import evolve, frozen
from bregopt_lowrank import LowRankBlock, low_rank

from bregopt import Array, Blocks, Problem, ProblemParts, Regularizer, Start, make
from bregopt.errors import DataError, IncompatibleError, ParameterError, parameter
from bregopt_problems.entries import as_given
from bregopt_problems.options import Options, checked


def deep_linear(
    M: Any,
    depth: int = 3,
    rank: int | None = None,
    widths: Sequence[int] | None = None,
    inputs: Any = None,
    H: Regularizer | str = "none",
    **options: Unpack[Options],
) -> Problem:
    """``min ½‖M − U1 U2 ⋯ Un X‖² + H(U1) + … + H(Un)``: a network of n linear layers, for inputs X or for X = I.

    ``bo.compose("deep-linear", M, depth=3, widths=(20, 5), inputs=X)`` has the layers X → U3 → U2 → U1.

    Without H its local minima are global: they are those of ``½‖M − BX‖²`` over the matrices B of a rank up to the
    smallest width. From three layers on it has saddles without a direction of negative curvature, such as zero. The
    start is ``balanced``, away from them.

    Parameters
    ----------
    M : array or sparse matrix
        m×N, an output in each column, in any form that ``low-rank`` takes; nan is missing.
    depth : int
        n, the number of layers, at least 2.
    rank : int
        The width of every hidden layer.
    widths : sequence of int
        The columns of U1, …, U(n−1), in the place of ``rank``.
    inputs : array, optional
        X, d×N, an input in each column. Without it U1 ⋯ Un is to be M itself.
    H : Regularizer or str
        The same on every layer. A ridge η on all costs as much as ``(nη/2) Σ σ^{2/n}`` over the singular values σ of
        the product: with depth it becomes a count of them.
    **options
        ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as in ``low-rank``.

    References
    ----------
    P. Baldi and K. Hornik, Neural networks and principal component analysis, 1989. K. Kawaguchi, Deep learning without
    poor local minima, 2016. S. Arora, N. Cohen, N. Golowich and W. Hu, A convergence analysis of gradient descent for
    deep linear neural networks, 2019. B. Bah, H. Rauhut, U. Terstiege and M. Westdickenberg, Learning deep linear
    neural networks: Riemannian gradient flows and convergence to global minimizers, 2022.
    """
    if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 2:
        raise parameter("depth", "deep-linear", "a whole number >= 2", depth)
    M = as_given(M)
    hidden = _widths(rank, widths, int(depth))
    problem = low_rank(
        M,
        None,
        "least-squares",
        make("model", "chain", int(depth), hidden, _inputs(inputs, tuple(M.shape))),
        name="deep linear problem",
        owner="deep-linear",
        **cast(Any, {f"U{i + 1}": H for i in range(int(depth))}),
        **checked(options, "deep-linear"),
    )
    return evolve(problem, start=Balanced(), notes=())  # low-rank's are about rows of U and columns of V


def _widths(rank: Any, widths: Any, depth: int) -> tuple[int, ...]:
    if (rank is None) == (widths is None):
        found = "neither" if rank is None else "both"
        raise ParameterError(
            f"The widths of the {depth - 1} hidden layers of deep-linear are given by rank, one number for all, or by "
            f"widths. Got {found}."
        )
    chosen = (rank,) * (depth - 1) if widths is None else tuple(np.atleast_1d(np.asarray(widths, dtype=object)))
    if len(chosen) != depth - 1 or any(
        isinstance(it, bool) or not isinstance(it, (int, np.integer)) or it < 1 for it in chosen
    ):
        if widths is None:
            raise parameter("rank", "deep-linear", "a whole number >= 1", rank)
        raise parameter("widths", "deep-linear", f"{depth - 1} whole numbers >= 1, for {depth} layers", widths)
    return tuple(map(int, chosen))


def _inputs(inputs: Any, shape: tuple[int, ...]) -> Array | None:
    if inputs is None:
        return None
    X = np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs)
    if X.dtype.kind not in "fiub" or X.ndim != 2 or not np.isfinite(X).all() or not X.any():
        raise DataError(
            "The inputs must be a matrix of finite numbers, not all zero, with a column for each column of M. "
            f"Got dtype {X.dtype} and shape {X.shape}."
        )
    if len(shape) == 2 and X.shape[1] != shape[1]:
        raise DataError(f"M has {shape[1]} columns, and the inputs have {X.shape[1]}: one for each is needed.")
    return np.ascontiguousarray(X, dtype=float)


@final
@frozen
class Balanced(Start):
    """``U1 = tQ, Ui = tI, Un = tPᵀ``, Q and P random and orthonormal: layers of one size, with U1 ⋯ Un X as large as M.

    Q and P have as many columns as the narrowest layer has; a wider one is filled with zeros. Then
    ``UiᵀUi = U(i+1)U(i+1)ᵀ``, which gradient flow keeps: no layer runs ahead of the others, and the flow is one on the
    matrices of that rank, which almost always ends in the global minimum. All directions start alike, and none at zero.
    """

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = problem.block
        shapes = block.model.shapes(block.M.shape, block.rank) if isinstance(block, LowRankBlock) else {}
        sizes = list(shapes.values())
        chained = all(len(it) == 2 for it in sizes) and all(a[1] == b[0] for a, b in pairwise(sizes))
        if not isinstance(block, LowRankBlock) or len(sizes) < 2 or not chained:
            raise IncompatibleError(
                f"The start 'balanced' is for a product of two or more matrices, and the {problem.name} has none: "
                "take scaled-random, or give the blocks to start from."
            )
        r = min(min(it) for it in sizes)
        first, last = _orthonormal(sizes[0][0], r, rng), _orthonormal(sizes[-1][1], r, rng).T
        layers: list[Array] = [first, *(np.eye(r) for _ in sizes[2:]), last]
        Y = Blocks(**{name: _padded(A, shapes[name]) for name, A in zip(shapes, layers, strict=True)})
        L, R = block.model.factors(Y)
        norm = math.sqrt(max(float(np.vdot(L.T @ L, R @ R.T)), 0.0))
        return Y * ((block.size / norm) ** (1.0 / len(sizes)) if norm > 0 else 1.0)


def _orthonormal(rows: int, columns: int, rng: np.random.Generator) -> Array:
    return np.asarray(np.linalg.qr(rng.standard_normal((rows, columns)))[0])


def _padded(A: Array, shape: tuple[int, ...]) -> Array:
    """With zeros beyond A."""
    whole = np.zeros(shape)
    whole[: A.shape[0], : A.shape[1]] = A
    return whole
