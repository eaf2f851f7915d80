"""F = ½‖W − UV‖² with a W that is entrywise in X = UV, and what the kernels may assume about it.

W is held as M and the factors, and its norms are bounded by theirs.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, Kernel, Norms, Smad, SmoothPart, make
from bregopt.errors import DataError
from bregopt_lowrank.matrices.matrix import Matrix
from bregopt_lowrank.matrices.size import check_start
from bregopt_lowrank.tile_loss import TileLoss

TILE_ENTRIES = 2**18
SINGULAR = 1e-13
"""Share of its trace that a Gram matrix gets added: it may be singular, and a bound may only grow by it."""


@final
@frozen(eq=False)
class LazyW:
    """W(UV) for the loss; a tile of its rows exists only while it is used."""

    loss: TileLoss
    M: Matrix
    U: Array = field(repr=False)
    V: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.M.shape

    def rows(self, rows: slice) -> Array:
        """A tile of rows, dense."""
        X = np.asarray(self.U[rows] @ self.V)
        self.loss.fill_W(X, self.M.read(rows))
        return X

    def toarray(self) -> Array:
        """The whole of W as a dense array."""
        return np.concatenate([self.rows(rows) for rows in self.M.tiles()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.toarray() if dtype is None else self.toarray().astype(dtype)


@final
@frozen
class Factorization(SmoothPart):
    """``F(U, V, W) = ½ ‖W − UV‖²``."""

    def value(self, Y: Blocks, W: Any) -> float:
        total = 0.0
        for rows, tile in _tiles(W):
            residual = Y["U"][rows] @ Y["V"] - tile
            total += float(np.vdot(residual, residual))
        return 0.5 * total

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        U, V = Y["U"], Y["V"]
        flat, total = np.zeros_like(Y.flat), 0.0
        gradient = Y.layout.views(flat)
        for rows, tile in _tiles(W):
            residual = U[rows] @ V - tile
            total += float(np.vdot(residual, residual))
            gradient["U"][rows] = residual @ V.T
            gradient["V"] += U[rows].T @ residual
        return 0.5 * total, Y.like(flat)

    @property
    def of_product(self) -> bool:
        return True

    def gram(self, Y: Blocks, name: str) -> Array:
        """VVᵀ for U and UᵀU for V."""
        return np.asarray(Y["V"] @ Y["V"].T if name == "U" else Y["U"].T @ Y["U"])

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        return constants(kernel, norms, reduced)


def _tiles(W: Any) -> Iterator[tuple[slice, Array]]:
    """W, lazy or an array, as tiles of rows."""
    m, n = W.shape
    size = max(1, TILE_ENTRIES // n)
    for start in range(0, m, size):
        rows = slice(start, min(start + size, m))
        yield rows, W.rows(rows) if isinstance(W, LazyW) else W[rows]


class LowRankBlock(ClosedFormBlock):
    """``W(Y) = argmin_W ½‖W − UV‖² + G(W)`` for a convex G that is a sum over entries."""

    M: Matrix
    rank: int
    reduced_norm: float
    """what stands for ‖W‖₂ in the constants of the reduced function, min_W F + G"""

    @property
    @abstractmethod
    def loss(self) -> TileLoss:
        """W(X) on a tile."""

    @abstractmethod
    def frobenius(self, of_W: float) -> float:
        """‖W‖_F from what the loss summed up for it in a pass."""

    @property
    def rounding(self) -> float:
        """The part of its scale below which a difference of two values of F says nothing."""
        return 1e-12 if self.M.dtype == np.float64 else 1e-6

    def scale(self, value: float, U: Array, V: Array) -> float:
        """Of ``value = ½‖W − UV‖²``: an entry of UV is known to a few units in the last place of |u_i||v_j|."""
        unit = self._unit(U, V)
        return value + unit * (math.sqrt(2.0 * value) + unit) / self.rounding

    def gradient_rounding(self, value: float, U: Array, V: Array) -> float:
        """Of (SVᵀ, UᵀS), ``value = ½‖S‖²``: S is known to the rounding of UV, and a product to its last places."""
        products = 4.0 * float(np.finfo(self.M.dtype).eps) * math.sqrt(2.0 * value)
        return (self._unit(U, V) + products) * math.hypot(float(np.linalg.norm(U)), float(np.linalg.norm(V)))

    def _unit(self, U: Array, V: Array) -> float:
        """The rounding of UV."""
        return 4.0 * float(np.finfo(self.M.dtype).eps) * float(np.linalg.norm(U)) * float(np.linalg.norm(V))

    def check(self, Y: Blocks) -> None:
        """Refuse the factors of a start that do not fit M, or cannot be computed with."""
        self.check_shapes(Y)
        check_start(Y, self.M.dtype)

    def check_shapes(self, Y: Blocks) -> None:
        """Refuse factors that do not fit M."""
        (m, n), r = self.M.shape, self.rank
        if Y.names != ("U", "V") or Y["U"].shape != (m, r) or Y["V"].shape != (r, n):
            raise DataError(f"The factors must be U: {m}×{r} and V: {r}×{n} for this M and rank. Got {Y!r} instead.")

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> LazyW:
        return LazyW(self.loss, self.M, Y["U"], Y["V"])

    def norms(self, W: LazyW) -> Norms:
        square = residual = 0.0
        for rows in self.M.tiles():
            tile = W.rows(rows)
            square += float(np.vdot(tile, tile))
            tile -= W.U[rows] @ W.V
            residual += float(np.vdot(tile, tile))
        return self.bounds(math.sqrt(square), math.sqrt(residual), W.U.T @ W.U, W.V @ W.V.T)

    def bounds(self, frobenius: float, residual: float, UtU: Array, VVt: Array) -> Norms:
        """Norms of W from ‖W‖_F and ‖W − UV‖_F: ``‖W‖₂ ≤ min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``."""
        return {
            "frobenius": frobenius,
            "spectral": min(frobenius, product_norm(UtU, VVt) + residual),
            "reduced": self.reduced_norm,
        }

    def bound_norms(self, norms: Norms, Y: Blocks, Y_prev: Blocks) -> Norms:
        """W(·) and W(·) − X are nonexpansive in X = UV: bounds grow by the change of X, the spectral one twice."""
        change = 0.0 if Y is Y_prev else product_change(Y, Y_prev)
        frobenius = norms["frobenius"] + change
        return {**norms, "frobenius": frobenius, "spectral": min(frobenius, norms["spectral"] + 2.0 * change)}


def product_norm(UtU: Array, VVt: Array) -> float:
    """‖UV‖₂ from the r×r Gram matrices UᵀU and VVᵀ, scaled against overflow."""
    u, v = float(np.trace(UtU)), float(np.trace(VVt))
    if not 0 < u * v < math.inf:
        return math.sqrt(u) * math.sqrt(v)
    root = np.linalg.cholesky(VVt / v + SINGULAR * np.eye(len(VVt)))
    top = float(np.linalg.eigvalsh(root.T @ (UtU / u) @ root)[-1])
    return math.sqrt(u) * math.sqrt(v) * math.sqrt(max(top, 0.0))


def product_change(Y: Blocks, Z: Blocks) -> float:
    """‖U_Y V_Y − U_Z V_Z‖_F from r×r Gram matrices, without cancellation."""
    dU, dV = Y["U"] - Z["U"], Y["V"] - Z["V"]
    U, V = Z["U"], Y["V"]  # the difference is dU·V + U·dV
    square = np.vdot(dU.T @ dU, V @ V.T) + 2.0 * np.vdot(U.T @ dU, dV @ V.T) + np.vdot(U.T @ U, dV @ dV.T)
    return math.sqrt(max(float(square), 0.0))


def constants(kernel: Kernel, norms: Norms, reduced: bool, extra: Kernel | None = None) -> Smad | None:
    """The constants for any kernel, from ``D_F ≤ D_{ψ1 + wψ2}`` and ``−D_F ≤ D_{½ψ1 + wψ2}``, w = ‖W‖₂.

    For the reduced function w = ‖M‖₂ will do. F knows the product UV alone, so both also hold with the blocks rescaled
    to (tU, V/t). ``extra`` is what a further convex term of F needs from above. L is at least 1, as in the paper: the
    step 1/L is then known before W is, for every kernel that follows W.
    """
    if "spectral" not in norms:
        return None
    spectral = norms["spectral"]
    below = norms["reduced"] if reduced else spectral
    known = _by_fourth_power(kernel, min(below, spectral), below, extra)
    if known is not None:
        return known
    reference = quartic(1.0, spectral, "schatten4")  # from above only, and for the whole W only
    share = kernel.share(reference if extra is None else reference + extra)
    return Smad(max(1.0, 1.0 / share)) if share > 0 else None


@lru_cache(maxsize=8)  # a kernel that does not follow W is asked for at every iteration
def _by_fourth_power(kernel: Kernel, above: float, below: float, extra: Kernel | None) -> Smad | None:
    """The constants by the share of ψ1, with w as ``above`` and ``below`` in the two bounds."""
    on_U, on_V = kernel.share(_unit_quadratic("U")), kernel.share(_unit_quadratic("V"))
    if min(on_U, on_V) <= 0:
        return None
    tau = math.sqrt(on_U / on_V)
    upper = _least(kernel, tau, 1.0, above, 1.0, extra)
    if upper == math.inf:
        return None
    return Smad(max(1.0, upper), _least(kernel, tau, 0.5, below, below or 1.0), quartic(0.5, below))


def _least(kernel: Kernel, tau: float, a: float, w: float, scale: float, extra: Kernel | None = None) -> float:
    """The least L with ``Lψ − aψ1 − w(τ‖U‖² + ‖V‖²/τ)/2`` convex, for the best τ, and ψ1 rescaled alike or not.

    Both sides are divided by ``scale`` first: with w for it no rounding comes between two equal quadratic parts.
    """
    psi1 = _kernel("psi1")
    forms = [(a / scale) * psi1 + (w / scale) * _half_square()]
    if tau != 1:
        quadratic = (w / scale * tau) * _unit_quadratic("U") + (w / scale / tau) * _unit_quadratic("V")
        forms += [(a / scale) * leading + quadratic for leading in (psi1, _rescaled(tau))]
    share = max(kernel.share(form if extra is None else form + (1.0 / scale) * extra) for form in forms)
    return scale / share if share > 0 else math.inf


@cache
def _kernel(spec: str) -> Kernel:
    kernel: Kernel = make("kernel", spec)
    return kernel


def quartic(a: float, b: float, leading: str = "psi1") -> Kernel:
    """``a·ψ1 + b·ψ2``, or another leading term."""
    return a * _kernel(leading) + b * _kernel("psi2")


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
