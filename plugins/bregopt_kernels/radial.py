"""The radial family: quartic and quadratic powers of the norm, with quadratic shares of single blocks."""

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
        array = np.asarray(share, dtype=float)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ParameterError(
                f"The quadratic share of block '{name}' must be finite and >= 0. Got {share!r} instead."
            )
        shares[name] = float(array) if array.ndim == 0 else array
    return shares


def _weight(instance: object, attribute: Any, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise parameter(attribute.name, "the radial kernel", "a finite number >= 0", value)


@final
@frozen(eq=False)
class Radial(Kernel):
    """``ψ(Y) = (a/4)‖Y‖⁴ + (b/2)‖Y‖² + ½ Σ_i ⟨c_i Y_i, Y_i⟩``, c_i ≥ 0 per block, per row or per entry."""

    a: float = field(default=0.0, validator=_weight)
    b: float = field(default=0.0, validator=_weight)
    c: Mapping[str, Share] = field(factory=dict, converter=_shares)

    def share(self, name: str) -> Share:
        """b + c_i."""
        return self.b + self.c.get(name, 0.0)

    def value(self, Y: Blocks) -> float:
        s = Y.dot(Y)
        return 0.25 * self.a * s * s + 0.5 * self.b * s + 0.5 * self._weighted(Y, Y)

    def gradient(self, Y: Blocks) -> Blocks:
        rho = self.a * Y.dot(Y) + self.b
        if not self.c:
            return Y * rho
        return Y.map(lambda name, X: (rho + self.c.get(name, 0.0)) * X)

    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        """With e = Y − Z: ``a[(2⟨Z,e⟩ + ‖e‖²)²/4 + ‖Z‖²‖e‖²/2] + (b/2)‖e‖² + ½ Σ ⟨c e, e⟩``."""
        e = Y - Z
        ee = e.dot(e)
        rise = 2.0 * Z.dot(e) + ee
        return self.a * (0.25 * rise * rise + 0.5 * Z.dot(Z) * ee) + 0.5 * self.b * ee + 0.5 * self._weighted(e, e)

    @property
    def strong_convexity(self) -> float:
        return self.b

    @property
    def quartic(self) -> float:
        return self.a

    def quadratic(self, name: str) -> float:
        return float(np.min(self.share(name)))

    def along(self, Y: Blocks, D: Blocks) -> Array:
        n, p, q = Y.dot(Y), Y.dot(D), D.dot(D)
        s = np.array([n, 2.0 * p, q])
        line = 0.25 * self.a * np.array([n * n, 4 * n * p, 4 * p * p + 2 * n * q, 4 * p * q, q * q])
        line[:3] += 0.5 * self.b * s
        if self.c:
            line[:3] += 0.5 * np.array([self._weighted(Y, Y), 2.0 * self._weighted(Y, D), self._weighted(D, D)])
        return line

    def scaled(self, weight: float) -> "Radial":
        return Radial(weight * self.a, weight * self.b, {name: weight * c for name, c in self.c.items()})

    def merged(self, other: Kernel) -> "Radial | None":
        if not isinstance(other, Radial):
            return None
        c = {name: self.c.get(name, 0.0) + other.c.get(name, 0.0) for name in {*self.c, *other.c}}
        return Radial(self.a + other.a, self.b + other.b, c)

    def _weighted(self, Y: Blocks, Z: Blocks) -> float:
        return sum(float(np.sum(c * Y[name] * Z[name])) for name, c in self.c.items())

    def __repr__(self) -> str:
        terms = [f"{self.a:g}·ψ1"] * (self.a > 0) + [f"{self.b:g}·ψ2"] * (self.b > 0)
        terms += [f"½⟨c·{name}, {name}⟩" for name in self.c]
        return " + ".join(terms) or "0"


def psi1() -> Radial:
    """``ψ1(Y) = ¼‖Y‖⁴``."""
    return Radial(a=1.0)


def psi2() -> Radial:
    """``ψ2(Y) = ½‖Y‖²``."""
    return Radial(b=1.0)


def block_quadratic(**c: Share) -> Radial:
    """``ψ(Y) = ½ Σ_i c_i‖Y_i‖²`` with a weight for each block named."""
    if not c:
        raise ParameterError("block-quadratic needs a weight for a block, as in 'block-quadratic(U=2)'.")
    return Radial(c=c)
