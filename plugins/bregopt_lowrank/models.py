"""Models A(Y) of a matrix: each is a product of two factors that are made of the blocks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Kernel, make
from bregopt.errors import DataError

Shape = tuple[int, int]
"""m and n of M."""


@cache
def _kernel(spec: str) -> Kernel:
    kernel: Kernel = make("kernel", spec)
    return kernel


def quartic(a: float, b: float, leading: str = "psi1") -> Kernel:
    """``a·ψ1 + b·ψ2``, or another leading term."""
    return a * _kernel(leading) + b * _kernel("psi2")


class Model(ABC):
    """``A(Y) = LR``, where the factors L and R are affine in the blocks of Y.

    A loss with ``0 ≤ e'' ≤ c`` of every such model is 1-smad to the kernel ``(cψ1 + wψ2)(L, R)``, where w bounds
    ‖E'(0)‖₂. ``lift`` spells it in Y.
    """

    @abstractmethod
    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        """The blocks, and their shapes for an M of this shape."""

    @abstractmethod
    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        """L and R."""

    @abstractmethod
    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        """The gradient by blocks, from those for L and R; of a factor that stays it is empty."""

    @abstractmethod
    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """``aψ1 + bψ2`` of (L, R) as a kernel of Y, up to a constant."""

    @property
    def sides(self) -> tuple[tuple[str, ...], ...]:
        """The blocks of L, and those of R, where no block is in both."""
        return ()

    @property
    def convex(self) -> bool:
        """Whether a convex loss of A(Y) is convex in Y."""
        return False

    def gram(self, Y: Blocks, name: str) -> Array | None:
        """``SmoothPart.gram`` of ½‖W − A(Y)‖²."""
        return None

    def check(self, shape: Shape) -> None:
        """Refuse an M of this shape."""
        return


@final
@frozen
class Product(Model):
    """``A(U, V) = UV``."""

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"U": (shape[0], rank), "V": (rank, shape[1])}

    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        return Y["U"], Y["V"]

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        return {"U": on_left, "V": on_right}

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        return quartic(a, b, leading)

    @property
    def sides(self) -> tuple[tuple[str, ...], ...]:
        return ("U",), ("V",)

    def gram(self, Y: Blocks, name: str) -> Array:
        """VVᵀ for U and UᵀU for V."""
        return np.asarray(Y["V"] @ Y["V"].T if name == "U" else Y["U"].T @ Y["U"])


@final
@frozen
class Symmetric(Model):
    """``A(U) = UUᵀ``, for a symmetric M."""

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"U": (shape[0], rank)}

    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        return Y["U"], Y["U"].T

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        return {"U": on_left + on_right.T}

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """With s = 2‖U‖²: ``a‖U‖⁴ + b‖U‖²``."""
        return quartic(4.0 * a, 2.0 * b, leading)

    def check(self, shape: Shape) -> None:
        if shape[0] != shape[1]:
            raise DataError(f"The model 'symmetric' needs a square M. Got {shape[0]}×{shape[1]} instead.")


@final
@frozen
class WithBias(Model):
    """``A(U, V, a, b) = UV + a1ᵀ + 1bᵀ``: a number more for each row, and for each column."""

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"U": (shape[0], rank), "V": (rank, shape[1]), "a": (shape[0], 1), "b": (1, shape[1])}

    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        a, b = Y["a"], Y["b"]
        left = np.concatenate([Y["U"], a, np.ones_like(a)], axis=1)
        return left, np.concatenate([Y["V"], np.ones_like(b), b], axis=0)

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        r = Y["V"].shape[0]
        return {"U": on_left[:, :r], "V": on_right[:r], "a": on_left[:, r : r + 1], "b": on_right[r + 1 :]}

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """The ones in the factors add m + n to s: ``aψ1 + (b + a(m + n))ψ2``."""
        return quartic(a, b + a * sum(shape), leading)

    @property
    def sides(self) -> tuple[tuple[str, ...], ...]:
        return ("U", "a"), ("V", "b")


@final
@frozen(eq=False)
class Frozen(Model):
    """A model some blocks of which are fixed: one factor stays, and A is affine in the other."""

    model: Model
    fixed: Blocks
    curvature: float
    """‖RRᵀ‖₂ of the factor that stays"""

    left: bool
    """whether that is L"""

    @classmethod
    def of(cls, model: Model, fixed: Blocks, shape: Shape, rank: int) -> "Frozen":
        """With these blocks, which have to make up a factor."""
        shapes = model.shapes(shape, rank)
        for name in fixed.names:
            if name not in shapes:
                raise DataError(f"There is no block '{name}' to fix: the blocks are {', '.join(shapes)}.")
            if fixed[name].shape != shapes[name]:
                m, n = shapes[name]
                raise DataError(f"The fixed block '{name}' must be {m}×{n}. Got {fixed[name].shape} instead.")
        for left, side in enumerate(model.sides[::-1]):
            if set(side) == set(fixed.names):
                rest = {name: np.zeros(size) for name, size in shapes.items() if name not in fixed.names}
                L, R = model.factors(Blocks(**rest, **{name: fixed[name] for name in fixed.names}))
                gram = L.T @ L if left else R @ R.T
                return cls(model, fixed, float(np.linalg.eigvalsh(gram)[-1]), bool(left))
        choices = " or ".join(" and ".join(side) for side in model.sides) or "none, as one block is both factors"
        raise DataError(
            f"The blocks that are fixed must make up one of the two factors: {choices}. Got {', '.join(fixed.names)}."
        )

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {name: it for name, it in self.model.shapes(shape, rank).items() if name not in self.fixed.names}

    def _all(self, Y: Blocks) -> Blocks:
        return Blocks(**{name: Y[name] for name in Y.names}, **{name: self.fixed[name] for name in self.fixed.names})

    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        return self.model.factors(self._all(Y))

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        whole = self._all(Y)
        L, R = self.model.factors(whole)
        sides = (np.zeros_like(L) if self.left else on_left), (on_right if self.left else np.zeros_like(R))
        return {name: X for name, X in self.model.pull(whole, *sides).items() if name in Y.names}

    @property
    def convex(self) -> bool:
        return True

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """The Hessian is at most a‖RRᵀ‖₂, wherever the loss bends: no fourth power, and b does not matter."""
        return a * self.curvature * _kernel("psi2")

    def gram(self, Y: Blocks, name: str) -> Array | None:
        return self.model.gram(self._all(Y), name)
