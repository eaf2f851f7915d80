"""The divergence of a kernel: what it is, never negative, and free of cancellation."""

import numpy as np

from bregopt.blocks import Blocks
from bregopt.parts.kernel import Kernel
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import fail

SCALES = (1e-2, 1.0, 1e2)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


def non_negative(kernel: Kernel, draw: Draw) -> None:
    """``D(Y, Z) ≥ 0``, at every distance, and ``D(Y, Y) = 0``."""
    ground = Ground.of(kernel, draw)
    for Y, Z in ground.pairs(draw, SCALES, (1.0, 1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 0.0)):
        D = kernel.divergence(Y, Z)
        same = bool(np.array_equal(Y.flat, Z.flat))
        if not D >= 0 or (same and D != 0):
            fail(
                f"D(Y, Z) = {D:g} at |Y − Z| = {(Y - Z).norm():.1e}", snippet("print(part.divergence(Y, Z))", Y=Y, Z=Z)
            )


def definition(kernel: Kernel, draw: Draw) -> None:
    """Far apart it is ``ψ(Y) − ψ(Z) − ⟨∇ψ(Z), Y − Z⟩``."""
    ground = Ground.of(kernel, draw)
    for Y, Z in ground.pairs(draw, SCALES, (3.0, 1.0, 0.3)):
        terms = (kernel.value(Y), -kernel.value(Z), -kernel.gradient(Z).dot(Y - Z))
        D = kernel.divergence(Y, Z)
        if not abs(D - sum(terms)) <= 1e-10 * sum(map(abs, terms)):
            show = "print(part.divergence(Y, Z), part.value(Y) - part.value(Z) - part.gradient(Z).dot(Y - Z))"
            fail(f"D(Y, Z) = {number(D)}, but by its definition {number(sum(terms))}", snippet(show, Y=Y, Z=Z))


def stable(kernel: Kernel, draw: Draw) -> None:
    """Near by it equals ``∫ ⟨∇ψ(Z + s(Y − Z)) − ∇ψ(Z), Y − Z⟩ ds``, far better than a difference of values could."""
    ground = Ground.of(kernel, draw)
    for Y, Z in ground.pairs(draw, SCALES, (1e-3, 1e-5, 1e-7, 1e-8, 1e-9)):
        D, (integral, rounding) = kernel.divergence(Y, Z), _integral(kernel, Y, Z)
        if not abs(D - integral) <= 1e-6 * integral + rounding:
            steps = "s, w = np.polynomial.legendre.leggauss(6)"
            slope = "slope = lambda t: (part.gradient(Z.plus(t, Y - Z)) - part.gradient(Z)).dot(Y - Z)"
            show = "print(part.divergence(Y, Z), sum(0.5 * w * [slope(t) for t in 0.5 + 0.5 * s]))"
            told = f"D(Y, Z) = {D:.6e} at |Y − Z| = {(Y - Z).norm():.1e}, but it is {integral:.6e}"
            fail(f"{told}: a difference that cancels", snippet(steps, slope, show, Y=Y, Z=Z))


def _integral(kernel: Kernel, Y: Blocks, Z: Blocks) -> tuple[float, float]:
    """The divergence by quadrature over gradients, and what rounding may cost it."""
    e, base = Y - Z, kernel.gradient(Z)
    slopes = [(kernel.gradient(Z.plus(float(t), e)) - base).dot(e) for t in 0.5 + 0.5 * NODES]
    total = float(0.5 * WEIGHTS @ slopes)
    length = e.norm()
    size = np.abs(base.flat * e.flat).sum() + 2.0 * abs(total) * Z.norm() / length if length else 0.0
    return total, 1e-14 * float(size)
