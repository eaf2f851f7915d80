"""The radial family: powers of the norm, with quadratic shares of single blocks."""

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Kernel
from bregopt.errors import ParameterError, parameter

Share = float | Array


def _shares(c: Mapping[str, Any]) -> Mapping[str, Share]:
    shares: dict[str, Share] = {}
    for name, share in c.items():
        if type(share) is float and 0 <= share < math.inf:
            shares[name] = share
            continue
        array = np.asarray(share, dtype=float)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ParameterError(
                f"The quadratic share of block '{name}' must be finite and >= 0. Got {share!r} instead."
            )
        shares[name] = float(array) if array.ndim == 0 else array
    return shares


def _weight(instance: object, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:
        raise parameter(attribute.name, "the radial kernel", "a finite number >= 0", value)


@final
@frozen(eq=False)
class Radial(Kernel):
    """``ψ(Y) = (a/4)‖Y‖⁴ + (b/2)‖Y‖² + Σ_p (κ_p/p)‖Y‖^p + ½ Σ_i ⟨c_i Y_i, Y_i⟩``, c_i per block, row or entry."""

    a: float = field(default=0.0, validator=_weight)
    b: float = field(default=0.0, validator=_weight)
    c: Mapping[str, Share] = field(factory=dict, converter=_shares)
    kappa: Mapping[float, float] = field(factory=dict)
    """weights κ of further powers p"""

    def quadratic_share(self, name: str) -> Share:
        """b + c_i, for the block of that name."""
        return self.b + self.c.get(name, 0.0)

    def radial_factor(self, s: float) -> float:
        """``a s + Σ κ_p s^{p/2−1}``, the factor of Y in the gradient of the powers of the norm where ‖Y‖² = s."""
        return self.a * s + (sum(k * _power_slope(s, p) for p, k in self.kappa.items()) if self.kappa else 0.0)

    def value(self, Y: Blocks) -> float:
        s = Y.dot(Y)
        further = sum(k * _power(s, p) for p, k in self.kappa.items())
        return 0.25 * self.a * s * s + 0.5 * self.b * s + 0.5 * self._weighted(Y, Y) + further

    def gradient(self, Y: Blocks) -> Blocks:
        rho = self.radial_factor(Y.dot(Y)) + self.b
        if not self.c:
            return Y * rho
        return Y.map(lambda name, X: (rho + self.c.get(name, 0.0)) * X)

    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        """With e = Y − Z: ``a[(2⟨Z,e⟩ + ‖e‖²)²/4 + ‖Z‖²‖e‖²/2] + (b/2)‖e‖² + ½ Σ ⟨c e, e⟩``, and the powers alike."""
        (ee, along), n = Y.gap(Z), Z.dot(Z)
        rise, further = 2.0 * along + ee, 0.0
        if self.kappa:
            further = sum(k * _power_divergence(n, rise, ee, p) for p, k in self.kappa.items())
        if self.c:
            e = Y - Z
            further += 0.5 * self._weighted(e, e)
        return self.a * (0.25 * rise * rise + 0.5 * n * ee) + 0.5 * self.b * ee + further

    @property
    def strong_convexity(self) -> float:
        return self.b

    @property
    def smoothness(self) -> float:
        if self.a > 0 or self.kappa:
            return math.inf
        return self.b + max((float(np.max(c)) for c in self.c.values()), default=0.0)

    def share(self, reference: Kernel) -> float:
        """The least ratio of the weights: at 0 only the quadratic parts count, and far out the highest power alone."""
        if not isinstance(reference, Radial):
            return super().share(reference)
        least = min(_ratio(self.a, reference.a), _ratio(self.b, reference.b))
        for p, k in reference.kappa.items():
            least = min(least, _ratio(self.kappa.get(p, 0.0), k))
        for name in {**self.c, **reference.c}:
            least = min(least, _ratio(self.quadratic_share(name), reference.quadratic_share(name)))
        return least

    def summands(self) -> tuple[Kernel, ...]:
        """The fourth power, the quadratic part, and each further power."""
        parts = [Radial(a=self.a)] if self.a > 0 else []
        parts += [Radial(b=self.b, c=self.c)] if self.b > 0 or self.c else []
        parts += [Radial(kappa={p: k}) for p, k in self.kappa.items()]
        return tuple(parts) if len(parts) > 1 else (self,)

    def along(self, Y: Blocks, D: Blocks) -> Array | None:
        if self.kappa:
            return None
        n, p, q = Y.dot(Y), Y.dot(D), D.dot(D)
        line = 0.25 * self.a * np.array([n * n, 4 * n * p, 4 * p * p + 2 * n * q, 4 * p * q, q * q])
        line[:3] += 0.5 * self.b * np.array([n, 2.0 * p, q])
        if self.c:
            line[:3] += 0.5 * np.array([self._weighted(Y, Y), 2.0 * self._weighted(Y, D), self._weighted(D, D)])
        return line

    def scaled(self, weight: float) -> "Radial":
        if not (self.c or self.kappa):
            return Radial(weight * self.a, weight * self.b)
        c = {name: weight * c for name, c in self.c.items()}
        return Radial(weight * self.a, weight * self.b, c, {p: weight * k for p, k in self.kappa.items()})

    def merged(self, other: Kernel) -> "Radial | None":
        if not isinstance(other, Radial):
            return None
        if not (self.c or other.c or self.kappa or other.kappa):
            return Radial(self.a + other.a, self.b + other.b)
        c = {name: self.c.get(name, 0.0) + other.c.get(name, 0.0) for name in dict.fromkeys([*self.c, *other.c])}
        kappa = {
            p: self.kappa.get(p, 0.0) + other.kappa.get(p, 0.0) for p in dict.fromkeys([*self.kappa, *other.kappa])
        }
        return Radial(self.a + other.a, self.b + other.b, c, kappa)

    def _weighted(self, Y: Blocks, Z: Blocks) -> float:
        return sum(float(np.sum(c * Y[name] * Z[name])) for name, c in self.c.items() if name in Y.names)

    def __repr__(self) -> str:
        terms = [f"{self.a:g}·ψ1"] * (self.a > 0) + [f"{self.b:g}·ψ2"] * (self.b > 0)
        terms += [f"{k / p:g}·‖Y‖^{p:g}" for p, k in self.kappa.items()]
        terms += [f"½⟨c·{name}, {name}⟩" for name in self.c]
        return " + ".join(terms) or "0"


def _ratio(own: Share, wanted: Share) -> float:
    """The least ``own/wanted``; infinite where nothing is wanted."""
    if isinstance(own, float) and isinstance(wanted, float):
        return own / wanted if wanted > 0 else math.inf
    own, wanted = np.broadcast_arrays(own, wanted)
    return float(np.divide(own, wanted, out=np.full(own.shape, math.inf), where=wanted > 0).min())


def _power(s: float, p: float) -> float:
    """``‖Y‖^p/p`` from s = ‖Y‖²."""
    return float(s ** (0.5 * p)) / p


def _power_slope(s: float, p: float) -> float:
    """``‖Y‖^{p−2}``, the factor of Y in the gradient of ``‖Y‖^p/p``."""
    return float(s ** (0.5 * p - 1.0)) if s > 0 else float(p == 2)


def _power_divergence(n: float, rise: float, ee: float, p: float) -> float:
    """``D(Y, Z)`` of ‖·‖^p/p from n = ‖Z‖², rise = ‖Y‖² − ‖Z‖² and ee = ‖Y − Z‖², without cancellation."""
    if n == 0:
        return _power(ee, p)
    q = 0.5 * p
    return float(n**q) * _bernoulli(rise / n, q) / p + 0.5 * float(n ** (q - 1.0)) * ee


def _bernoulli(x: float, q: float) -> float:
    """``(1 + x)^q − 1 − q x`` for x ≥ −1, q ≥ 1: by its series where the terms would cancel."""
    if abs(x) > 0.05:
        return float(max(1.0 + x, 0.0) ** q - 1.0 - q * x)
    term, total, k = 0.5 * q * (q - 1.0) * x * x, 0.0, 2
    while abs(term) > 1e-18 * abs(total) and k < 60:
        total += term
        term *= (q - k) / (k + 1) * x
        k += 1
    return total


def psi1() -> Radial:
    """``ψ1(Y) = ¼‖Y‖⁴``."""
    return Radial(a=1.0)


def psi2() -> Radial:
    """``ψ2(Y) = ½‖Y‖²``."""
    return Radial(b=1.0)


def power(p: float = 3.0) -> Radial:
    """``ψ(Y) = ‖Y‖^p/p``, p ≥ 2."""
    if not (isinstance(p, (int, float)) and math.isfinite(p) and p >= 2):
        raise parameter("p", "power", "a finite number >= 2", p)
    return psi2() if p == 2 else psi1() if p == 4 else Radial(kappa={float(p): 1.0})


def block_quadratic(**c: Share) -> Radial:
    """``ψ(Y) = ½ Σ_i ⟨c_i Y_i, Y_i⟩`` with weights for each block named: a number, or an array per row or per entry."""
    if not c:
        raise ParameterError("block-quadratic needs a weight for a block, as in 'block-quadratic(U=2)'.")
    return Radial(c=c)
