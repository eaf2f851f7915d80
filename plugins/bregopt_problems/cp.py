"""CP decomposition: a tensor as a sum of products of vectors."""

import math
import re
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from attrs import evolve
from bregopt_lowrank import LocalMatrix, LowRankBlock, Matrix, low_rank

from bregopt import Fixed, Problem, Regularizer, make
from bregopt.errors import DataError, parameter
from bregopt_problems.entries import as_given
from bregopt_problems.nonnegative import AbsoluteRandom, on_orthant
from bregopt_problems.options import Options, checked

Penalty = Regularizer | Fixed | str
"""H of a block, or the block itself."""


def cp(
    T: Any,
    rank: int | None = None,
    nonneg: bool = False,
    loss: str = "least-squares",
    H: Regularizer | str = "none",
    **options: Any,
) -> Problem:
    """``min Σ e(x; t) + H(U1) + … + H(Un)``, X = Σ_p u1_p ∘ … ∘ un_p: a tensor by r products of vectors (PARAFAC).

    ``problem = bo.compose("cp", T, rank=3, nonneg=True)``; the columns of ``bo.solve(problem).Y.U1`` are the u1_p, and
    ``np.einsum("ip,jp,kp->ijk", *result.Y)`` is X for three dimensions.

    A tensor of three or more dimensions may have no best approximation of rank r: the factors of ever better ones grow
    without end, and cancel. A ridge, or ``nonneg``, rules this out. Without H the n vectors of a product share its size
    in any way; under the same ridge for all factors they are equally long.

    Parameters
    ----------
    T : array
        Of n ≥ 2 dimensions: numpy, or pydata ``sparse``; nan is missing. The zeros of a sparse T are data, and cost
        nothing with least squares; with ``missing="zeros"`` they are unknown. T is unfolded into a matrix: besides T,
        what is held is r times the sizes of the two groups of dimensions that come out.
    rank : int
        Columns of every factor.
    nonneg : bool
        Whether every factor is non-negative. H then holds on the orthant, as ``with-nonneg(H)``, and the start is
        ``absolute-random``.
    loss : str
        Any entrywise loss, such as ``huber(0.5)``, or ``logistic`` for a T of signs.
    H : Regularizer or str
        The same on every factor.
    **options
        ``U1``, …, ``Un``: H of one factor instead, or ``bo.Fixed(X)`` on all factors but one, where an error says which
        one can be free; and ``mask``, ``weights``, ``missing``, ``held_out``, ``kernel``, ``dtype`` and ``threads``, as
        in ``low-rank``.

    References
    ----------
    T. G. Kolda and B. W. Bader, Tensor decompositions and applications, 2009. V. de Silva and L.-H. Lim, Tensor rank
    and the ill-posedness of the best low-rank approximation problem, 2008.
    """
    if not isinstance(nonneg, (bool, np.bool_)):
        raise parameter("nonneg", "cp", "True or False", nonneg)
    return cp_problem(T, rank, loss, H, options, "cp", "CP problem", nonneg=bool(nonneg))


def cp_problem(
    T: Any,
    rank: int | None,
    loss: str,
    H: Regularizer | str,
    options: Mapping[str, Any],
    owner: str,
    name: str,
    *,
    nonneg: bool = False,
) -> Problem:
    """``low-rank`` with the model ``cp``, for as many blocks as T has dimensions."""
    T = as_given(T)
    dims = tuple(map(int, T.shape))
    if len(dims) < 2 or not all(dims):
        raise DataError(f"T must be an array of two or more dimensions >= 1 for {owner}. Got shape {dims} instead.")
    blocks = {f"U{i + 1}": H for i in range(len(dims))} | _blocks(options, len(dims), owner)
    rest = {key: it for key, it in options.items() if key not in blocks}
    problem = low_rank(
        T,
        _rank(rank, dims, owner),
        loss,
        f"cp({len(dims)})",
        name=name,
        owner=owner,
        **cast(Any, {key: on_orthant(it, key, owner) if nonneg else it for key, it in blocks.items()}),
        **checked(cast(Options, rest), owner),
    )
    notes = empty_slices(cast(LowRankBlock, problem.block).M, dims)
    return evolve(problem, start=AbsoluteRandom() if nonneg else problem.start, notes=tuple(notes))


def _blocks(options: Mapping[str, Any], n: int, owner: str) -> dict[str, Penalty]:
    """What the options say of one block each."""
    found: dict[str, Penalty] = {}
    for name, part in options.items():
        if not re.fullmatch(r"U\d*|V", name):
            continue
        if name not in {f"U{i + 1}" for i in range(n)}:
            raise parameter(name, owner, f"left out: the blocks are U1 to U{n}, as T has {n} dimensions", part)
        found[name] = part if isinstance(part, Fixed) else make("regularizer", part)
    return found


def _rank(rank: Any, dims: tuple[int, ...], owner: str) -> int:
    most = math.prod(dims) // max(dims)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 1 <= rank <= most:
        size = "×".join(map(str, dims))
        raise parameter("rank", owner, f"a whole number from 1 to {most}, which any {size} tensor can do with", rank)
    return int(rank)


def empty_slices(M: Matrix, dims: tuple[int, ...]) -> list[str]:
    """A sentence about the slices of each dimension that have no known entry, of a tensor that M is unfolded from."""
    if not M.missing or not isinstance(M, LocalMatrix):
        return []
    if M.sampled:
        known = ~np.isnan(M.values)
        rows = np.repeat(np.arange(M.shape[0], dtype=np.int64), np.diff(M.starts))
        places = np.unravel_index((rows * M.shape[1] + M.columns)[known], dims)
    else:
        places = np.nonzero(np.concatenate([~np.isnan(M.read(part).M) for part in M.tiles()]).reshape(dims))
    sentences = []
    for i, place in enumerate(places):
        empty = np.flatnonzero(np.bincount(place, minlength=dims[i]) == 0)
        if empty.size:
            many = f"{empty.size} slices" if empty.size > 1 else "1 slice"
            sentences.append(
                f"{many} of dimension {i + 1} without a known entry, the first is {empty[0]}: there U{i + 1} is what H "
                "alone says."
            )
    return sentences
