"""Whether a gradient belongs to a function: by the slope of the Taylor error, and by extrapolated differences."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.testing.outcomes import number
from bregopt.testing.search.random_points import RandomPoints, rounded

EPS = float(np.finfo(np.float64).eps)
COORDINATES = 30
"""So many entries are tried one by one."""


@final
@frozen(eq=False)
class WrongSlope:
    """A direction along which the gradient is not the derivative."""

    D: Blocks
    h: float
    told: str


def wrong_gradient(
    value: Callable[[Blocks], float],
    gradient: Blocks,
    Y: Blocks,
    draw: RandomPoints,
    longest: Callable[[Blocks, Blocks], float] = lambda Y, D: math.inf,
) -> WrongSlope | None:
    """The first direction found along which ``⟨gradient, D⟩`` is not the derivative of ``value`` at Y."""
    for D in _directions(gradient, Y, draw):
        reach = min(longest(Y, D), longest(Y, -D), (Y.norm() or 1.0) / D.norm())
        found = _by_differences(value, gradient.dot(D), Y, D, reach, gradient.norm() * D.norm())
        found = found or _by_slope(value, gradient.dot(D), Y, D, reach)
        if found:
            return found
    return None


def _directions(gradient: Blocks, Y: Blocks, draw: RandomPoints) -> Iterator[Blocks]:
    """In each block a random direction and that of the gradient; everywhere; and single entries."""
    for place in Y.layout.places:
        for source in (draw.gauss(Y.flat.shape), gradient.flat):
            flat = np.zeros_like(Y.flat)
            flat[place] = source[place] / (np.linalg.norm(source[place]) or 1.0)
            if flat.any():
                yield Y.like(rounded(flat))
    yield Y.like(draw.gauss(Y.flat.shape))
    for index in draw.rng.permutation(Y.flat.size)[:COORDINATES]:
        flat = np.zeros_like(Y.flat)
        flat[index] = 1.0
        yield Y.like(flat)


def _by_differences(
    value: Callable[[Blocks], float], slope: float, Y: Blocks, D: Blocks, reach: float, size: float
) -> WrongSlope | None:
    """Central differences at h, h/2, h/4, extrapolated twice."""
    h = 1e-2 * reach
    ends = [(value(Y.plus(t, D)), value(Y.plus(-t, D)), 2 * t) for t in (h, h / 2, h / 4)]
    rough = [(up - down) / width for up, down, width in ends]
    better = [(4 * fine - coarse) / 3 for coarse, fine in pairwise(rough)]
    best = (16 * better[1] - better[0]) / 15
    rounding = 64 * EPS * max(abs(up) + abs(down) for up, down, _ in ends) / h
    if abs(best - slope) <= 1e-6 * abs(slope) + 1e-9 * size + rounding + abs(best - better[1]):
        return None
    return WrongSlope(D, h, f"⟨gradient, D⟩ = {number(slope)}, but the derivative along D is {number(best)}")


def _by_slope(value: Callable[[Blocks], float], slope: float, Y: Blocks, D: Blocks, reach: float) -> WrongSlope | None:
    """The error of first order must fall with the square of the step, while it is above rounding."""
    start, points = value(Y), []
    for t in 1e-2 * reach * 10.0 ** np.arange(0.0, -5.0, -0.5):
        there = value(Y.plus(float(t), D))
        error = abs(there - start - t * slope)
        if error > 400 * EPS * (abs(there) + abs(start) + abs(t * slope)):
            points.append((math.log(t), math.log(error), float(t)))
    for (t1, e1, h), (t2, e2, _) in pairwise(points):
        rate = (e1 - e2) / (t1 - t2)
        if abs(rate - 2.0) > 0.1:
            return WrongSlope(
                D, h, f"the error of first order falls with the power {rate:.3f} of the step at {h:.1e}, not 2"
            )
    return None
