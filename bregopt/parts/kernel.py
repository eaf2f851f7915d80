"""ψ, the function whose Bregman distance measures a step, and policies that choose it from W."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import IncompatibleError, brief, parameter
from bregopt.part_errors import wrong_result

Norms = Mapping[str, float]
"""Upper bounds known about W, by name (``frobenius``, ``spectral``, …)."""


class KernelPolicy(ABC):
    """A kernel that depends on W, e.g. ``3ψ1 + ‖W‖_F ψ2``."""

    @abstractmethod
    def at(self, norms: Norms) -> "Kernel":
        """The kernel for every W within these norms; it may not shrink when a norm grows."""

    @abstractmethod
    def sample(self) -> "Kernel":
        """Some kernel of the family: the one that proximal maps are resolved for."""

    def pick(self, reduced: bool) -> "KernelPolicy":
        """The policy for a method; ``reduced`` where W is taken at the point of the gradient."""
        return self

    @final
    def kernel_at(self, norms: Norms) -> "Kernel":
        """``at``, with its answer checked: what methods ask."""
        found = self.at(norms)
        if found is not self and not isinstance(found, Kernel):
            raise wrong_result(self, "at", "a Kernel", found)
        return found


class Kernel(KernelPolicy):
    """``ψ(Y)``, convex and differentiable on an open domain; a kernel is its own policy."""

    @abstractmethod
    def value(self, Y: Blocks) -> float: ...

    @abstractmethod
    def gradient(self, Y: Blocks) -> Blocks: ...

    @abstractmethod
    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        """``D(Y, Z) = ψ(Y) − ψ(Z) − ⟨∇ψ(Z), Y − Z⟩`` by a formula without cancellation."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """The modulus σ with ψ − (σ/2)‖Y‖² convex."""

    @property
    def smoothness(self) -> float:
        """The least known L with ``(L/2)‖Y‖² − ψ`` convex."""
        return math.inf

    def share(self, reference: "Kernel") -> float:
        """The largest a known with ``ψ − a·reference`` convex; 0 where none is known.

        An F that is 1-smad to the reference is (1/a)-smad to ψ, so F states its theorem once, for one kernel. An
        author says what is known of kernels of the same family and leaves the rest to this method: what strong
        convexity brings, and sums term by term.
        """
        own, wanted = collected(self.summands()), collected(reference.summands())
        if len(own) == len(wanted) == 1:
            if isinstance(reference, KernelSum):
                weight, kernel = reference.terms[0]
                return self.share(kernel) / weight if weight > 0 else math.inf
            return max(float(reference == self), self.strong_convexity / reference.smoothness)
        table = np.array([[part.share(term) for term in wanted] for part in own])
        uses = np.maximum((table > 0).sum(axis=1, keepdims=True), 1)  # one term serves several by equal parts
        return float((table / uses).sum(axis=0).min())

    def summands(self) -> "tuple[Kernel, ...]":
        """ψ as a sum of simpler kernels, itself where there are none."""
        return (self,)

    def along(self, Y: Blocks, D: Blocks) -> Array | None:
        """Coefficients ψ_0, ψ_1, … of the polynomial ``ψ(Y + βD)`` in β; ``None`` if it is none."""
        return None

    def contains(self, Y: Blocks) -> bool:
        """Whether Y lies in the open domain."""
        return True

    def longest(self, Y: Blocks, D: Blocks) -> float:
        """The supremum of β ≥ 0 that keep Y + βD in the domain."""
        return math.inf

    @property
    def everywhere(self) -> bool:
        """Whether the domain is the whole space."""
        return True

    def onward(self, Y: Blocks, D: Blocks) -> Blocks:
        """D, by which Y came, as far as Y may be extrapolated along it: not fast towards the end of the domain.

        What is next to the end comes back from there slowly.
        """
        return D

    def stationary(self, Y: Blocks, A: Blocks, gradient: Blocks) -> Blocks:
        """What is left of A ∈ ∂Φ(Y) where Y is near the end of the domain: on y > 0 it is ``min(y, a)`` entry by entry.

        It is zero where Y is stationary on the closed domain, at its end too, where a may be large. Where a map had to
        stop before the end, A says nothing, and the gradient of F is taken for it.
        """
        return A

    def scaled(self, weight: float) -> "Kernel | None":
        """``weight·ψ`` where the family has a form of its own for it."""
        return None

    def merged(self, other: "Kernel") -> "Kernel | None":
        """``ψ + other`` where the family has a form of its own for it."""
        return None

    @final
    def at(self, norms: Norms) -> "Kernel":
        return self

    @final
    def sample(self) -> "Kernel":
        return self

    @final
    def __mul__(self, weight: float) -> "Kernel":
        if not weight >= 0:
            raise parameter("weight", "a kernel", "a number >= 0", weight)
        return self.scaled(weight) or KernelSum(((float(weight), self),))

    __rmul__ = __mul__

    @final
    def __add__(self, other: "Kernel") -> "Kernel":
        if not isinstance(other, Kernel):
            raise IncompatibleError(f"A kernel can only be added to a kernel. Got {brief(other)} instead.")
        return self.merged(other) or other.merged(self) or KernelSum(((1.0, self), (1.0, other)))


def collected(summands: Iterable[Kernel]) -> list[Kernel]:
    """The summands, those that have a form in common added up."""
    found: list[Kernel] = []
    for part in summands:
        for place, other in enumerate(found):
            both = part.merged(other) or other.merged(part)
            if both is not None and len(both.summands()) == 1:
                found[place] = both
                break
        else:
            found.append(part)
    return found


@final
@frozen(eq=False)
class KernelSum(Kernel):
    """``ψ = Σ w_i ψ_i`` of kernels that share no closed form."""

    terms: Sequence[tuple[float, Kernel]]

    def scaled(self, weight: float) -> "KernelSum":
        return KernelSum(tuple((weight * w, kernel) for w, kernel in self.terms))

    def merged(self, other: Kernel) -> "KernelSum":
        return KernelSum((*self.terms, *(other.terms if isinstance(other, KernelSum) else ((1.0, other),))))

    def value(self, Y: Blocks) -> float:
        return sum(w * kernel.value(Y) for w, kernel in self.terms)

    def gradient(self, Y: Blocks) -> Blocks:
        flat = np.zeros_like(Y.flat)
        for w, kernel in self.terms:
            flat += w * kernel.gradient(Y).flat
        return Y.like(flat)

    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        return sum(w * kernel.divergence(Y, Z) for w, kernel in self.terms)

    @property
    def strong_convexity(self) -> float:
        return sum(w * kernel.strong_convexity for w, kernel in self.terms)

    @property
    def smoothness(self) -> float:
        return sum(w * kernel.smoothness for w, kernel in self.terms)

    def share(self, reference: Kernel) -> float:
        if len(self.terms) == 1:
            weight, kernel = self.terms[0]
            return weight * kernel.share(reference)
        return super().share(reference)

    def summands(self) -> tuple[Kernel, ...]:
        return tuple(
            part.scaled(w) or KernelSum(((w, part),)) for w, kernel in self.terms for part in kernel.summands()
        )

    def along(self, Y: Blocks, D: Blocks) -> Array | None:
        lines = [(w, kernel.along(Y, D)) for w, kernel in self.terms]
        if any(line is None for _, line in lines):
            return None
        total = np.zeros(max(len(line) for _, line in lines if line is not None))
        for w, line in lines:
            if line is not None:
                total[: len(line)] += w * line
        return total

    def contains(self, Y: Blocks) -> bool:
        return all(kernel.contains(Y) for _, kernel in self.terms)

    def longest(self, Y: Blocks, D: Blocks) -> float:
        return min(kernel.longest(Y, D) for _, kernel in self.terms)

    @property
    def everywhere(self) -> bool:
        return all(kernel.everywhere for _, kernel in self.terms)

    def onward(self, Y: Blocks, D: Blocks) -> Blocks:
        for _, kernel in self.terms:
            D = kernel.onward(Y, D)
        return D

    def stationary(self, Y: Blocks, A: Blocks, gradient: Blocks) -> Blocks:
        for _, kernel in self.terms:
            A = kernel.stationary(Y, A, gradient)
        return A


@final
@frozen
class KernelByMode(KernelPolicy):
    """One policy where W lags behind the gradient's point, another where it does not."""

    lagged: KernelPolicy
    reduced: KernelPolicy

    def at(self, norms: Norms) -> Kernel:
        return self.lagged.kernel_at(norms)

    def sample(self) -> Kernel:
        return self.lagged.sample()

    def pick(self, reduced: bool) -> KernelPolicy:
        return self.reduced if reduced else self.lagged
