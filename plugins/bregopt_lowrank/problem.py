"""The general door: a matrix, a loss for its entries, a model, and a regularizer on each block."""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, final

import numpy as np
from attrs import evolve, frozen

from bregopt import (
    Blocks,
    Fixed,
    Kernel,
    KernelByMode,
    KernelPolicy,
    Problem,
    Regularizer,
    Separable,
    SmoothPart,
    SmoothRegularizer,
    Trait,
    make,
)
from bregopt.errors import DataError, IncompatibleError, PartError, brief, parameter
from bregopt_lowrank.data import Given, empty_lines, read, split_off
from bregopt_lowrank.factorization import Factorization, LazyW, LowRankBlock
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.matrices.matrix import Matrix
from bregopt_lowrank.matrices.spectrum import slope_norm
from bregopt_lowrank.models import Model
from bregopt_lowrank.policies import NormPolicy
from bregopt_lowrank.smooth_terms import SharedPolicy, WithSmooth
from bregopt_lowrank.starts import ScaledRandom

Losses = EntrywiseLoss | str | Mapping[str, Any] | Sequence[Any]
"""One loss, or one for each column: a mapping of ranges such as ``"0:10"``, or a list."""
OWNER = "low-rank"
"""What errors call the general problem."""


def low_rank(
    M: Any,
    rank: int | None = None,
    loss: Losses = "least-squares",
    model: Model | str = "product",
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "none",
    kernel: KernelPolicy | str = "auto",
    mask: Any = None,
    weights: Any = None,
    missing: str | None = None,
    upper: Any = None,
    smooth: Mapping[str, SmoothRegularizer] | None = None,
    held_out: float = 0.0,
    held_out_seed: int = 0,
    dtype: str = "auto",
    threads: int | None = None,
    *,
    name: str = "low-rank problem",
    owner: str = OWNER,
    **regularizers: Regularizer | str,
) -> Problem:
    """``min Σ e(x_ij; m_ij) + H(Y)`` over the known entries of M, X = A(Y): any entrywise loss of a low-rank model.

    Parameters
    ----------
    M : array or sparse matrix
        m×n: numpy, any scipy.sparse format, pydata sparse, a dask array, a torch tensor, or anything that is sliced by
        rows, such as ``numpy.memmap``, zarr or h5py: such a matrix is read tile by tile, and never held as a whole. An
        entry that is nan is missing. A dense array of the right type is used as it is, without a copy: do not change it
        while the problem is in use.
    rank : int
        Columns of U and rows of V. With a fixed block it is known.
    loss : str, EntrywiseLoss, mapping or list
        ``least-squares``, ``huber(0.5)``, ``logistic`` …, or one for each column:
        ``{"0:10": "logistic", "10:": "huber(1)"}``.
    model : str or Model
        ``product``: UV; ``symmetric``: UUᵀ; ``with-bias``: UV + a1ᵀ + 1bᵀ; ``cp(3)``: Σ u1_p ∘ u2_p ∘ u3_p for an M of
        three dimensions; ``chain(3)``: U1 U2 U3; ``make("model", "linear", A)``: Ax;
        ``make("model", "convolution", (5, 5))``: k ∗ x.
    U, V, … : Regularizer, str or Fixed
        H on each block, by the name of the block; ``bo.Fixed(V0)`` keeps the block as it is.
    kernel : str or Kernel
        ``auto``: the tightest that the method's theory allows; ``tight``, ``paper``, ``s4``, or one of your own.
    mask : array of bool, optional
        True where an entry is known.
    weights : array, optional
        A number ≥ 0 for each entry; of a sparse M also a sparse matrix on its stored entries, the others have weight 1.
    missing : str, optional
        ``zeros``: the zeros of M are unknown; stored zeros of a sparse M are known then. ``nan``: only nan is unknown.
        By default the loss decides.
    upper : array, optional
        The second number of each entry, for a loss that takes two: ``interval`` has M and ``upper`` as its ends.
    smooth : mapping, optional
        Smooth terms by block that are put into F instead of H, such as ``{"U": Graph(L, mu)}``: the step then takes
        their gradients, and the kernel the share that their curvature needs, row by row where H is separable.
    held_out : float
        The share of the known entries that is kept from the fit; the error on them is the metric ``held_out_error``.
    held_out_seed : int
        Which entries these are: they are drawn at random by this seed.
    dtype : str
        Of the products: ``float64`` or ``float32``; ``auto`` is float32 for an M of that type. Sums, steps and factors
        are float64.
    threads : int, optional
        For the pass; by default ``BREGOPT_THREADS``, or as many as there are processors.
    """
    given = Given(M, mask, weights, upper).resolved()
    named: Model = make("model", model)
    form, matrix = named.unfolded(given.shape)
    given = given.unfolded(matrix)
    chosen = _losses(loss, matrix, owner)
    absent = missing or ("zeros" if all(part.zero == "missing" for part in chosen.losses) else None)
    data = read(evolve(given, missing=absent), dtype, threads, owner)
    _check_given(data, given.M, chosen, dtype, threads, upper, owner)
    tested = None
    if held_out:
        if not 0 < held_out < 1:
            raise parameter("held_out", owner, "a number from 0 to below 1", held_out)
        if not isinstance(data, LocalMatrix) or not data.in_memory:
            raise parameter("held_out", owner, "left out for an M that is not in memory", held_out)
        if isinstance(held_out_seed, bool) or not isinstance(held_out_seed, int) or held_out_seed < 0:
            raise parameter("held_out_seed", owner, "a whole number >= 0", held_out_seed)
        data, tested = split_off(data, held_out, np.random.default_rng(held_out_seed))
    form.check(data.shape)
    blocks: dict[str, Any] = {"U": U, "V": V, **regularizers}
    fixed = {block: part.X for block, part in blocks.items() if isinstance(part, Fixed)}
    size = _rank(rank, fixed, form, data.shape, owner)
    names = tuple(form.shapes(data.shape, size))
    for block, part in blocks.items():
        if block not in names and part != "none":
            raise parameter(block, owner, f"left out: the blocks of this model are {', '.join(names)}", part)
    H = {block: make("regularizer", blocks.get(block, "none")) for block in names if block not in fixed}
    c = chosen.bound * data.most
    norm = slope_norm(data, chosen, c) if chosen.convex and kernel in ("auto", "fixed") else _frobenius(data, chosen, c)
    F = Factorization(form, c, chosen.convex, data.shape)
    policy = _policy(kernel, F, chosen, norm, name)
    S: SmoothPart = F
    if smooth:
        S, policy = _with_smooth(smooth, F, H, policy, form.shapes(data.shape, size), owner)
    problem = Problem(
        smooth=S,
        block=LowRankBlock(data, size, norm, chosen, c, form, _radius(data, chosen), tested),
        regularizer=Separable(**H),
        kernel=policy,
        start=ScaledRandom(),
        metrics=_metrics(data, chosen, c, form),
        name=name,
        kernel_named=kernel != "auto",
        notes=(*_named(chosen), *(empty_lines(data) if form.affine and form.ranks(data.shape) else ())),
    )
    return problem.freeze(**fixed) if fixed else problem


def _losses(loss: Losses, shape: Any, owner: str) -> ColumnLosses:
    """The loss of every column."""
    columns = int(shape[1])
    if isinstance(loss, Mapping):
        found: list[EntrywiseLoss | None] = [None] * columns
        for where, part in loss.items():
            made = make("loss", part)
            for column in _columns(where, columns, owner):
                if found[column] is not None:
                    raise parameter("loss", owner, "one for each column", f"two for column {column}")
                found[column] = made
        if None in found:
            raise parameter("loss", owner, "one for each column", f"none for column {found.index(None)}")
        return ColumnLosses.by_column([_tried(part) for part in found if part is not None])
    if isinstance(loss, Sequence) and not isinstance(loss, str):
        if len(loss) != columns:
            raise parameter("loss", owner, f"a list of {columns}, one for each column", f"{len(loss)} losses")
        return ColumnLosses.by_column([_tried(make("loss", part)) for part in loss])
    return ColumnLosses.one(_tried(make("loss", loss)), columns)


def _tried(loss: EntrywiseLoss) -> EntrywiseLoss:
    """The loss, once its function was called: what numba says of a mistake there does not name its line."""
    found: object = type(loss).entry(0.5, 1.0, *((1.0,) if loss.bounds else ()), *loss.parameters)
    match found:
        case (Real(), Real(), Real()):
            return loss
    code = type(loss).entry.__code__
    raise PartError(
        f"{type(loss).__name__}.entry must return three numbers, (e, e', e''). It returned {brief(found)} "
        f"({code.co_filename}:{code.co_firstlineno})."
    )


def _columns(where: Any, columns: int, owner: str) -> range:
    """The columns of a range such as "0:10", "10:" or "3"."""
    rule = "columns as '3', '0:10' or '10:'"
    first, colon, last = str(where).partition(":")
    try:
        start = int(first) if first else 0
        stop = (int(last) if last else columns) if colon else start + 1
    except ValueError:
        raise parameter("loss", owner, rule, where) from None
    if not 0 <= start < stop <= columns:
        raise parameter("loss", owner, f"{rule} within the {columns} columns of M", where)
    return range(start, stop)


def _named(loss: ColumnLosses) -> list[str]:
    """A sentence that names the loss of each column, where there are several."""
    if loss.single is not None:
        return []
    runs = []
    start = 0
    for stop, number in zip(loss.stops, loss.which, strict=True):
        columns = f"column {start}" if stop == start + 1 else f"columns {start} to {stop - 1}"
        runs.append(f"{columns}: {loss.losses[number]!r}")
        start = stop
    return [f"The losses are {'; '.join(runs)}."]


def _check_given(
    data: Matrix, M: Any, loss: ColumnLosses, dtype: str, threads: int | None, upper: Any, owner: str
) -> None:
    if dtype not in ("auto", data.dtype.name):
        raise parameter("dtype", owner, f"'auto' or {data.dtype.name!r}, which this M decides on", dtype)
    if threads is not None and not isinstance(data, LocalMatrix):
        raise parameter("threads", owner, "left out for this M, which comes with its own", threads)
    if (upper is None) == loss.bounds and not isinstance(M, Matrix):
        rule = "given: the loss takes two numbers an entry" if loss.bounds else "left out: the loss takes one number"
        raise parameter("upper", owner, rule, upper if upper is None else "an array")
    only = loss.single if owner != OWNER else None  # a loss that the user did not name
    if only is not None and data.lowest < 0 and not only.fits(np.array([data.lowest])).all():
        raise DataError(f"M must be {only.data}. Got a smallest entry of {data.lowest:g} instead.")
    unfit = data.unfit(loss)
    if unfit is not None:
        raise DataError(f"M must be {unfit[0].data} for {unfit[0]!r}. Got {unfit[1]:g} instead.")


def _rank(rank: Any, fixed: Mapping[str, Any], model: Model, shape: tuple[int, int], owner: str) -> int:
    (m, n), ranks = shape, model.ranks(shape)
    if ranks is None:
        if rank is not None:
            raise parameter("rank", owner, "left out: this model has none", rank)
        return 1
    if fixed and ("V" in fixed or "U" in fixed):
        X = fixed.get("V", fixed.get("U"))
        if np.ndim(X) != 2:
            raise DataError(f"A fixed block must be a matrix. Got {np.ndim(X)} dimensions instead.")
        found = np.shape(X)[0 if "V" in fixed else 1]
        if rank is not None and rank != found:
            raise parameter("rank", owner, f"{found}, as the fixed block has it, or left out", rank)
        return int(found)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or rank not in ranks:
        most = f"from 1 to {ranks[-1]}, as M is {m}×{n}" if ranks[-1] < m * n else ">= 1"
        raise parameter("rank", owner, f"a whole number {most}", rank)
    return int(rank)


def _policy(kernel: KernelPolicy | str, F: Factorization, loss: ColumnLosses, norm: float, name: str) -> KernelPolicy:
    c, model, shape = F.curvature, F.model, F.shape
    tight = NormPolicy(1.0, "spectral", curvature=c, model=model, shape=shape)
    if kernel == "auto":
        return KernelByMode(lagged=tight, reduced=model.lift(c, norm, shape) if loss.convex else tight)
    if kernel == "fixed":
        if not loss.convex:
            raise IncompatibleError(f"The kernel 'fixed' needs a convex loss, and {loss.losses!r} are not: use tight.")
        return model.lift(c, norm, shape)
    policy: KernelPolicy = make("kernel", kernel)
    if isinstance(policy, NormPolicy):
        return evolve(policy, curvature=c, model=model, shape=shape)
    point = {block: np.full((1, 1), -1.0) for block in model.shapes(shape, 1)}
    if not policy.sample().contains(Blocks(**point)):
        raise IncompatibleError(
            f"The {name} cannot use the kernel {policy.sample()!r}: its domain is not the whole space, and no constant "
            "L makes ½‖W − UV‖² smooth adaptable to it. Use auto, tight, fixed, paper or s4."
        )
    return policy


def _frobenius(M: Matrix, loss: ColumnLosses, c: float) -> float:
    return M.frobenius if loss.slope_per_data is not None and M.plain else slope_norm(M, loss, c, rough=True)


def _radius(M: Matrix, loss: ColumnLosses) -> float:
    """An upper bound of ‖W‖_F over the known entries whose loss is not convex."""
    if loss.convex:
        return 0.0
    square = 0.0
    for rows in M.tiles():
        tile = M.read(rows).M
        for run, part in loss.runs(slice(0, M.shape[1])):
            if not part.convex:
                known = tile[:, run][~np.isnan(tile[:, run])]
                square += float(np.square(part.largest(known)).sum())
    return math.sqrt(square)


def _with_smooth(
    smooth: Mapping[str, SmoothRegularizer],
    F: Factorization,
    H: Mapping[str, Regularizer],
    policy: KernelPolicy,
    shapes: Mapping[str, tuple[int, ...]],
    owner: str,
) -> tuple[WithSmooth, KernelPolicy]:
    bounds: dict[str, Kernel] = {}
    for name, S in smooth.items():
        if not isinstance(S, SmoothRegularizer):
            raise parameter("smooth", owner, "SmoothRegularizers by block, as make('regularizer', 'graph', L)", S)
        if name not in shapes:
            raise parameter("smooth", owner, f"by block, one of {', '.join(shapes)}", name)
        share = S.curvature(np.empty(shapes[name]))
        if name in H and Trait.SEPARABLE not in H[name].traits:
            share = np.full((1, 1), share.max())
        bounds[name] = make("kernel", "block-quadratic", **{name: share if share.size > 1 else float(share.max())})
    F_S = WithSmooth(dict(smooth), bounds, F)
    return F_S, SharedPolicy(policy, F_S.bound)


@final
@frozen(eq=False)
class FitFigure:
    """One of the figures of the fused pass, for the plain oracle."""

    block: LowRankBlock
    name: str

    def __call__(self, Y: Blocks, W: Any) -> float:
        block, M, error, residual = self.block, self.block.M, 0.0, 0.0
        L, R = block.model.factors(Y)
        lazy = LazyW(block.loss, block.curvature, M, L, R)
        for rows in M.tiles():
            X, tile = L[rows] @ R, M.read(rows)
            error += float(block.loss.on(X, tile, slice(0, M.shape[1])).error.sum())
            residual += float(np.square(lazy.rows(rows) - X).sum())
        return block.metrics(error, block.curvature * math.sqrt(residual), L, R)[self.name]


def _metrics(M: Matrix, loss: ColumnLosses, c: float, model: Model) -> Mapping[str, FitFigure]:
    block = LowRankBlock(M, 1, math.inf, loss, c, model)
    return {name: FitFigure(block, name) for name in (loss.metric, "model_residual")}
