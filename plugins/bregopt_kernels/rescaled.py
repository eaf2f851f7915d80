"""A kernel of rescaled blocks, such as the τ-balanced ones, and its Bregman proximal map."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, BregmanProx, Kernel, Regularizer, Separable, WrappedRegularizer, make
from bregopt.errors import IncompatibleError, ParameterError, parameter
from bregopt_kernels.radial import Radial
from bregopt_kernels.radial_prox import RadialProx, resolve_radial

CLOSE = 1e-12
"""Scales that differ by less are taken for equal."""


@final
@frozen(eq=False)
class Rescaled(Kernel):
    """``ψ(Y) = φ(t_i·Y_i, …)``: blocks that are not named keep their scale."""

    base: Kernel
    t: Mapping[str, float]

    def stretch(self, Y: Blocks) -> Blocks:
        return Y.map(lambda name, X: self.t.get(name, 1.0) * X)

    def value(self, Y: Blocks) -> float:
        return self.base.value(self.stretch(Y))

    def gradient(self, Y: Blocks) -> Blocks:
        return self.stretch(self.base.gradient(self.stretch(Y)))

    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        return self.base.divergence(self.stretch(Y), self.stretch(Z))

    @property
    def _smallest(self) -> float:
        return min(1.0, *self.t.values())

    @property
    def strong_convexity(self) -> float:
        return self.base.strong_convexity * self._smallest**2

    @property
    def smoothness(self) -> float:
        return self.base.smoothness * max(1.0, *self.t.values()) ** 2

    def share(self, reference: Kernel) -> float:
        if isinstance(reference, Rescaled):
            if reference.t == self.t:
                return self.base.share(reference.base)
            if all(math.isclose(self.t.get(name, 1.0), t, rel_tol=CLOSE) for name, t in reference.t.items()):
                return self.base.share(reference.base) * (1.0 - 10.0 * CLOSE)
        floor = self._floor()
        return super().share(reference) if floor is None else max(floor.share(reference), super().share(reference))

    def _floor(self) -> Radial | None:
        """A radial kernel φ with ψ − φ convex: a third of the fourth power is lost, as ⟨Y, h⟩ has other zeros."""
        if not isinstance(self.base, Radial):
            return None
        b = self.base.b * self._smallest**2
        names = dict.fromkeys([*self.t, *self.base.c])
        c = {name: np.maximum(self.base.quadratic_share(name) * self.t.get(name, 1.0) ** 2 - b, 0.0) for name in names}
        return Radial(self.base.a * self._smallest**4 / 3.0, b, c)

    def summands(self) -> tuple[Kernel, ...]:
        parts = self.base.summands()
        return (self,) if len(parts) == 1 else tuple(Rescaled(part, self.t) for part in parts)

    def along(self, Y: Blocks, D: Blocks) -> Array | None:
        return self.base.along(self.stretch(Y), self.stretch(D))

    def contains(self, Y: Blocks) -> bool:
        return self.base.contains(self.stretch(Y))

    def longest(self, Y: Blocks, D: Blocks) -> float:
        return self.base.longest(self.stretch(Y), self.stretch(D))

    def scaled(self, weight: float) -> "Rescaled":
        return Rescaled(weight * self.base, self.t)

    def merged(self, other: Kernel) -> "Rescaled | None":
        if not isinstance(other, Rescaled) or other.t != self.t:
            return None
        return Rescaled(self.base + other.base, self.t)


def balanced(tau: float = 1.0, kernel: Kernel | str = "psi1") -> Rescaled:
    """``ψ(U, V) = φ(√τ·U, V/√τ)``: the norm is ``τ‖U‖² + ‖V‖²/τ``, best with τ = ‖V‖/‖U‖."""
    if not (isinstance(tau, (int, float)) and 0 < tau < math.inf):
        raise parameter("tau", "balanced", "a finite number > 0", tau)
    base = make("kernel", kernel)
    if not isinstance(base, Kernel):
        raise ParameterError(f"balanced needs a kernel, not one that depends on W. Got {base!r} instead.")
    return Rescaled(base, {"U": math.sqrt(tau), "V": 1.0 / math.sqrt(tau)})


@final
@frozen(eq=False)
class Stretched(WrappedRegularizer):
    """``H(X/t)``."""

    t: float

    def ridge(self, eta: float) -> float:
        return eta / self.t**2

    @property
    def step_limit(self) -> float:
        return self.H.step_limit * self.t**2

    def value(self, X: Array) -> float:
        return self.H.value(X / self.t)

    def prox(self, X: Array, step: float) -> Array:
        return self.t * self.H.prox(X / self.t, step / self.t**2)

    def piece(self, X: Array) -> Regularizer | None:
        piece = self.H.piece(X / self.t)
        return None if piece is None else self.around(piece)


def resolve_rescaled(kernel: Kernel, H: Separable) -> BregmanProx | None:
    """The map of the base kernel in the rescaled variables, where that is radial."""
    if not isinstance(kernel, Rescaled):
        return None
    return None if resolve_radial(kernel.base, H) is None else RescaledProx(H)


@final
@frozen(eq=False)
class RescaledProx:
    """``argmin_Y  λH(Y) + ⟨P, Y⟩ + φ(t_i·Y_i, …)``."""

    H: Separable

    @property
    def exact(self) -> bool:
        return RadialProx(self.H).exact

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        if not isinstance(kernel, Rescaled):
            raise IncompatibleError(f"The rescaled proximal map was given the kernel {kernel!r}, not of its family.")
        t = kernel.t
        named = {name: Stretched(self.H[name], t.get(name, 1.0)) for name in P.names}
        inner = RadialProx(Separable(**named))
        shrunk = P.map(lambda name, X: X / t.get(name, 1.0))
        return inner(shrunk, step, kernel.base).map(lambda name, X: X / t.get(name, 1.0))
