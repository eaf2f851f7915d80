"""A regularizer that is being checked: the shapes it takes, and its answers."""

import math
from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array
from bregopt.errors import BregoptError
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.outcomes import CheckFailedError, fail, snippet
from bregopt.testing.search.random_points import RandomPoints

SCALES = (1e-3, 3e-2, 1.0, 30.0, 1e3)
STEPS = (1e-2, 1.0, 10.0)
TINY_STEP = 1e-12
"""The step of a proximal map that is to be a projection."""


def fits(H: Regularizer, shape: tuple[int, ...]) -> bool:
    """Whether H takes a block of this shape; one that it does not take is refused with an error of bregopt."""
    X, step = np.linspace(0.1, 0.9, math.prod(shape)).reshape(shape), min(TINY_STEP, 0.5 * H.step_limit)
    try:
        Z = H.prox(X, step)
        H.value(Z)
        broken = "" if np.shape(Z) == shape else f"prox made a block of shape {np.shape(Z)}"
    except BregoptError:
        return False
    except Exception as error:
        broken = f"prox or value raised {type(error).__name__}: {error}"
    if broken:
        told = f"for a block of shape {shape} {broken}; refuse a shape with bregopt.errors.DataError"
        fail(told, snippet("print(part.value(part.prox(X, step)))", X=X, step=step))
    return True


def _own_shape(H: Regularizer) -> tuple[int, ...]:
    small = ((m, n) for n in (3, 2, 1, 4, 5, 6, 8) for m in range(1, 13))
    others = (*((n,) for n in range(1, 13)), (2, 3, 2), (3, 4, 2), (2, 2, 2))
    for shape in ((4, 3), (3, 2), *small, *others):
        try:
            if fits(H, shape):
                return shape
        except CheckFailedError:
            continue
    return 4, 3


@final
@frozen(eq=False)
class RegularizerCase:
    """``H`` with a shape that it takes; what it raises becomes a failure that shows the call."""

    H: Regularizer
    shape: tuple[int, ...]

    @classmethod
    def of(cls, H: Regularizer) -> "RegularizerCase":
        """H with the first shape that it takes."""
        return cls(H, _own_shape(H))

    @property
    def steps(self) -> list[float]:
        """Steps below the limit."""
        return sorted({min(step, 0.9 * self.H.step_limit) for step in STEPS})

    def points_and_steps(self, draw: RandomPoints, scales: tuple[float, ...] = SCALES) -> Iterator[tuple[Array, float]]:
        """Gaussian points of every scale with every step."""
        for scale in scales:
            for step in self.steps:
                yield draw.gauss(self.shape, scale), step

    def value(self, X: Array) -> float:
        """``H(X)``."""
        try:
            return float(self.H.value(X))
        except Exception as error:
            fail(f"value raised {type(error).__name__}: {error}", snippet("part.value(X)", X=X))

    def prox(self, X: Array, step: float | Array) -> Array:
        """``prox_{step·H}(X)``, of a copy of X."""
        try:
            Z = np.asarray(self.H.prox(X.copy(), step))  # type: ignore[arg-type]  # an array where H is separable
        except Exception as error:
            fail(f"prox raised {type(error).__name__}: {error}", snippet("part.prox(X, step)", X=X, step=step))
        if Z.shape != X.shape:
            code = snippet("print(part.prox(X, step).shape)", X=X, step=step)
            fail(f"prox made a block of shape {Z.shape} from one of shape {X.shape}", code)
        return Z

    def feasible(self, X: Array) -> Array:
        """X where H is finite there, else the nearest point where it is."""
        return X if math.isfinite(self.value(X)) else self.prox(X, min(TINY_STEP, 0.5 * self.H.step_limit))


def square(X: Array) -> float:
    """``‖X‖²`` in double precision."""
    flat = X.astype(np.float64, copy=False).ravel()
    return float(flat @ flat)
