"""The factorisation loss ½‖W − UV‖² and what the kernels may assume about it."""

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Kernel, Norms, Smad, SmoothPart, make
from bregopt_lowrank.block import LazyW

TILE_ENTRIES = 2**18


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


def _tiles(W: Any) -> Iterator[tuple[slice, Array]]:
    """W, lazy or an array, as tiles of rows."""
    m, n = W.shape
    size = max(1, TILE_ENTRIES // n)
    for start in range(0, m, size):
        rows = slice(start, min(start + size, m))
        yield rows, W.rows(rows) if isinstance(W, LazyW) else W[rows]


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
