"""Whether a gradient belongs to a function: by central differences of many steps, extrapolated."""

import math
from collections.abc import Callable, Iterator
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.testing.outcomes import number
from bregopt.testing.search.random_points import RandomPoints, rounded

EPS = float(np.finfo(np.float64).eps)
COORDINATES = 30
"""So many entries are tried one by one."""
LONGEST, SHORTER, LEVELS = 16.0, 4.0, 12
"""The steps along a direction as long as the block: from the longest, each a quarter of the one before."""
ROUNDING = 16 * EPS
"""Of a value, and of a position relative to the block."""
FEWEST = 4
"""A polynomial of degree 6 has an odd part of three terms; one step more tells how well it fits."""
SEEN = 1e-5
"""A derivative is as good as the best one where its error is so small a part of the slope."""


@final
@frozen(eq=False)
class WrongSlope:
    """A direction along which the gradient is not the derivative."""

    D: Blocks
    h: float
    told: str


@final
@frozen(eq=False)
class Derivative:
    """A derivative along a line, what it may be off, and the shortest step that it was made with."""

    slope: float
    error: float
    h: float


def wrong_gradient(
    value: Callable[[Blocks], float],
    gradient: Blocks,
    Y: Blocks,
    draw: RandomPoints,
    longest: Callable[[Blocks, Blocks], float] = lambda Y, D: math.inf,
) -> WrongSlope | None:
    """The first direction found along which ``⟨gradient, D⟩`` is not the derivative of ``value`` at Y."""
    for D in _directions(gradient, Y, draw):
        h = min(LONGEST, 0.5 * longest(Y, D), 0.5 * longest(Y, -D))
        found = _derivatives(value, Y, D, h)
        if not found:
            shortest = h * SHORTER ** (1 - LEVELS)
            return WrongSlope(D, shortest, f"the value is not finite at Y or at Y ± {shortest:.1e}·D")
        slope, best = gradient.dot(D), min(found, key=lambda one: one.error)
        size = sum(float(np.linalg.norm(gradient[name]) * np.linalg.norm(D[name])) for name in Y.names)
        good = [one for one in found if one.error <= max(best.error, SEEN * abs(slope))]
        slack = 1e-6 * abs(slope) + 1e-9 * size
        if not any(abs(one.slope - slope) <= slack + 4 * one.error for one in good):
            told = f"⟨gradient, D⟩ = {number(slope)}, but the derivative along D is {number(best.slope)}"
            return WrongSlope(D, best.h, told)
    return None


def _directions(gradient: Blocks, Y: Blocks, draw: RandomPoints) -> Iterator[Blocks]:
    """In each block a random direction and that of the gradient; everywhere; and single entries.

    Each is as long in a block as the block itself.
    """
    sizes = [float(np.linalg.norm(Y.flat[place])) or Y.norm() or 1.0 for place in Y.layout.places]
    places = list(zip(Y.layout.places, sizes, strict=True))
    everywhere = np.zeros_like(Y.flat)
    for place, size in places:
        for source in (draw.gauss(Y.flat.shape), gradient.flat):
            flat = np.zeros_like(Y.flat)
            flat[place] = source[place] * (size / (float(np.linalg.norm(source[place])) or 1.0))
            if flat.any() and np.isfinite(flat).all():
                yield Y.like(rounded(flat))
        everywhere[place] = size * draw.gauss(everywhere[place].shape)
    yield Y.like(rounded(everywhere))
    for index in draw.rng.permutation(Y.flat.size)[:COORDINATES]:
        flat = np.zeros_like(Y.flat)
        flat[index] = next(size for place, size in places if index < place.stop)
        yield Y.like(rounded(flat))


def _derivatives(value: Callable[[Blocks], float], Y: Blocks, D: Blocks, longest: float) -> list[Derivative]:
    """Of ``φ(t) = value(Y + tD)`` at 0, each with its error; none where φ is not finite near 0.

    Central differences hold t³, t⁵, …: each column of the table takes off one power more. What an entry may be off
    shows in its neighbours. Long steps serve polynomials and values with much rounding, short ones serve kinks.
    """

    def phi(t: float) -> float:
        try:
            return float(value(Y.plus(t, D)))
        except ArithmeticError:  # too far out
            return math.nan

    here = phi(0.0)
    found, row, roundings = list[Derivative](), list[float](), list[float]()
    for h in [longest * SHORTER**-k for k in range(LEVELS)]:
        up, down = phi(h), phi(-h)
        if not (math.isfinite(up) and math.isfinite(down)):
            found, row, roundings = [], [], []
            continue
        curved = (abs(up - here) + abs(down - here)) / h
        roundings.append(ROUNDING * (abs(up) + abs(down) + curved) / h)
        last, row = row, _row(row, (up - down) / (2 * h))
        for j, slope in enumerate(row[1:], 1):
            apart = max(abs(slope - row[j - 1]), abs(slope - last[j - 1]))
            found.append(Derivative(slope, apart + max(roundings[-1 - j :]), h))
    return found if math.isfinite(here) and len(row) >= FEWEST else []


def _row(last: list[float], rough: float) -> list[float]:
    """The next row of the table, from a central difference with a shorter step."""
    row = [rough]
    for j, coarse in enumerate(last, 1):
        row.append(row[-1] + (row[-1] - coarse) / (SHORTER ** (2 * j) - 1.0))
    return row
