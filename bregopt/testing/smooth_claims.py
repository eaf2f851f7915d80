"""What a smooth part may claim of its form: quadratic in a block, a function of a product."""

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import HEAD, Pair, nearby

TOLERANCE = 1e-9
"""Of the terms that are compared."""
W_OF_Y = "W = problem.block.argmin(F, Y)"


def gram(pair: Pair, draw: Draw) -> None:
    """``F(Y + E) = F(Y) + ⟨∇F, E⟩ + ½⟨EG, E⟩`` with ``G = gram(Y, name)`` for an E in one block."""
    problem, start = pair
    F = problem.smooth
    if all(F.gram(start, name) is None for name in start.names):
        skip("The smooth part claims no Gram matrix.")
    for Y in (start, nearby(start, draw, 1.0)):
        W = problem.block.argmin(F, Y)
        value, slope = F.value_and_gradient(Y, W)
        for name in Y.names:
            G = F.gram(Y, name)
            if G is None:
                continue
            E = _in_block(Y, name, draw)
            bend = 0.5 * float(np.vdot(_times(E[name], G, first=name == Y.names[0]), E[name]))
            there, told = F.value(Y + E, W), value + slope.dot(E) + bend
            if not abs(there - told) <= TOLERANCE * (abs(value) + abs(slope.dot(E)) + abs(bend)):
                show = f"print(F.gram(Y, {name!r}), F.value(Y + E, W) - F.value(Y, W))"
                fail(
                    f"block {name}: F(Y + E) is {number(there)}, and {number(told)} by the Gram matrix",
                    snippet(HEAD, W_OF_Y, show, Y=Y, E=E),
                )


def of_product(pair: Pair, draw: Draw) -> None:
    """``F(UT, T⁻¹V, W) = F(U, V, W)``, and W is the same for both, where ``of_product`` says so."""
    problem, start = pair
    F, block = problem.smooth, problem.block
    if not F.of_product:
        skip("The smooth part does not claim to be a function of a product.")
    if len(start.names) != 2:
        fail(f"of_product is for two blocks, and the problem has {', '.join(start.names)}")
    for Y in (start, nearby(start, draw, 1.0)):
        first, second = (Y[name] for name in Y.names)
        r = len(second)
        T = np.eye(r) + 0.3 * draw.gauss((r, r)) / r
        Z = Blocks(**dict(zip(Y.names, (first @ T, np.linalg.solve(T, second)), strict=True)))
        values = [F.value(point, block.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))]
        if not max(values) - min(values) <= TOLERANCE * max(map(abs, values)):
            show = "print([F.value(point, problem.block.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))])"
            told = ", ".join(number(value) for value in values)
            fail(f"Y and Z have the same product, and F is {told}: of_product is not so", snippet(HEAD, show, Y=Y, Z=Z))


def _in_block(Y: Blocks, name: str, draw: Draw) -> Blocks:
    D = Y.like(draw.gauss(Y.flat.shape))
    return D.map(lambda block, X: X if block == name else 0.0 * X)


def _times(E: Array, G: Array, *, first: bool) -> Array:
    return E @ G if first else G @ E
