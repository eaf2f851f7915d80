"""The Bregman proximal map of entrywise kernels: closed forms where four numbers spell H, else by bisection."""

import math
from collections.abc import Iterator, Mapping
from typing import cast, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, BregmanProx, Kernel, KernelSum, ScalarPenalty, Separable, Trait
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt_kernels.entrywise import Entrywise, Weight
from bregopt_kernels.radial import Radial

EXPONENT = 690.0
"""Entries are sought between e^−690 and e^690."""
LEAST, MOST = math.exp(-EXPONENT), math.exp(EXPONENT)
BELOW_ONE = 1.0 - 2.0**-53
HALVINGS = 64


def interval(kernel: Kernel) -> float | None:
    """The upper end of the entries' interval, or ``None`` where the kernel is no sum over entries on an interval."""
    terms = list(_terms(kernel))
    ends = [term.top for _, term in terms if isinstance(term, Entrywise)]
    others = [term for _, term in terms if not isinstance(term, Entrywise)]
    quadratic = all(isinstance(term, Radial) and term.a == 0 and not term.kappa for term in others)
    return min(ends) if ends and quadratic else None


def _terms(kernel: Kernel) -> Iterator[tuple[float, Kernel]]:
    if isinstance(kernel, KernelSum):
        for weight, term in kernel.terms:
            yield from ((weight * w, inner) for w, inner in _terms(term))
    else:
        yield 1.0, kernel


def resolve_entrywise(kernel: Kernel, H: Separable) -> BregmanProx | None:
    """The map, where the kernel is a sum over entries and H is convex and separable."""
    wanted = Trait.SEPARABLE | Trait.CONVEX
    top = interval(kernel)
    if top is None or not all(wanted in part.traits for part in H.distinct()):
        return None
    penalties = {name: H[name].scalar() for name in ("", *H.named)}
    known = {name: h for name, h in penalties.items() if h is not None}
    for name, h in known.items():
        if not (h.high > 0 and h.low < top):
            raise IncompatibleError(
                f"{H[name]!r} leaves no point of the domain of the kernel {kernel!r}, where 0 < y < {top:g}."
            )
    bisection = EntrywiseProx(H)
    return ClosedFormProx(known, bisection) if len(known) == len(penalties) else bisection


@final
@frozen(eq=False)
class ClosedFormProx:
    """Each entry is ``argmin_y  cy + (q/2)y² + wφ(y)`` for ``c = p + λ·l1``, ``q = λ·ridge``, within the bounds of h.

    A quadratic summand of the kernel goes to q. Where a kernel has no closed form, the bisection serves.
    """

    penalties: Mapping[str, ScalarPenalty]
    """h by block, and under "" that of every other block"""
    bisection: "EntrywiseProx"
    exact = True

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        terms = list(_terms(kernel))
        entropies = [(weight, term) for weight, term in terms if isinstance(term, Entrywise)]
        quadratics = [(weight, term) for weight, term in terms if isinstance(term, Radial)]
        if len(entropies) != 1:
            return self.bisection(P, step, kernel)
        [(weight, entropy)] = entropies
        end = BELOW_ONE if entropy.top == 1.0 else math.inf
        flat = np.empty_like(P.flat)
        for name, target in P.layout.views(flat).items():
            h = self.penalties.get(name) or self.penalties[""]
            q = step * h.ridge + sum(b * term.quadratic_share(name) for b, term in quadratics)
            y = _minimiser(entropy, P[name] + step * h.l1, q, weight * entropy.of_block(name))
            if y is None:
                return self.bisection(P, step, kernel)
            np.clip(y, max(h.low, LEAST), min(h.high, end), out=target)
        if not np.max(flat, initial=0.0) <= MOST:
            raise _without_minimiser()
        return P.like(flat)


def _minimiser(entropy: Entrywise, c: Array, q: Weight, w: Weight) -> Array | None:
    """That of the kernel; where a weight is zero, that of ``cy + (q/2)y²`` on y ≥ 0."""
    with np.errstate(all="ignore"):  # infinite is an answer: no minimiser
        y = entropy.minimiser(c, q, w)
        if y is None or np.min(w) > 0:
            return y
        return np.where(np.asarray(w) > 0, y, np.where(c < 0, -c / q, 0.0))


def _without_minimiser() -> OverflowedError:
    return OverflowedError("The Bregman proximal map has no minimiser: an entry grows without bound.")


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
            raise _without_minimiser()
        return P.like(entry(0.5 * (low + high)))

    def _moved(self, Y: Blocks, v: Blocks) -> Blocks:
        """prox(y + t·v) entry by entry with the step t = y, so that nothing is lost in the sum."""
        return Y.map(lambda name, y: self.H[name].prox(y + y * v[name], cast(float, y)))


def _exponential(x: Array) -> Array:
    y: Array = np.exp(x)
    return y


def _logistic(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.minimum(np.where(x < 0, e / (1.0 + e), 1.0 / (1.0 + e)), BELOW_ONE)
