"""F = (c/2)‖W − A(Y)‖² with a W that is entrywise in X = A(Y), and what the kernels may assume about it.

W is held as M and the factors, and its norms are bounded by theirs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, DataModel, Kernel, Norms, Smad, SmoothPart, make, percent
from bregopt.errors import DataError
from bregopt_lowrank.losses.loss import ColumnLosses
from bregopt_lowrank.matrices.matrix import Matrix, PassResult
from bregopt_lowrank.matrices.size import check_start
from bregopt_lowrank.models import Frozen, Model, Product, kernel_named, quartic

TILE_ENTRIES = 2**18
SINGULAR = 1e-13
"""Share of its trace that a Gram matrix gets added: it may be singular, and a bound may only grow by it."""


@final
@frozen(eq=False)
class LazyW:
    """``W = X − E'(X)/c`` at X = LR; a tile of its rows exists only while it is used."""

    loss: ColumnLosses
    curvature: float
    M: Matrix
    L: Array = field(repr=False)
    R: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.M.shape

    def rows(self, rows: slice) -> Array:
        """A tile of rows, dense."""
        return self.tile(rows)[0]

    def tile(self, rows: slice) -> tuple[Array, float]:
        """A tile of rows, and G of it."""
        X, given = np.asarray(self.L[rows] @ self.R), self.M.read(rows)
        W, G = np.empty_like(X), 0.0
        for run, loss in self.loss.runs(slice(0, self.M.shape[1])):
            part = given.part((slice(None), run))
            W[:, run] = loss.W(X[:, run], part, self.curvature)
            G += loss.G(X[:, run], part, self.curvature)
        return W, G

    def toarray(self) -> Array:
        """The whole of W as a dense array."""
        return np.concatenate([self.rows(rows) for rows in self.M.tiles()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.toarray() if dtype is None else self.toarray().astype(dtype)


@final
@frozen
class Factorization(SmoothPart):
    """``F(Y, W) = (c/2) ‖W − A(Y)‖²``; by default ``½ ‖W − UV‖²``."""

    model: Model = field(factory=Product)
    curvature: float = 1.0
    convex: bool = True
    """whether G is, so that min_W F + G is bounded from below as F is"""
    shape: tuple[int, int] = (0, 0)
    """of W; a model may need it for its kernel"""

    def value(self, Y: Blocks, W: Any) -> float:
        L, R = self.model.factors(Y)
        total = 0.0
        for rows, tile in _tiles(W):
            residual = L[rows] @ R - tile
            total += float(np.vdot(residual, residual))
        return 0.5 * self.curvature * total

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        L, R = self.model.factors(Y)
        on_left, on_right, total = np.zeros_like(L), np.zeros_like(R), 0.0
        for rows, tile in _tiles(W):
            residual = L[rows] @ R - tile
            total += float(np.vdot(residual, residual))
            on_left[rows] = residual @ R.T
            on_right += L[rows].T @ residual
        found = self.model.pull(Y, on_left, on_right)
        gradient = Y.map(lambda name, _: found[name])
        return 0.5 * self.curvature * total, gradient if self.curvature == 1 else gradient * self.curvature

    @property
    def of_product(self) -> bool:
        return isinstance(self.model, Product)

    def gram(self, Y: Blocks, name: str) -> Array | None:
        G = self.model.gram(Y, name)
        return G if G is None or self.curvature == 1 else self.curvature * G

    def by_columns(self, Y: Blocks, name: str) -> bool:
        return self.model.by_columns(name)

    def block_lipschitz(self, Y: Blocks, name: str) -> float | None:
        L = self.model.block_curvature(Y, name)
        return None if L is None else self.curvature * L

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        return constants(self, kernel, norms, reduced)

    def one_smad(self, kernel: Kernel, norms: Norms) -> bool:
        """By the kernel of the theorem with ‖W‖_F for ‖W‖₂: the Frobenius norm costs nothing."""
        c = self.curvature
        return self.of_product and "frobenius" in norms and kernel.share(quartic(c, c * norms["frobenius"])) >= 1.0

    def data_model(self, block: Any) -> "LowRankData | None":
        if not isinstance(block, LowRankBlock):
            return None
        return LowRankData(block.model, block.loss, block.M.shape, block.rank)

    def freeze(self, block: Any, fixed: Blocks) -> "tuple[Factorization, LowRankBlock, Kernel] | None":
        """F is then convex in what is left, and Lipschitz: a quadratic kernel will do."""
        if not isinstance(block, LowRankBlock):
            return None
        model = Frozen.of(self.model, fixed, block.M.shape, block.rank)
        shape = block.M.shape
        return evolve(self, model=model), evolve(block, model=model), model.lift(self.curvature, 0.0, shape)


@final
@frozen(eq=False)
class LowRankData(DataModel):
    """M as Y has it: what the loss predicts at A(Y)."""

    model: Model
    loss: ColumnLosses
    matrix: tuple[int, int]
    """m and n of M, or of the matrix that a tensor is unfolded into"""
    rank: int

    @property
    def formula(self) -> str:
        return self.loss.formula(self.model.formula)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.folded(self.matrix)

    def rows(self, Y: Blocks, rows: slice) -> Array:
        L, R = self.model.factors(Y)
        shape = self.shape
        lines, rest = divmod(len(L), shape[0])  # of the matrix, for one row of the data
        if rest or not lines:  # the data are one line of the matrix
            return self.loss.predict(L @ R).reshape(shape)[rows]
        X = self.loss.predict(L[rows.start * lines : rows.stop * lines] @ R)
        return X.reshape(rows.stop - rows.start, *shape[1:])

    def answer(self, metrics: Mapping[str, float]) -> str:
        error = metrics.get(self.loss.metric, math.nan)
        if not math.isfinite(error):
            return ""
        told = self.loss.answer.format(formula=self.formula, error=percent(error)) or self.reproduces("M", error)
        unseen = metrics.get(HELD_OUT, math.nan)
        kept = f", and what was held out to {percent(unseen)}" if math.isfinite(unseen) else ""
        return f"{told}{kept}" + (f" (rank {self.rank})" if self.model.ranks(self.matrix) is not None else "")


def _tiles(W: Any) -> Iterator[tuple[slice, Array]]:
    """W, lazy or an array, as tiles of rows."""
    m, n = W.shape
    size = max(1, TILE_ENTRIES // n)
    for start in range(0, m, size):
        rows = slice(start, min(start + size, m))
        yield rows, W.rows(rows) if isinstance(W, LazyW) else W[rows]


@final
@frozen(eq=False)
class LowRankBlock(ClosedFormBlock):
    """``W(Y) = argmin_W (c/2)‖W − A(Y)‖² + G(W)`` for the G of an entrywise loss: W = X − E'(X)/c at X = A(Y)."""

    M: Matrix
    rank: int
    reduced_norm: float
    """an upper bound of ‖E'(0)‖₂, which stands for c‖W‖₂ in the constants of min_W F + G"""
    loss: ColumnLosses
    curvature: float
    """c, an upper bound of e'' times the weights"""
    model: Model = field(factory=Product)
    radius: float = 0.0
    """an upper bound of ‖W‖_F over the known entries whose loss is not convex"""
    held_out: Matrix | None = field(default=None, repr=False)
    """entries that are kept from the fit, to measure it by"""

    @cached_property
    def rounding(self) -> float:
        """The part of its scale below which a difference of two values of F says nothing."""
        return 1e-12 if self.M.dtype == np.float64 else 1e-6

    @cached_property
    def last_places(self) -> float:
        """A few units in the last place of a product."""
        return 4.0 * (2.0**-52 if self.M.dtype == np.float64 else 2.0**-23)

    def scale(self, value: float, L: Array, R: Array) -> float:
        """Of the value: an entry of LR is known to a few units in the last place of |l_i||r_j|."""
        return self.scale_by_norms(value, norm(L), norm(R))

    def scale_by_norms(self, value: float, left: float, right: float) -> float:
        """``scale``, for ‖L‖ and ‖R‖."""
        unit, c = self.last_places * left * right, self.curvature
        return value + unit * (math.sqrt(2.0 * c * max(value, 0.0)) + c * unit) / self.rounding

    def gradient_rounding(self, residual: float, left: float, right: float) -> float:
        """Of (SRᵀ, LᵀS), for ‖S‖, ‖L‖ and ‖R‖: S is known to the rounding of LR, and a product to its last places."""
        return (self.curvature * left * right + residual) * self.last_places * math.hypot(left, right)

    def check(self, Y: Blocks) -> None:
        """Refuse the factors of a start that do not fit M, or cannot be computed with."""
        self.check_shapes(Y)
        check_start(Y, self.M.dtype)

    def check_shapes(self, Y: Blocks) -> None:
        """Refuse factors that do not fit M."""
        names, shapes = self._wanted
        if Y.layout.names != names or Y.layout.shapes != shapes:
            pairs = zip(names, shapes, strict=True)
            wanted = " and ".join(f"{name}: {'×'.join(map(str, shape))}" for name, shape in pairs)
            raise DataError(f"The factors must be {wanted} for this M and rank. Got {Y!r} instead.")

    @cached_property
    def _wanted(self) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
        """The names of the factors, and their shapes."""
        shapes = self.model.shapes(self.M.shape, self.rank)
        return tuple(shapes), tuple(shapes.values())

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> LazyW:
        return LazyW(self.loss, self.curvature, self.M, *self.model.factors(Y))

    def value(self, W: LazyW) -> float:
        return sum(W.tile(rows)[1] for rows in self.M.tiles())

    def density(self) -> float:
        """The share of the entries that bend the loss: those that data fix."""
        m, n = self.M.shape
        loss = self.loss.single
        return (self.M.known if loss is None or not loss.flat_at_zero else self.M.nonzeros) / (m * n)

    def norms(self, W: LazyW) -> Norms:
        square = residual = 0.0
        for rows in self.M.tiles():
            tile = W.rows(rows).astype(np.float64)
            square += float(np.vdot(tile, tile))
            tile -= W.L[rows] @ W.R
            residual += float(np.vdot(tile, tile))
        return self.bounds(lambda: math.sqrt(square), math.sqrt(residual), W.L, W.R)

    def bounds(self, frobenius: Callable[[], float], residual: float, L: Array, R: Array) -> Norms:
        """Norms of W from ‖W‖_F and ‖W − LR‖_F: ``‖W‖₂ ≤ min(‖W‖_F, ‖LR‖₂ + ‖W − LR‖_F)``."""

        def spectral(norms: Norms) -> float:
            return min(norms["frobenius"], product_norm(L.T @ L, R @ R.T) + residual)

        return Figures({"reduced": self.reduced_norm}, {"frobenius": lambda _: frobenius(), "spectral": spectral})

    def bound_norms(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """W(·) and W(·) − X are nonexpansive in X: bounds grow by the change of X, the spectral one twice.

        Where the loss is not convex, W may jump, within its radius.
        """
        if Y is Y_prev and self.loss.convex:
            return norms

        grown = GrownNorms(self, norms, Y, Y_prev)
        later = {"frobenius": lambda _: grown.frobenius, "spectral": lambda _: grown.spectral}
        return Figures({"reduced": self.reduced_norm}, later)

    def metrics(self, error: float, residual: float, L: Array, R: Array) -> Mapping[str, float]:
        """The figures of a fit, from the sums of a pass; the error of what was held out is computed when it is read."""
        M = self.M
        figures = {self.loss.metric: self.relative(error, M), "model_residual": residual / self.curvature / self.size}
        if self.held_out is None:
            return figures
        return Figures(figures, {HELD_OUT: lambda _: self._held_out_error(L, R)})

    @cached_property
    def size(self) -> float:
        """What residuals are relative to: ‖M‖_F, or the root of the known entries where that is zero, at least 1."""
        return self.M.frobenius or math.sqrt(max(self.M.known, 1))

    def relative(self, error: float, M: Matrix) -> float:
        """The metric of the loss from its summed error."""
        if self.loss.metric == "mistakes":
            return error / max(M.known, 1)
        return math.sqrt(error) / (M.frobenius or math.sqrt(max(M.known, 1)))

    def _held_out_error(self, L: Array, R: Array) -> float:
        if self.held_out is None:
            raise RuntimeError("Nothing was held out.")
        from bregopt_lowrank.matrices.matrix import PassRequest

        result: PassResult = self.held_out.run_pass(PassRequest(self.loss, self.curvature, L, R))
        return self.relative(result.error, self.held_out)


@final
@frozen(eq=False)
class GrownNorms:
    """Bounds for the norms of W(Y) from those of W(Y_prev), for ``LowRankBlock.bound_norms``."""

    block: LowRankBlock
    before: Norms
    Y: Blocks
    Y_prev: Blocks

    @cached_property
    def change(self) -> float:
        """‖A(Y) − A(Y_prev)‖_F"""
        factors = self.block.model.factors
        return 0.0 if self.Y is self.Y_prev else product_change(factors(self.Y), factors(self.Y_prev))

    @cached_property
    def frobenius(self) -> float:
        grown = self.before["frobenius"] + self.change
        return grown if self.block.loss.convex else math.hypot(grown, self.block.radius)

    @cached_property
    def spectral(self) -> float:
        if not self.block.loss.convex:
            return self.frobenius
        return min(self.frobenius, self.before["spectral"] + 2.0 * self.change)


@final
class Figures(Mapping[str, float]):
    """Numbers by name: those that are ``known``, and those that come ``later`` from all, when they are first read."""

    __slots__ = ("_known", "_later")

    def __init__(self, known: dict[str, float], later: Mapping[str, Callable[[Norms], float]]) -> None:
        self._known, self._later = known, later

    def __getitem__(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = self._later[name](self)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._later

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._later})

    def __len__(self) -> int:
        return len(self._known.keys() | self._later.keys())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as numbers: what comes later is computed now."""
        return Figures, (dict(self), {})


HELD_OUT = "held_out_error"


def norm(X: Array) -> float:
    """‖X‖_F."""
    x = X.ravel("K")
    return math.sqrt(x.dot(x))


def product_norm(UtU: Array, VVt: Array) -> float:
    """‖UV‖₂ from the r×r Gram matrices UᵀU and VVᵀ, scaled against overflow."""
    u, v = float(np.trace(UtU)), float(np.trace(VVt))
    if not 0 < u * v < math.inf:
        return math.sqrt(u) * math.sqrt(v)
    root = np.linalg.cholesky(VVt / v + SINGULAR * np.eye(len(VVt)))
    top = float(np.linalg.eigvalsh(root.T @ (UtU / u) @ root)[-1])
    return math.sqrt(u) * math.sqrt(v) * math.sqrt(max(top, 0.0))


def product_change(new: tuple[Array, Array], old: tuple[Array, Array]) -> float:
    """‖LR − L'R'‖_F from r×r Gram matrices, without cancellation."""
    dU, dV = new[0] - old[0], new[1] - old[1]
    U, V = old[0], new[1]  # the difference is dU·V + U·dV
    square = np.vdot(dU.T @ dU, V @ V.T) + 2.0 * np.vdot(U.T @ dU, dV @ V.T) + np.vdot(U.T @ U, dV @ dV.T)
    return math.sqrt(max(float(square), 0.0))


def constants(
    F: Factorization, kernel: Kernel, norms: Norms, reduced: bool, extra: Kernel | None = None
) -> Smad | None:
    """The constants for any kernel, from ``D_F ≤ D_{cψ1 + wψ2}`` and ``−D_F ≤ D_{½cψ1 + wψ2}``, w = c‖W‖₂.

    For the reduced function w = ‖E'(0)‖₂ will do, where the loss is convex; where it is not, F(·, W) bounds it from
    above only. F knows the product UV alone, so both also hold with the blocks rescaled to (tU, V/t). ``extra`` is what
    a further convex term of F needs from above. L is at least 1, as in the paper: the step 1/L is then known before W
    is, for every kernel that follows W.
    """
    c = F.curvature
    if reduced and F.convex:
        if "reduced" not in norms:
            return None
        below = norms["reduced"]
        known = _by_theorem(F, kernel, below, below, extra)
        if known is not None and known.upper == 1.0:
            return known  # a smaller w could not make L smaller, so that ‖W‖₂ need not be known
    if "spectral" not in norms:
        return None
    spectral = c * norms["spectral"]
    below = norms["reduced"] if reduced and F.convex else spectral
    known = _by_theorem(F, kernel, min(below, spectral), below, extra)
    if known is None and isinstance(F.model, Product):
        reference = quartic(c, spectral, "schatten4")  # from above only, and for the whole W only
        share = kernel.share(reference if extra is None else reference + extra)
        known = Smad(max(1.0, 1.0 / share)) if share > 0 else None
    return known if known is None or F.convex or not reduced else Smad(known.upper)


def _by_theorem(F: Factorization, kernel: Kernel, above: float, below: float, extra: Kernel | None) -> Smad | None:
    """The constants with w as ``above`` and ``below`` in the two bounds."""
    if isinstance(F.model, Product):
        return _by_fourth_power(kernel, F.curvature, above, below, extra)
    return _by_lift(F.model, F.shape, kernel, F.curvature, above, below, extra)


@lru_cache(maxsize=8)  # a kernel that does not follow W is asked for at every iteration
def _by_lift(
    model: Model, shape: tuple[int, int], kernel: Kernel, c: float, above: float, below: float, extra: Kernel | None
) -> Smad | None:
    """The constants by the share of the model's own kernel."""
    reference = model.lift(c, above, shape)
    share = kernel.share(reference if extra is None else reference + extra)
    if not share > 0:
        return None
    upper = max(1.0, 1.0 / share)
    if model.convex:
        return Smad(upper, 0.0)
    low = model.lift(0.5 * c, below, shape)
    share_below = kernel.share(low)
    return Smad(upper, 1.0 / share_below if share_below > 0 else None, low)


@lru_cache(maxsize=8)
def _by_fourth_power(kernel: Kernel, c: float, above: float, below: float, extra: Kernel | None) -> Smad | None:
    """The constants by the share of ψ1, with w as ``above`` and ``below`` in the two bounds."""
    on_U, on_V = kernel.share(_unit_quadratic("U")), kernel.share(_unit_quadratic("V"))
    if min(on_U, on_V) <= 0:
        return None
    tau = math.sqrt(on_U / on_V)
    upper = _least(kernel, tau, c, above, 1.0, extra)
    if upper == math.inf:
        return None
    return Smad(max(1.0, upper), _least(kernel, tau, 0.5 * c, below, below or 1.0), quartic(0.5 * c, below))


def _least(kernel: Kernel, tau: float, a: float, w: float, scale: float, extra: Kernel | None = None) -> float:
    """The least L with ``Lψ − aψ1 − w(τ‖U‖² + ‖V‖²/τ)/2`` convex, for the best τ, and ψ1 rescaled alike or not.

    Both sides are divided by ``scale`` first: with w for it no rounding comes between two equal quadratic parts.
    """
    psi1 = kernel_named("psi1")
    forms = [(a / scale) * psi1 + (w / scale) * _half_square()]
    if tau != 1:
        quadratic = (w / scale * tau) * _unit_quadratic("U") + (w / scale / tau) * _unit_quadratic("V")
        forms += [(a / scale) * leading + quadratic for leading in (psi1, _rescaled(tau))]
    share = max(kernel.share(form if extra is None else form + (1.0 / scale) * extra) for form in forms)
    return scale / share if share > 0 else math.inf


@cache
def _unit_quadratic(name: str) -> Kernel:
    """``½‖Y_i‖²`` of the block with that name."""
    kernel: Kernel = make("kernel", "block-quadratic", **{name: 1.0})
    return kernel


@cache
def _half_square() -> Kernel:
    """``½‖U‖² + ½‖V‖²``, which says nothing of other blocks."""
    return _unit_quadratic("U") + _unit_quadratic("V")


def _rescaled(tau: float) -> Kernel:
    """``ψ1(√τ·U, V/√τ)``."""
    kernel: Kernel = make("kernel", "balanced", tau)
    return kernel
