"""Kernels that are sums over the entries of Y, on the positive numbers or on (0, 1)."""

import math
from abc import abstractmethod
from typing import ClassVar, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Kernel, validate

SMALL = 0.05
TERMS = 16


def _series(u: Array, coefficients: Array) -> Array:
    """``Σ_k coefficients[k] u^k``, by Horner."""
    total = np.zeros_like(u)
    for coefficient in coefficients[::-1]:
        total = total * u + coefficient
    return total


_K = np.arange(2, TERMS + 2)
_LOG = np.concatenate([[0.0, 0.0], (-1.0) ** _K / _K])
_ENTROPY = np.concatenate([[0.0, 0.0], (-1.0) ** _K / (_K * (_K - 1.0))])


def entropy_gap(y: Array, z: Array, d: Array) -> Array:
    """``y log(y/z) − d`` for d = y − z, accurate where y is close to z, and finite wherever that is a number."""
    u = _quotient(d, z)
    small = np.abs(u) < SMALL
    return np.where(small, z * _series(np.where(small, u, 0.0), _ENTROPY), y * _log_ratio(y, z, u) - d)


def log_gap(y: Array, z: Array) -> Array:
    """``y/z − 1 − log(y/z)``, accurate where y is close to z; ``inf`` where that is too large."""
    u = _quotient(y - z, z)
    small = np.abs(u) < SMALL
    return np.where(small, _series(np.where(small, u, 0.0), _LOG), u - _log_ratio(y, z, u))


def _quotient(d: Array, z: Array) -> Array:
    with np.errstate(over="ignore"):
        return d / z


def _log_ratio(y: Array, z: Array, u: Array) -> Array:
    """``log(y/z)`` with u = y/z − 1, also where the ratio is too large or too small to be held."""
    near = (u > -0.9) & (u < 1e300)
    return np.where(near, np.log1p(np.where(near, u, 0.0)), np.log(y) - np.log(z))


@frozen
class Entrywise(Kernel):
    """``ψ(Y) = w Σ φ(y)`` for y in an open interval that starts at 0."""

    weight: float = field(default=1.0, validator=validate.number(at_least=0))
    top: ClassVar[float] = math.inf
    """the upper end of the interval"""
    flattest: ClassVar[float] = 0.0
    """inf φ″"""

    @abstractmethod
    def phi(self, y: Array) -> Array: ...

    @abstractmethod
    def slope(self, y: Array) -> Array:
        """``φ'``."""

    @abstractmethod
    def distance(self, y: Array, z: Array) -> Array:
        """``φ(y) − φ(z) − φ'(z)(y − z)`` without cancellation."""

    @final
    def value(self, Y: Blocks) -> float:
        return self.weight * float(self.phi(Y.flat).sum())

    @final
    def gradient(self, Y: Blocks) -> Blocks:
        return Y.like(self.weight * self.slope(Y.flat))

    @final
    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        return self.weight * float(self.distance(Y.flat, Z.flat).sum())

    @final
    def contains(self, Y: Blocks) -> bool:
        return bool(((Y.flat > 0) & (Y.flat < self.top)).all())

    @final
    def longest(self, Y: Blocks, D: Blocks) -> float:
        down, up = D.flat < 0, D.flat > 0
        low = np.min(-Y.flat[down] / D.flat[down], initial=math.inf)
        high = np.min((self.top - Y.flat[up]) / D.flat[up], initial=math.inf)
        return float(min(low, high))

    @final
    @property
    def everywhere(self) -> bool:
        return False

    @final
    def stationary(self, Y: Blocks, A: Blocks) -> Blocks:
        """``min(y, a)``, and where the interval has an upper end ``max(a, y − top)``."""
        a: Array = np.minimum(Y.flat, A.flat)
        return A.like(a if self.top == math.inf else np.maximum(a, Y.flat - self.top))

    @final
    @property
    def strong_convexity(self) -> float:
        return self.weight * self.flattest

    @final
    def share(self, reference: Kernel) -> float:
        if not isinstance(reference, Entrywise) or type(reference) is not type(self):
            return super().share(reference)
        return self.weight / reference.weight if reference.weight > 0 else math.inf

    @final
    def scaled(self, weight: float) -> "Entrywise":
        return evolve(self, weight=weight * self.weight)

    @final
    def merged(self, other: Kernel) -> "Entrywise | None":
        if not isinstance(other, Entrywise) or type(other) is not type(self):
            return None
        return evolve(self, weight=self.weight + other.weight)


@final
@frozen
class BoltzmannShannon(Entrywise):
    """``ψ(Y) = w Σ y log y − y`` on y > 0."""

    def phi(self, y: Array) -> Array:
        return y * np.log(y) - y

    def slope(self, y: Array) -> Array:
        return np.log(y)

    def distance(self, y: Array, z: Array) -> Array:
        return entropy_gap(y, z, y - z)


@final
@frozen
class Burg(Entrywise):
    """``ψ(Y) = −w Σ log y`` on y > 0."""

    def phi(self, y: Array) -> Array:
        return -np.log(y)

    def slope(self, y: Array) -> Array:
        return -1.0 / y

    def distance(self, y: Array, z: Array) -> Array:
        return log_gap(y, z)


@final
@frozen
class FermiDirac(Entrywise):
    """``ψ(Y) = w Σ y log y + (1 − y) log(1 − y)`` on 0 < y < 1."""

    top: ClassVar[float] = 1.0
    flattest: ClassVar[float] = 4.0

    def phi(self, y: Array) -> Array:
        return y * np.log(y) + (1.0 - y) * np.log1p(-y)

    def slope(self, y: Array) -> Array:
        return np.log(y) - np.log1p(-y)

    def distance(self, y: Array, z: Array) -> Array:
        return entropy_gap(y, z, y - z) + entropy_gap(1.0 - y, 1.0 - z, z - y)
