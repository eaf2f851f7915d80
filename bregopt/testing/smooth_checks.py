"""The smooth part of a problem: one value, and the gradient that belongs to it."""

import numpy as np

from bregopt.blocks import Blocks
from bregopt.problem import Problem, ResolvedProblem
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail
from bregopt.testing.taylor import wrong_gradient

Pair = tuple[Problem | ResolvedProblem, Blocks]
HEAD = "problem, F = part[0], part[0].smooth"


def nearby(Y: Blocks, draw: Draw, size: float) -> Blocks:
    """A point at this distance from Y, relative to its norm."""
    D = draw.gauss(Y.flat.shape)
    return Y.plus(size * (Y.norm() or 1.0) / float(np.linalg.norm(D)), Y.like(D))


def gradient(pair: Pair, draw: Draw) -> None:
    """``∇_Y F(Y, W)`` is the derivative of F in every block, with W fixed."""
    problem, Y = pair
    W = problem.block.argmin(problem.smooth, Y)
    for point in (Y, nearby(Y, draw, 1.0), nearby(Y, draw, 0.1)):
        _, slope = problem.smooth.value_and_gradient(point, W)
        wrong = wrong_gradient(lambda X: problem.smooth.value(X, W), slope, point, draw)
        if wrong:
            blocks = ", ".join(name for name in Y.names if wrong.D[name].any())
            W_of = "W = problem.block.argmin(F, part[1])"
            ends = "ends = [F.value(Y.plus(t, D), W) for t in (h, -h)]"
            show = "print(F.value_and_gradient(Y, W)[1].dot(D), (ends[0] - ends[1]) / (2 * h))"
            fail(f"block {blocks}: {wrong.told}", snippet(HEAD, W_of, ends, show, Y=point, D=wrong.D, h=wrong.h))


def value_consistent(pair: Pair, draw: Draw) -> None:
    """``value`` and ``value_and_gradient`` agree, as Python floats and blocks like Y, and again when asked again."""
    problem, Y = pair
    F, G = problem.smooth, problem.block
    for point in (Y, nearby(Y, draw, 1.0), nearby(Y, draw, 1e-3)):
        W, kept = G.argmin(F, point), point.flat.copy()
        value, (other, slope), again = F.value(point, W), F.value_and_gradient(point, W), F.value(point, W)
        show = "print(F.value(Y, W), F.value_and_gradient(Y, W))"
        code = snippet(HEAD, "W = problem.block.argmin(F, Y)", show, Y=point)
        if type(value) is not float or type(other) is not float or type(G.value(W)) is not float:
            fail("A value is no Python float: wrap it in float(...)", code)
        if not abs(value - other) <= 1e-11 * abs(value) or value != again:
            fail(f"value is {number(value)}, then {number(again)}, but value_and_gradient says {number(other)}", code)
        if not isinstance(slope, Blocks) or slope.layout != point.layout:
            fail(f"The gradient is {slope!r}, not like {point!r}", code)
        if not np.array_equal(kept, point.flat):
            fail("The smooth part wrote into Y", code)
