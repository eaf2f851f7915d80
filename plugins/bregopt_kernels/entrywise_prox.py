"""The Bregman proximal map of entrywise kernels, for convex separable regularizers: one bisection for all entries."""

from typing import cast, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Kernel, KernelSum, Separable, Trait
from bregopt.errors import OverflowedError
from bregopt_kernels.entrywise import Entrywise
from bregopt_kernels.radial import Radial

EXPONENT = 690.0
"""Entries are sought between e^−690 and e^690."""
HALVINGS = 64


def interval(kernel: Kernel) -> float | None:
    """The upper end of the entries' interval, or ``None`` where the kernel is no sum over entries on an interval."""
    if isinstance(kernel, Entrywise):
        return kernel.top
    if isinstance(kernel, KernelSum):
        terms = [term for _, term in kernel.terms]
        ends = [interval(term) for term in terms if not isinstance(term, Radial)]
        quadratic = all(term.a == 0 and not term.kappa for term in terms if isinstance(term, Radial))
        if quadratic and ends and None not in ends:
            return min(end for end in ends if end is not None)
    return None


def resolve_entrywise(kernel: Kernel, H: Separable) -> "EntrywiseProx | None":
    """The map, where the kernel is a sum over entries and H is convex and separable."""
    wanted = Trait.SEPARABLE | Trait.CONVEX
    if interval(kernel) is None or not all(wanted in part.traits for part in H.distinct()):
        return None
    return EntrywiseProx(H)


@final
@frozen(eq=False)
class EntrywiseProx:
    """Each entry is the root of ``0 ∈ λ∂h(y) + p + ψ'(y)``, found by the side of y on which prox(y + v) lies."""

    H: Separable
    exact = True

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        bounded = interval(kernel) == 1.0
        entry = _logistic if bounded else _exponential
        low, high = np.full_like(P.flat, -EXPONENT), np.full_like(P.flat, EXPONENT)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            Y = P.like(entry(middle))
            v = (P + kernel.gradient(Y)) * (-1.0 / step)
            rises = self._moved(Y, v).flat > Y.flat  # then v lies above ∂h(y), and the root to the right
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        if not bounded and (high == EXPONENT).any():
            raise OverflowedError("The Bregman proximal map has no minimiser: an entry grows without bound.")
        return P.like(entry(0.5 * (low + high)))

    def _moved(self, Y: Blocks, v: Blocks) -> Blocks:
        """prox(y + t·v) entry by entry with the step t = y, so that nothing is lost in the sum."""
        return Y.map(lambda name, y: self.H[name].prox(y + y * v[name], cast(float, y)))


def _exponential(x: Array) -> Array:
    y: Array = np.exp(x)
    return y


def _logistic(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.minimum(np.where(x < 0, e / (1.0 + e), 1.0 / (1.0 + e)), 1.0 - 2.0**-53)
