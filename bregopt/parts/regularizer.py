"""H on one block, known by its value and its Euclidean proximal map."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt.blocks import Array, Blocks
from bregopt.errors import IncompatibleError, brief
from bregopt.parts.penalty import EntryPenalty, ScalarPenalty
from bregopt.parts.traits import Trait


class Regularizer(ABC):
    """``H(X)`` on one block. ``value`` and ``prox`` are all that an author writes."""

    traits: Trait = Trait.NONE
    paper: ClassVar[str] = ""
    """where the paper has it, as in ``case (iii)``"""

    @property
    def weak_convexity(self) -> float | None:
        """The smallest known ρ ≥ 0 with H + (ρ/2)‖X‖² convex; ``None`` where there is none."""
        return 0.0 if Trait.CONVEX in self.traits else None

    @property
    def step_limit(self) -> float:
        """``prox`` is the global minimiser for every step below this."""
        return math.inf

    @abstractmethod
    def value(self, X: Array) -> float:
        """``H(X)``; an indicator is 0 within a rounding tolerance and ``inf`` beyond."""

    @abstractmethod
    def prox(self, X: Array, step: float) -> Array:
        """``argmin_Z  H(Z) + ‖Z − X‖²/(2·step)``, a global minimiser, in a fresh array."""

    def split(self) -> "tuple[Regularizer, float] | None":
        """``(H₀, η)`` with H = H₀ + (η/2)‖X‖² and H₀ homogeneous, or ``None``: what makes a prox closed-form."""
        return (self, 0.0) if Trait.HOMOGENEOUS in self.traits else None

    def piece(self, X: Array) -> "Regularizer | None":
        """H on the piece of its domain that X lies on, less a constant, where that is homogeneous; else ``None``.

        For a penalty on the number of non-zeros: the matrices with the support of X. It is what makes a Bregman
        proximal map exact where the Euclidean one jumps.
        """
        return None

    def scalar(self) -> ScalarPenalty | None:
        """h with ``H(X) = Σ h(x_ij)``, the same for every entry, where four numbers spell it; else ``None``."""
        return None

    def entry(self) -> EntryPenalty | None:
        """h with ``H(X) = Σ h(x_ij)``, the same for every entry, as functions that numba compiles; else ``None``."""
        h = self.scalar()
        return None if h is None else h.entry()

    def convex_parts(self) -> "ConvexParts | None":
        """r₁ and r₂ with H = r₁ − r₂, both convex; ``None`` where none are known. A convex H is r₁ itself, r₂ = 0."""
        return ConvexParts(self, np.zeros_like) if Trait.CONVEX in self.traits else None

    def sparsity(self) -> "Sparsity | None":
        """What H says of the places of non-zeros, and of their values, where it limits both apart; else ``None``."""
        return None


@final
@frozen(eq=False)
class Sparsity:
    """``H(X) = h(X) if the places of the non-zeros of X are allowed, else ∞``: for methods that choose the places."""

    entries: Regularizer
    """h, which has a scalar form"""
    allowed: Callable[[Array, float], NDArray[np.bool_]]
    """``(gains, room) ↦`` the allowed places with the largest sum of the gains, which are ≥ 0

    More places are allowed the larger ``room`` is: at 0 those that H allows, at 1 all.
    """


@final
@frozen(eq=False)
class ConvexParts:
    """``H(X) = r₁(X) − r₂(X)`` with both convex: what methods for differences of convex functions step on."""

    first: Regularizer
    """r₁, which is convex, with a proximal map of its own"""
    subgradient: Callable[[Array], Array]
    """``X ↦ ξ ∈ ∂r₂(X)``, in a fresh array"""


def tikhonov(H: Regularizer) -> float | None:
    """η where ``H(X) = (η/2)‖X‖²``, so that a quadratic with H is minimised by a linear system; else ``None``."""
    h = H.scalar()
    return h.ridge if h is not None and h.quadratic else None


class SmoothRegularizer(Regularizer):
    """A convex regularizer with a Lipschitz gradient: it may stand in H by its prox, or in F by its gradient."""

    @abstractmethod
    def gradient(self, X: Array) -> Array:
        """``∇H(X)``, in a fresh array."""

    @abstractmethod
    def curvature(self, X: Array) -> Array:
        """c that broadcasts against X, with ``⟨∇²H·Z, Z⟩ ≤ Σ c·z²``: the share of a kernel that H in F needs."""


@final
@frozen
class Zero(Regularizer):
    """``H(X) = 0``."""

    paper = "case (i)"
    traits = Trait.CONVEX | Trait.SEPARABLE | Trait.HOMOGENEOUS | Trait.ROW_WISE

    def value(self, X: Array) -> float:
        return 0.0

    def prox(self, X: Array, step: float) -> Array:
        return X.copy()

    def scalar(self) -> ScalarPenalty:
        return ScalarPenalty()


@final
class Separable:
    """``H(Y) = Σ_i H_i(Y_i)``, one regularizer a block: ``Separable(U=L1(0.1), V=NonNegative())``.

    A block that is not named has none; ``Separable(H)`` puts the same H on every block.
    """

    def __init__(self, everywhere: Regularizer | None = None, /, **blocks: Regularizer) -> None:
        for name, part in {"every block": everywhere or Zero(), **blocks}.items():
            if not isinstance(part, Regularizer):
                raise IncompatibleError(f"The regularizer of {name} must be a Regularizer. Got {brief(part)} instead.")
        self._everywhere = everywhere or Zero()
        self._blocks: Mapping[str, Regularizer] = dict(blocks)
        self._alike: dict[tuple[str, ...], Regularizer | None] = {}

    def __getitem__(self, name: str) -> Regularizer:
        return self._blocks.get(name, self._everywhere)

    @property
    def named(self) -> Mapping[str, Regularizer]:
        """The regularizers given by block name."""
        return self._blocks

    @property
    def is_zero(self) -> bool:
        """Whether H = 0 on every block."""
        return all(isinstance(part, Zero) for part in self.distinct())

    def distinct(self) -> Iterator[Regularizer]:
        """Every regularizer that occurs, for the checks made when a problem is composed."""
        yield from self._blocks.values()
        yield self._everywhere

    @cached_property
    def weak_convexity(self) -> float | None:
        """The largest modulus over the blocks; ``None`` if one of them has none."""
        moduli = [part.weak_convexity for part in self.distinct()]
        return None if None in moduli else max(modulus for modulus in moduli if modulus is not None)

    def _of_every_entry(self, names: tuple[str, ...]) -> Regularizer | None:
        """H, where it is the same for each entry of these blocks, so that it can be taken of all entries at once."""
        if names not in self._alike:
            first, penalties = self[names[0]], {self[name].scalar() for name in names}
            self._alike[names] = first if len(penalties) == 1 and None not in penalties else None
        return self._alike[names]

    @cached_property
    def _bounded(self) -> bool:
        """Whether H keeps an entry within bounds."""
        return any(h is not None and h.bounded for h in (part.scalar() for part in self.distinct()))

    def value(self, Y: Blocks) -> float:
        """H(Y)."""
        H = self._of_every_entry(Y.names)
        if H is not None and not self._bounded:  # what rounds to a bound is for each block to say
            return H.value(Y.flat[np.newaxis])
        total = 0.0
        for name in Y.names:
            total += self[name].value(Y[name])
        return total

    def prox(self, Y: Blocks, step: float) -> Blocks:
        """The Euclidean proximal map, block by block."""
        H = self._of_every_entry(Y.names)
        if H is not None:
            return Y.like(H.prox(Y.flat[np.newaxis], step).ravel())
        return Y.map(lambda name, X: self[name].prox(X, step))

    def __repr__(self) -> str:
        parts = [f"{name}={part!r}" for name, part in self._blocks.items()]
        if not isinstance(self._everywhere, Zero):
            parts.insert(0, repr(self._everywhere))
        return f"Separable({', '.join(parts)})"
