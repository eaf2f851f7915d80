"""The largest ratio of two Bregman distances, by local ascent from starts that matter."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.parts.kernel import Kernel

ITERATIONS, CALLS = 16, 28
NOISE = 1e-3
"""A ratio with a larger rounding error is not looked at."""
OUTSIDE = -10.0


class _EnoughError(Exception):
    """The ratio sought was met."""


@final
@frozen(eq=False)
class Side:
    """A function by its gradient and its distance ``D(Y, Z)``, which comes with its rounding error."""

    gradient: Callable[[Blocks], Blocks]
    divergence: Callable[[Blocks, Blocks], tuple[float, float]]

    @classmethod
    def of_kernel(cls, kernel: Kernel, weight: float = 1.0) -> "Side":
        return cls(lambda Y: kernel.gradient(Y) * weight, lambda Y, Z: (weight * kernel.divergence(Y, Z), 0.0))


def function(value_and_gradient: Callable[[Blocks], tuple[float, Blocks]], sign: float = 1.0) -> Side:
    """A side whose distance is the difference of three terms."""
    seen = functools.lru_cache(maxsize=4)(value_and_gradient)

    def divergence(Y: Blocks, Z: Blocks) -> tuple[float, float]:
        (one, _), (other, slope) = seen(Y), seen(Z)
        rise = slope.dot(Y - Z)
        return sign * (one - other - rise), 4e-16 * (abs(one) + abs(other) + abs(rise))

    return Side(lambda Y: seen(Y)[1] * sign, divergence)


@final
@frozen(eq=False)
class Peak:
    """A pair (Y, Z) with the ratio of the two distances there, rounding taken off."""

    ratio: float
    Y: Blocks
    Z: Blocks


@final
@frozen(eq=False)
class Contest:
    """``above(Y, Z)/below(Y, Z)``, where the side below may depend on Z."""

    above: Side
    below: Callable[[Blocks], Side]
    inside: Callable[[Blocks], bool]

    def ratio(self, Y: Blocks, Z: Blocks) -> float:
        """The ratio less its rounding error."""
        if not (self.inside(Y) and self.inside(Z)):
            return OUTSIDE
        (top, noise), (bottom, _) = self.above.divergence(Y, Z), self.below(Z).divergence(Y, Z)
        if not (bottom > 0 and noise <= NOISE * bottom and math.isfinite(top)):
            return OUTSIDE
        return (top - noise) / bottom

    def climb(self, Z: Blocks, D: Blocks, enough: float) -> Peak:
        """The best pair met on an ascent from (Z + D, Z); ends early above ``enough``."""
        from scipy.optimize import minimize

        n, size = Z.flat.size, max(Z.norm(), D.norm())
        best = Peak(self.ratio(Z + D, Z), Z + D, Z)

        def downhill(x: Array) -> tuple[float, Array]:
            nonlocal best
            Z_x, D_x = Z.like(size * x[:n]), Z.like(size * x[n:])
            Y_x = Z_x + D_x
            ratio = self.ratio(Y_x, Z_x)
            if ratio > best.ratio:
                best = Peak(ratio, Y_x, Z_x)
            if ratio > enough:
                raise _EnoughError
            if ratio == OUTSIDE:
                return -OUTSIDE, np.zeros_like(x)
            return -ratio, -size * self._slope(Y_x, Z_x, D_x, ratio)

        try:
            if OUTSIDE < best.ratio <= enough:
                x = np.concatenate([Z.flat, D.flat]) / size
                minimize(downhill, x, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS, "maxfun": CALLS})
        except _EnoughError:
            pass
        return best

    def _slope(self, Y: Blocks, Z: Blocks, D: Blocks, ratio: float) -> Array:
        """The gradient of the ratio in (Z, D), Y = Z + D."""
        below = self.below(Z)
        bottom, _ = below.divergence(Y, Z)
        parts = []
        for side, weight in ((self.above, 1.0), (below, -ratio)):
            rise = side.gradient(Y).flat - side.gradient(Z).flat
            bend = (side.gradient(Z.plus(1e-4, D)).flat - side.gradient(Z.plus(-1e-4, D)).flat) / 2e-4
            parts.append(weight * np.concatenate([rise - bend, rise]))
        slope: Array = (parts[0] + parts[1]) / bottom
        return np.where(np.isfinite(slope), slope, 0.0)


def highest(contest: Contest, starts: Iterable[tuple[Blocks, Blocks]], enough: float) -> Peak | None:
    """The best pair over all starts, or the first above ``enough``; ``None`` where no start lies inside."""
    best: Peak | None = None
    for Z, D in starts:
        peak = contest.climb(Z, D, enough)
        if peak.ratio > OUTSIDE and (best is None or peak.ratio > best.ratio):
            best = peak
        if best is not None and best.ratio > enough:
            break
    return best
