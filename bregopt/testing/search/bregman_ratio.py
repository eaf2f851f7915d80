"""The largest ratio of two Bregman distances, by local ascent from starts that matter."""

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import final

import numpy as np
from attrs import frozen
from threadpoolctl import ThreadpoolController

from bregopt.blocks import Array, Blocks
from bregopt.parts.kernel import Kernel
from bregopt.testing.search.random_points import RandomPoints

ITERATIONS, CALLS = 16, 28
NOISE = 1e-3
"""A ratio with a larger rounding error is not looked at."""
WALL = 10.0
"""So far below its start an ascent sees points outside of the domain, and those where rounding hides the ratio."""
SCALES = (1e-2, 1.0, 1e2)
STIR = 1e-2
NEAR = 0.05
"""The length of a move, relative to the point, where it is to feel the curvature there."""


class _EnoughError(Exception):
    """The ratio sought was met."""


@final
@frozen(eq=False)
class BregmanDistance:
    """A function by its gradient and its distance ``D(Y, Z)``, which comes with its rounding error."""

    gradient: Callable[[Blocks], Blocks]
    divergence: Callable[[Blocks, Blocks], tuple[float, float]]

    @classmethod
    def of_kernel(cls, kernel: Kernel, weight: float = 1.0) -> "BregmanDistance":
        """``weight·D_ψ(Y, Z)``, by the formula of the kernel."""
        return cls(lambda Y: kernel.gradient(Y) * weight, lambda Y, Z: (weight * kernel.divergence(Y, Z), 0.0))

    @classmethod
    def of_function(
        cls, value_and_gradient: Callable[[Blocks], tuple[float, Blocks]], sign: float = 1.0
    ) -> "BregmanDistance":
        """``sign·(f(Y) − f(Z) − ⟨∇f(Z), Y − Z⟩)``, a difference of three terms."""
        seen = functools.lru_cache(maxsize=4)(value_and_gradient)

        def divergence(Y: Blocks, Z: Blocks) -> tuple[float, float]:
            (one, _), (other, slope) = seen(Y), seen(Z)
            rise = slope.dot(Y - Z)
            return sign * (one - other - rise), 4e-16 * (abs(one) + abs(other) + abs(rise))

        return cls(lambda Y: seen(Y)[1] * sign, divergence)


@final
@frozen(eq=False)
class RatioAt:
    """A pair (Y, Z) with the two distances there, rounding taken off the one above."""

    Y: Blocks
    Z: Blocks
    above: float
    below: float

    @property
    def ratio(self) -> float:
        return self.above / self.below


@final
@frozen(eq=False)
class DistanceRatio:
    """``above(Y, Z)/below(Y, Z)``, where the distance below may depend on Z."""

    above: BregmanDistance
    below: Callable[[Blocks], BregmanDistance]
    inside: Callable[[Blocks], bool]

    def at(self, Y: Blocks, Z: Blocks) -> RatioAt | None:
        """The ratio; ``None`` outside of the domain, and where rounding hides it."""
        if not (self.inside(Y) and self.inside(Z)):
            return None
        (top, noise), (bottom, _) = self.above.divergence(Y, Z), self.below(Z).divergence(Y, Z)
        if not (0 < bottom < math.inf and noise <= NOISE * bottom and math.isfinite(top)):
            return None
        return RatioAt(Y, Z, top - noise, bottom)

    def largest(self, starts: Iterable[tuple[Blocks, Blocks]], enough: float) -> RatioAt | None:
        """The best pair over all starts, or the first above ``enough``; ``None`` where no start lies inside."""
        best: RatioAt | None = None
        with _blas().limit(limits=1, user_api="blas"):  # L-BFGS-B of so few numbers mostly waits for a second thread
            for Z, D in starts:
                found = self._ascend(Z, D, enough)
                if found is not None and (best is None or found.ratio > best.ratio):
                    best = found
                if best is not None and best.ratio > enough:
                    break
        return best

    def _ascend(self, Z: Blocks, D: Blocks, enough: float) -> RatioAt | None:
        """The best pair met on an ascent from (Z + D, Z); ends early above ``enough``."""
        from scipy.optimize import minimize

        n, size = Z.flat.size, max(Z.norm(), D.norm())
        best = self.at(Z + D, Z)
        if best is None or best.ratio > enough:
            return best
        wall = WALL - best.ratio

        def downhill(x: Array) -> tuple[float, Array]:
            nonlocal best
            Z_x, D_x = Z.like(size * x[:n]), Z.like(size * x[n:])
            found = self.at(Z_x + D_x, Z_x)
            if found is None:
                return wall, np.zeros_like(x)
            if best is None or found.ratio > best.ratio:
                best = found
            if found.ratio > enough:
                raise _EnoughError
            return -found.ratio, -size * self._slope(found.Y, Z_x, D_x, found.ratio)

        try:
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
        for distance, weight in ((self.above, 1.0), (below, -ratio)):
            rise = distance.gradient(Y).flat - distance.gradient(Z).flat
            curved = (distance.gradient(Z.plus(1e-4, D)).flat - distance.gradient(Z.plus(-1e-4, D)).flat) / 2e-4
            parts.append(weight * np.concatenate([rise - curved, rise]))
        slope: Array = (parts[0] + parts[1]) / bottom
        return np.where(np.isfinite(slope), slope, 0.0)


@functools.cache
def _blas() -> ThreadpoolController:
    """Of the BLAS of numpy and of scipy, which the import loads."""
    import scipy.optimize  # noqa: F401

    return ThreadpoolController()


def starts(Y: Blocks, draw: RandomPoints) -> Iterator[tuple[Blocks, Blocks]]:
    """(Z, D): the point given, and of every scale a random, a sparse and a rank-one pair, and one near zero."""
    rng, size = draw.rng, Y.norm() or 1.0
    yield Y, _random(Y, rng) * (0.1 * size)
    for scale in SCALES:
        unit = scale * size
        yield _random(Y, rng) * unit, _random(Y, rng) * (0.3 * unit)
        yield _random(Y, rng) * (1e-3 * unit), _random(Y, rng) * unit
        yield _stirred(_single(Y, rng), rng) * unit, _stirred(_single(Y, rng), rng) * (NEAR * unit)
        for moving in Y.names:
            yield _out_of_zero(moving, Y, rng, unit)


def _out_of_zero(moving: str, Y: Blocks, rng: np.random.Generator, unit: float) -> tuple[Blocks, Blocks]:
    """From a rank-one point where one block is zero, a rank-one move of that block."""
    Z = _rank_one(Y, rng).map(lambda name, X: 0.0 * X if name == moving else X)
    D = _rank_one(Y, rng).map(lambda name, X: X if name == moving else 0.0 * X)
    return _stirred(Z, rng) * unit, _stirred(D, rng) * (NEAR * unit)


def _random(Y: Blocks, rng: np.random.Generator) -> Blocks:
    return Y.like(rng.standard_normal(Y.flat.size) / math.sqrt(Y.flat.size))


def _stirred(Y: Blocks, rng: np.random.Generator) -> Blocks:
    """With a little of everything, so that an ascent is not held by zeros."""
    return Y.plus(STIR, _random(Y, rng))


def _single(Y: Blocks, rng: np.random.Generator) -> Blocks:
    flat = np.zeros_like(Y.flat)
    flat[rng.integers(flat.size)] = rng.choice([-1.0, 1.0])
    return Y.like(flat)


def _rank_one(Y: Blocks, rng: np.random.Generator) -> Blocks:
    def one(name: str, X: Array) -> Array:
        if X.ndim != 2:
            return rng.standard_normal(X.shape)
        rows, columns = rng.standard_normal(X.shape[0]), rng.standard_normal(X.shape[1])
        return np.outer(rows, columns) / (np.linalg.norm(rows) * np.linalg.norm(columns))

    return Y.map(one)
