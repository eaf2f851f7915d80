"""Kernels that are sums over the entries of Y, on the positive numbers or on (0, 1)."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Kernel
from bregopt.errors import IncompatibleError, ParameterError, parameter

Weight = float | Array
SMALL = 0.2
"""Up to that relative distance of two numbers their divergence is summed as a series."""
HELD = 1e-290
"""Down to that size, and up to its inverse, a ratio has all its digits."""
LEAN = 0.1
"""The share of its distance to an end by which an entry may come nearer in a step, and still be extrapolated."""
END = 1e-299
"""Up to there a proximal map has stopped before the end of the interval."""
ATANH = (2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15)
"""Coefficients of ``(2 artanh(r) − 2r)/r³`` in r²."""


def entropy_gap(y: Array, z: Array, d: Array) -> Array:
    """``y log(y/z) − d`` for d = y − z, accurate where y is close to z, and finite wherever that is a number."""
    u = _quotient(d, z)
    near = np.abs(u) < SMALL
    if near.all():
        return _small_entropy(z, u)
    return np.where(near, _small_entropy(z, np.where(near, u, 0.0)), y * _log_ratio(y, z) - d)


def _small_entropy(z: Array, u: Array) -> Array:
    """``z·((1 + u) log(1 + u) − u)`` for small u."""
    return z * (u * u - (1.0 + u) * _less_its_log(u))


def log_gap(y: Array, z: Array) -> Array:
    """``y/z − 1 − log(y/z)``, accurate where y is close to z; ``inf`` where that is too large."""
    u = _quotient(y - z, z)
    near = np.abs(u) < SMALL
    if near.all():
        return _less_its_log(u)
    return np.where(near, _less_its_log(np.where(near, u, 0.0)), u - _log_ratio(y, z))


def _less_its_log(u: Array) -> Array:
    """``u − log(1 + u)`` for small u: with r = u/(2 + u) it is ``ru − 2(artanh r − r)``, where little cancels."""
    r = u / (2.0 + u)
    square = r * r
    rest = ATANH[-1] * square
    for coefficient in ATANH[-2::-1]:
        rest += coefficient
        rest *= square
    return r * (u - rest)


def _quotient(d: Array, z: Array) -> Array:
    with np.errstate(over="ignore"):
        return d / z


def _log_ratio(y: Array, z: Array) -> Array:
    """``log(y/z)``, also where the ratio is too large or too small to be held."""
    with np.errstate(all="ignore"):
        ratio = y / z
        log: Array = np.log(ratio)
    far = ~((ratio > HELD) & (ratio < 1.0 / HELD))
    if far.any():
        log[far] = np.log(y[far]) - np.log(z[far])
    return log


def _by_block(weight: Any) -> Any:
    """Weights as floats and arrays; what is neither is left to the validator."""
    if isinstance(weight, Real) and not isinstance(weight, bool):
        return float(weight)
    if not isinstance(weight, Mapping):
        return weight
    arrays = {name: np.asarray(share, dtype=float) for name, share in weight.items()}
    return {name: float(array) if array.ndim == 0 else array for name, array in arrays.items()}


def _shown(weight: float | Mapping[str, Weight]) -> str:
    if not isinstance(weight, Mapping):
        return repr(weight)
    shares = [f"{name}: {share if isinstance(share, float) else share.shape}" for name, share in weight.items()]
    return f"{{{', '.join(shares)}}}"


@frozen(eq=False)
class Entrywise(Kernel):
    """``ψ(Y) = Σ w φ(y)`` for y in an open interval that starts at 0, with one weight w, or weights by block."""

    weight: float | Mapping[str, Weight] = field(default=1.0, converter=_by_block, repr=_shown)
    """a number; or for each block a number or an array per row, column or entry"""
    top: ClassVar[float] = math.inf
    """the upper end of the interval"""
    flattest: ClassVar[float] = 0.0
    """inf φ″"""

    @weight.validator
    def _not_negative(self, attribute: Any, weight: Any) -> None:
        if isinstance(weight, Mapping):
            for name, share in weight.items():
                lowest, highest = np.min(share, initial=math.inf), np.max(share, initial=-math.inf)
                if not (lowest >= 0 and highest < math.inf):
                    raise ParameterError(
                        f"The weights of block '{name}' in {type(self).__name__} must be finite and >= 0. "
                        f"Got {lowest:g} to {highest:g} instead."
                    )
            if weight:
                return
        if not (isinstance(weight, float) and 0 <= weight < math.inf):
            rule = "a finite number >= 0, or such weights by block, as in {'U': 2.0}"
            raise parameter("weight", type(self).__name__, rule, weight)

    @abstractmethod
    def phi(self, y: Array) -> Array: ...

    @abstractmethod
    def slope(self, y: Array) -> Array:
        """``φ'``."""

    @abstractmethod
    def distance(self, y: Array, z: Array) -> Array:
        """``φ(y) − φ(z) − φ'(z)(y − z)`` without cancellation."""

    @abstractmethod
    def minimiser(self, c: Array, q: Weight, w: Weight) -> Array | None:
        """``argmin_y  c·y + (q/2)·y² + w·φ(y)`` for q ≥ 0 and w > 0, infinite where there is none.

        ``None`` where no closed form is known.
        """

    @final
    def of_block(self, name: str) -> Weight:
        """The weights of the block of that name."""
        if not isinstance(self.weight, Mapping):
            return self.weight
        if name not in self.weight:
            known = ", ".join(self.weight)
            raise IncompatibleError(f"{type(self).__name__} has weights for {known}, and none for the block '{name}'.")
        return self.weight[name]

    def _flat(self, Y: Blocks) -> Weight:
        """The weights of all entries, in the order of ``Y.flat``."""
        if not isinstance(self.weight, Mapping):
            return self.weight
        parts = [_fitted(name, self.of_block(name), Y[name].shape) for name in Y.names]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @final
    def value(self, Y: Blocks) -> float:
        return _total(self._flat(Y), self.phi(Y.flat))

    @final
    def gradient(self, Y: Blocks) -> Blocks:
        return Y.like(self._flat(Y) * self.slope(Y.flat))

    @final
    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        return _total(self._flat(Y), self.distance(Y.flat, Z.flat))

    @final
    def contains(self, Y: Blocks) -> bool:
        return bool(Y.flat.size == 0 or (Y.flat.min() > 0 and Y.flat.max() < self.top))

    @final
    def longest(self, Y: Blocks, D: Blocks) -> float:
        down = D.flat < 0
        low = float(np.min(Y.flat[down] / -D.flat[down], initial=math.inf))
        if self.top == math.inf:
            return low
        up = D.flat > 0
        return min(low, float(np.min((self.top - Y.flat[up]) / D.flat[up], initial=math.inf)))

    @final
    @property
    def everywhere(self) -> bool:
        return False

    @final
    def onward(self, Y: Blocks, D: Blocks) -> Blocks:
        """Without the entries whose distance to an end shrank by more than a tenth."""
        y, d = Y.flat, D.flat
        fast = (-d > LEAN * y) | (d > LEAN * (self.top - y))
        return D.like(np.where(fast, 0.0, d)) if fast.any() else D

    @final
    def stationary(self, Y: Blocks, A: Blocks, gradient: Blocks) -> Blocks:
        """``min(y, a)``, and where the interval has an upper end ``max(a, y − top)``."""
        a: Array = np.minimum(Y.flat, np.where(Y.flat <= END, gradient.flat, A.flat))
        return A.like(a if self.top == math.inf else np.maximum(a, Y.flat - self.top))

    @final
    @property
    def strong_convexity(self) -> float:
        if self.flattest == 0:
            return 0.0
        weights = self.weight.values() if isinstance(self.weight, Mapping) else (self.weight,)
        return self.flattest * min(float(np.min(w)) for w in weights)

    @final
    def share(self, reference: Kernel) -> float:
        """The least ratio of the weights."""
        if reference is self:
            return 1.0
        if not isinstance(reference, Entrywise) or type(reference) is not type(self):
            return super().share(reference)
        names = self._names(reference)
        if names is None:
            return 0.0
        return min(_ratio(self.of_block(name), reference.of_block(name)) for name in names or ("",))

    @final
    def scaled(self, weight: float) -> "Entrywise":
        if isinstance(self.weight, Mapping):
            return evolve(self, weight={name: weight * w for name, w in self.weight.items()})
        return evolve(self, weight=weight * self.weight)

    @final
    def merged(self, other: Kernel) -> "Entrywise | None":
        if not isinstance(other, Entrywise) or type(other) is not type(self):
            return None
        names = self._names(other)
        if names is None:
            return None
        sums = {name: self.of_block(name) + other.of_block(name) for name in names or ("",)}
        return evolve(self, weight=sums if names else sums[""])

    def _names(self, other: "Entrywise") -> tuple[str, ...] | None:
        """The blocks that either has weights for, none where both are numbers; ``None`` where they differ."""
        named = [tuple(it.weight) for it in (self, other) if isinstance(it.weight, Mapping)]
        if len(named) == 2 and set(named[0]) != set(named[1]):
            return None
        return named[0] if named else ()


def _fitted(name: str, weight: Weight, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(weight, shape).ravel()
    except ValueError:
        raise IncompatibleError(
            f"The weights of block '{name}' have shape {np.shape(weight)}, which does not fit the block's {shape}."
        ) from None


def _total(weight: Weight, terms: Array) -> float:
    """``Σ w t``, where a weight of zero leaves out a term that is infinite."""
    if isinstance(weight, float):
        return weight * float(terms.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.dot(weight, terms))
        return total if math.isfinite(total) else float(np.sum(weight * terms, where=weight > 0))


def _ratio(own: Weight, wanted: Weight) -> float:
    """The least ``own/wanted``; infinite where nothing is wanted."""
    if isinstance(own, float) and isinstance(wanted, float):
        return own / wanted if wanted > 0 else math.inf
    own, wanted = np.broadcast_arrays(own, wanted)
    return float(np.divide(own, wanted, out=np.full(own.shape, math.inf), where=wanted > 0).min())


@final
@frozen(eq=False)
class BoltzmannShannon(Entrywise):
    """``ψ(Y) = Σ w (y log y − y)`` on y > 0."""

    def phi(self, y: Array) -> Array:
        return y * np.log(y) - y

    def slope(self, y: Array) -> Array:
        return np.log(y)

    def distance(self, y: Array, z: Array) -> Array:
        return entropy_gap(y, z, y - z)

    def minimiser(self, c: Array, q: Weight, w: Weight) -> Array:
        """``c + qy + w log y = 0``: y = exp(−c/w), and with a q > 0 Wright's ω = (q/w)·y solves ω + log ω = …"""
        slope: Array = -c / w
        if np.ndim(q) == 0 and q == 0:
            return np.exp(slope)
        start = slope + (np.log(q) - np.log(w))
        omega = _wright_omega(start)
        large = np.where(np.isinf(omega), -c, omega * w) / q
        return np.where(start > 0, large, np.exp(slope - omega))  # log y = −c/w − ω


def _wright_omega(x: Array) -> Array:
    """The root of ``ω + log ω = x``."""
    from scipy.special import wrightomega

    omega: Array = wrightomega(x)
    return omega


@final
@frozen(eq=False)
class Burg(Entrywise):
    """``ψ(Y) = −Σ w log y`` on y > 0."""

    def phi(self, y: Array) -> Array:
        return -np.log(y)

    def slope(self, y: Array) -> Array:
        return -1.0 / y

    def distance(self, y: Array, z: Array) -> Array:
        return log_gap(y, z)

    def minimiser(self, c: Array, q: Weight, w: Weight) -> Array:
        """The positive root of ``qy² + cy − w``."""
        if np.ndim(q) == 0 and q == 0:
            return np.where(c > 0, w / c, math.inf)
        half = 0.5 * c
        root: Array = np.hypot(half, np.sqrt(q) * np.sqrt(w))
        return np.where(c > 0, w / (root + half), (root - half) / q)


@final
@frozen(eq=False)
class FermiDirac(Entrywise):
    """``ψ(Y) = Σ w (y log y + (1 − y) log(1 − y))`` on 0 < y < 1."""

    top: ClassVar[float] = 1.0
    flattest: ClassVar[float] = 4.0

    def phi(self, y: Array) -> Array:
        return y * np.log(y) + (1.0 - y) * np.log1p(-y)

    def slope(self, y: Array) -> Array:
        return np.log(y) - np.log1p(-y)

    def distance(self, y: Array, z: Array) -> Array:
        return entropy_gap(y, z, y - z) + entropy_gap(1.0 - y, 1.0 - z, z - y)

    def minimiser(self, c: Array, q: Weight, w: Weight) -> Array | None:
        """``c + w log(y/(1 − y)) = 0`` where q = 0: y = 1/(1 + exp(c/w))."""
        if np.any(q):
            return None
        y: Array = 1.0 / (1.0 + np.exp(c / w))
        return y
