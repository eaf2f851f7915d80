"""How convex a kernel says it is: each statement is a lower bound of its divergence."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.parts.kernel import Kernel
from bregopt.testing.ascent import Contest, Side, highest
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import fail, skip
from bregopt.testing.starts import starts

ENOUGH = 1.0 + 1e-7
QUADRATIC = "sum(np.sum(part.quadratic(i) * (Y[i] - Z[i]) ** 2) for i in Y.names) / 2"


def strong_convexity(kernel: Kernel, draw: Draw) -> None:
    """``D(Y, Z) ≥ (σ/2)‖Y − Z‖²``."""
    sigma = kernel.strong_convexity
    if not 0 <= sigma < math.inf:
        told = f"strong_convexity must be finite and >= 0. Got {sigma!r} instead."
        fail(told, snippet("print(part.strong_convexity)"))
    if sigma == 0:
        skip("It claims no strong convexity.")
    side = Side(lambda Y: Y * sigma, lambda Y, Z: (0.5 * sigma * (Y - Z).dot(Y - Z), 0.0))
    code = "bound = part.strong_convexity * (Y - Z).dot(Y - Z) / 2"
    _bounded(kernel, side, code, f"(σ/2)‖Y − Z‖² with σ = {sigma:g}", draw)


def quartic(kernel: Kernel, draw: Draw) -> None:
    """``ψ − (a/4)‖Y‖⁴ − ½ Σ q_i‖Y_i‖²`` is convex."""
    if not kernel.quartic > 0:
        skip("It claims no quartic part.")

    def gradient(Y: Blocks) -> Blocks:
        return Y * Y.dot(Y)

    def divergence(Y: Blocks, Z: Blocks) -> float:
        e = Y - Z
        return 0.25 * (2 * Z.dot(e) + e.dot(e)) ** 2 + 0.5 * Z.dot(Z) * e.dot(e)

    quarter = "((2 * Z.dot(e) + e.dot(e)) ** 2 / 4 + Z.dot(Z) * e.dot(e) / 2)"
    code = f"e = Y - Z\nbound = part.quartic * {quarter} + {QUADRATIC}"
    told = f"what quartic = {kernel.quartic:g} and quadratic say"
    _bounded(kernel, _with_quadratic(kernel, kernel.quartic, gradient, divergence), code, told, draw)


def schatten4(kernel: Kernel, draw: Draw) -> None:
    """``ψ − (a/4)‖UᵀU + VVᵀ‖² − ½ Σ q_i‖Y_i‖²`` is convex."""
    if not kernel.schatten4 > 0:
        skip("It claims no Schatten-4 part.")

    def gram(Y: Blocks, Z: Blocks) -> Array:
        product: Array = Y["U"].T @ Z["U"] + Y["V"] @ Z["V"].T
        return product

    def gradient(Y: Blocks) -> Blocks:
        G = gram(Y, Y)
        return Y.map(lambda name, X: X @ G if name == "U" else G @ X)

    def divergence(Y: Blocks, Z: Blocks) -> float:
        e = Y - Z
        rise = gram(Z, e) + gram(e, Y)
        return 0.25 * float(np.square(rise).sum()) + 0.5 * float(np.vdot(gram(Z, Z), gram(e, e)))

    quarter = "(np.sum((gram(Z, e) + gram(e, Y)) ** 2) / 4 + np.sum(gram(Z, Z) * gram(e, e)) / 2)"
    head = "e, gram = Y - Z, lambda Y, Z: Y.U.T @ Z.U + Y.V @ Z.V.T"
    code = f"{head}\nbound = part.schatten4 * {quarter} + {QUADRATIC}"
    told = f"what schatten4 = {kernel.schatten4:g} and quadratic say"
    _bounded(kernel, _with_quadratic(kernel, kernel.schatten4, gradient, divergence), code, told, draw)


def _with_quadratic(
    kernel: Kernel,
    a: float,
    gradient: Callable[[Blocks], Blocks],
    divergence: Callable[[Blocks, Blocks], float],
) -> Side:
    """``a`` times the function plus ``½ Σ q_i‖Y_i‖²``."""

    def shares(Y: Blocks) -> Blocks:
        return Y.map(lambda name, X: kernel.quadratic(name) * X)

    return Side(
        lambda Y: (gradient(Y) * a) + shares(Y),
        lambda Y, Z: (a * divergence(Y, Z) + 0.5 * shares(Y - Z).dot(Y - Z), 0.0),
    )


def _bounded(kernel: Kernel, bound: Side, code: str, told: str, draw: Draw) -> None:
    ground = Ground.of(kernel, draw)
    below = Side.of_kernel(kernel)
    peak = highest(Contest(bound, lambda Z: below, kernel.contains), _starts(ground, draw), ENOUGH)
    if peak is not None and peak.ratio > ENOUGH:
        found = (kernel.divergence(peak.Y, peak.Z), bound.divergence(peak.Y, peak.Z)[0])
        show = "print(part.divergence(Y, Z), bound)"
        fail(f"D(Y, Z) = {number(found[0])} < {number(found[1])}, {told}", snippet(code, show, Y=peak.Y, Z=peak.Z))


def _starts(ground: Ground, draw: Draw) -> Iterator[tuple[Blocks, Blocks]]:
    for Y, Z in ground.pairs(draw, (1e-3, 1.0, 1e2), (1.0, 1e-2)):
        yield Z, Y - Z
    yield from itertools.islice(starts(ground.point(draw), draw), 0, None, 3)
