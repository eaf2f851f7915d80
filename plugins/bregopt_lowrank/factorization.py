"""The factorisation loss ½‖W − UV‖² and what the kernels may assume about it."""

import math
from collections.abc import Iterator
from functools import cache
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
        return constants(kernel, kernel.quadratic("U"), norms, reduced)


def constants(kernel: Kernel, on_U: float | Array, norms: Norms, reduced: bool) -> Smad | None:
    """``D_F ≤ D_{ψ1 + wψ2}`` and ``−D_F ≤ D_{½ψ1 + wψ2}``, w = ‖W‖₂; for the reduced function w = ‖M‖₂ will do.

    ``on_U`` is the kernel's quadratic share on U that is there for the loss. L is at least 1, as in the paper: the step
    1/L is then known before W is, for every kernel that follows W.
    """
    stretched = kernel.unscaled()
    if stretched is not None and math.isclose(stretched[1].get("U", 1.0) * stretched[1].get("V", 1.0), 1.0):
        base, t = stretched  # UV stays the same
        known = constants(base, on_U / t.get("U", 1.0) ** 2, norms, reduced)
        return None if known is None else Smad(known.upper, known.lower)
    spare_U, spare_V = float(np.min(on_U)), float(np.min(kernel.quadratic("V")))
    if min(spare_U, spare_V) <= 0 or "spectral" not in norms:
        return None
    curvature = math.sqrt(spare_U * spare_V)
    if kernel.quartic <= 0 < kernel.schatten4:  # from above only, and for the whole W only
        return Smad(upper=max(1.0, 1.0 / kernel.schatten4, norms["spectral"] / curvature))
    if kernel.quartic <= 0:
        return None
    below = norms["reduced"] if reduced else norms["spectral"]
    above = min(below, norms["spectral"])
    return Smad(
        upper=max(1.0, 1.0 / kernel.quartic, above / curvature),
        lower=max(0.5 / kernel.quartic, below / curvature),
        low=quartic(0.5, below),
    )
