"""Models A(Y) of data: each is a product of two factors that are made of the blocks."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Kernel, make, validate
from bregopt.errors import DataError

Shape = tuple[int, int]
"""m and n of M."""
Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""The blocks of L, and those of R."""


@cache
def kernel_named(spec: str) -> Kernel:
    """The registered kernel."""
    kernel: Kernel = make("kernel", spec)
    return kernel


def quartic(a: float, b: float, leading: str = "psi1") -> Kernel:
    """``a·ψ1 + b·ψ2``, or another leading term."""
    return _weighted(a, leading) + b * kernel_named("psi2")


@lru_cache(maxsize=16)  # the weight of the leading term stays where that of the other one follows W
def _weighted(a: float, leading: str) -> Kernel:
    return a * kernel_named(leading)


class Model(ABC):
    """``A(Y) = LR``, where the factors L and R are made of the blocks of Y.

    A loss with ``0 ≤ e'' ≤ c`` of a model with affine factors is 1-smad to the kernel ``(cψ1 + wψ2)(L, R)``, where w
    bounds ‖E'(0)‖₂. ``lift`` spells it in Y, or the kernel of a theorem of its own where the factors are not affine.
    """

    @property
    def typical(self) -> tuple[int, ...]:
        """A shape of data that it takes, for its checks."""
        return 5, 4

    @property
    def formula(self) -> str:
        """A(Y), as it is written on paper."""
        return "A(Y)"

    def folded(self, shape: Shape) -> tuple[int, ...]:
        """The shape of the data, from that of the matrix that they were unfolded into."""
        return shape

    def unfolded(self, shape: tuple[int, ...]) -> "tuple[Model, Shape]":
        """The model for data of this shape, and the shape of the matrix that they are unfolded into."""
        if len(shape) != 2:
            raise DataError(f"M must be a matrix with two dimensions. Got shape {tuple(shape)} instead.")
        return self, (int(shape[0]), int(shape[1]))

    def ranks(self, shape: Shape) -> range | None:
        """The ranks that it may have for an M of this shape; ``None`` where it has none."""
        return range(1, min(shape) + 1)

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
        """A kernel that every loss with ``0 ≤ e'' ≤ a`` and ``‖E'(0)‖₂ ≤ b`` is 1-smad to.

        With half of a it bounds the loss from below: ``−D_f ≤ D_ψ``.
        """

    @property
    def affine(self) -> bool:
        """Whether L and R are affine in the blocks; ``lift`` is then ``aψ1 + bψ2`` of (L, R), up to a constant."""
        return True

    @property
    def degree(self) -> int:
        """Of A as a polynomial in Y: a random start has the same size whatever the degree."""
        return 2

    @property
    def convex(self) -> bool:
        """Whether a convex loss of A(Y) is convex in Y."""
        return False

    def gram(self, Y: Blocks, name: str) -> Array | None:
        """``SmoothPart.gram`` of ½‖W − A(Y)‖²."""
        return None

    def by_columns(self, name: str) -> bool:
        """Whether that is for the columns of the block."""
        return False

    def block_curvature(self, Y: Blocks, name: str) -> float | None:
        """``SmoothPart.block_lipschitz`` of ½‖W − A(Y)‖²."""
        G = self.gram(Y, name)
        return None if G is None else float(np.linalg.eigvalsh(G)[-1])

    def start(self, shapes: Mapping[str, tuple[int, ...]], size: float, rng: np.random.Generator) -> Blocks:
        """Gaussian blocks of one norm, whose product with aligned blocks has the size."""
        return Blocks(**{name: gaussian(shape, size ** (1.0 / self.degree), rng) for name, shape in shapes.items()})

    def products(self, gradient: bool, elsewhere: bool, value_at: bool) -> float:
        """What an evaluation costs: with a gradient, at another point, and with the value there."""
        return 1.0 + 2.0 * gradient + (elsewhere and value_at)

    @property
    def fixed_left(self) -> bool:
        """Whether L is the same for every Y, so that no gradient is wanted for it."""
        return False

    @property
    def threads(self) -> bool:
        """Whether the work is in making the factors, so that BLAS should use all its threads for that."""
        return False

    def check(self, shape: Shape) -> None:
        """Refuse an M of this shape."""
        return


def gaussian(shape: tuple[int, ...], norm: float, rng: np.random.Generator) -> Array:
    """A random array of that norm."""
    X = rng.standard_normal(shape)
    return np.asarray(X * (norm / np.linalg.norm(X)))


class Sided(Model):
    """A model in which every block belongs to L or to R: one pass then serves an update of all blocks."""

    @property
    @abstractmethod
    def sides(self) -> Sides: ...

    @abstractmethod
    def left(self, Y: Blocks) -> Array:
        """L."""

    @abstractmethod
    def right(self, Y: Blocks) -> Array:
        """R."""

    @abstractmethod
    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        """The gradient for one block, from that for the factor it is in."""

    @final
    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        return self.left(Y), self.right(Y)

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        lefts, rights = self.sides
        found = {name: self.part(Y, name, on_left) for name in lefts}
        return found | {name: self.part(Y, name, on_right) for name in rights}


@final
@frozen
class Product(Sided):
    """``A(U, V) = UV``."""

    @property
    def formula(self) -> str:
        return "UV"

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"U": (shape[0], rank), "V": (rank, shape[1])}

    @property
    def sides(self) -> Sides:
        return ("U",), ("V",)

    def left(self, Y: Blocks) -> Array:
        return Y["U"]

    def right(self, Y: Blocks) -> Array:
        return Y["V"]

    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        return on_factor

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        return {"U": on_left, "V": on_right}

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        return quartic(a, b, leading)

    def gram(self, Y: Blocks, name: str) -> Array:
        """VVᵀ for U and UᵀU for V."""
        return np.asarray(Y["V"] @ Y["V"].T if name == "U" else Y["U"].T @ Y["U"])

    def by_columns(self, name: str) -> bool:
        return name == "V"


@final
@frozen
class Symmetric(Model):
    """``A(U) = UUᵀ``, for a symmetric M."""

    mirrored: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))
    """whether m_ij = m_ji holds to the last digit, with the same weight: one product less will do then"""

    @property
    def formula(self) -> str:
        return "UUᵀ"

    @property
    def typical(self) -> tuple[int, ...]:
        return 4, 4

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
class WithBias(Sided):
    """``A(U, V, a, b) = UV + a1ᵀ + 1bᵀ``: a number more for each row, and for each column."""

    @property
    def formula(self) -> str:
        return "UV + a1ᵀ + 1bᵀ"

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"U": (shape[0], rank), "V": (rank, shape[1]), "a": (shape[0], 1), "b": (1, shape[1])}

    @property
    def sides(self) -> Sides:
        return ("U", "a"), ("V", "b")

    def left(self, Y: Blocks) -> Array:
        return np.concatenate([Y["U"], Y["a"], np.ones_like(Y["a"])], axis=1)

    def right(self, Y: Blocks) -> Array:
        return np.concatenate([Y["V"], np.ones_like(Y["b"]), Y["b"]], axis=0)

    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        r = Y["V"].shape[0]
        if name == "U":
            return on_factor[:, :r]
        if name == "V":
            return on_factor[:r]
        return on_factor[:, r : r + 1] if name == "a" else on_factor[r + 1 :]

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """The ones in the factors add m + n to s: ``aψ1 + (b + a(m + n))ψ2``."""
        return quartic(a, b + a * sum(shape), leading)

    def gram(self, Y: Blocks, name: str) -> Array:
        """VVᵀ for U, UᵀU for V, n for a and m for b."""
        if name in ("U", "V"):
            return np.asarray(Y["V"] @ Y["V"].T if name == "U" else Y["U"].T @ Y["U"])
        return np.array([[float(Y["b"].size if name == "a" else Y["a"].size)]])

    def by_columns(self, name: str) -> bool:
        return name in ("V", "b")

    def start(self, shapes: Mapping[str, tuple[int, ...]], size: float, rng: np.random.Generator) -> Blocks:
        """The offsets are zero."""
        parts = {name: gaussian(shapes[name], math.sqrt(size), rng) for name in ("U", "V") if name in shapes}
        return Blocks(**{name: parts.get(name, np.zeros(shape)) for name, shape in shapes.items()})


@final
@frozen(eq=False)
class Frozen(Model):
    """A model some blocks of which are fixed: one factor stays, and A is affine in the other."""

    model: Sided
    fixed: Blocks
    curvature: float
    """‖RRᵀ‖₂ of the factor that stays"""

    left: bool
    """whether that is L"""

    @property
    def formula(self) -> str:
        return self.model.formula

    def folded(self, shape: Shape) -> tuple[int, ...]:
        return self.model.folded(shape)

    @classmethod
    def of(cls, model: Model, fixed: Blocks, shape: Shape, rank: int) -> "Frozen":
        """With these blocks, which have to make up a factor that the other one is affine beside."""
        shapes = model.shapes(shape, rank)
        for name in fixed.names:
            if name not in shapes:
                raise DataError(f"There is no block '{name}' to fix: the blocks are {', '.join(shapes)}.")
            if fixed[name].shape != shapes[name]:
                wanted = "×".join(map(str, shapes[name]))
                raise DataError(f"The fixed block '{name}' must be {wanted}. Got {fixed[name].shape} instead.")
        sides = model.sides if isinstance(model, Sided) else ()
        free = [side for side in sides if set(side) == set(shapes) - set(fixed.names)]
        if not isinstance(model, Sided) or not free or not (model.affine or len(free[0]) == 1):
            lone = [side for side in sides if model.affine or len(shapes) - len(side) == 1]
            choices = " or ".join(" and ".join(side) for side in lone) or "none, as no factor is affine"
            raise DataError(
                f"The blocks that are fixed must make up one of the two factors: {choices}. "
                f"Got {', '.join(fixed.names)}."
            )
        rest = {name: np.zeros(shapes[name]) for name in free[0]}
        L, R = model.factors(Blocks(**rest, **{name: fixed[name] for name in fixed.names}))
        left = free[0] == model.sides[1]
        gram = L.T @ L if left else R @ R.T
        return cls(model, fixed, float(np.linalg.eigvalsh(gram)[-1]), left)

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {name: it for name, it in self.model.shapes(shape, rank).items() if name not in self.fixed.names}

    def _all(self, Y: Blocks) -> Blocks:
        return Blocks(**{name: Y[name] for name in Y.names}, **{name: self.fixed[name] for name in self.fixed.names})

    @property
    def degree(self) -> int:
        return self.model.degree

    def factors(self, Y: Blocks) -> tuple[Array, Array]:
        return self.model.factors(self._all(Y))

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        whole = self._all(Y)
        return {name: self.model.part(whole, name, on_right if self.left else on_left) for name in Y.names}

    @property
    def convex(self) -> bool:
        return True

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """The Hessian is at most a‖RRᵀ‖₂, wherever the loss bends: no fourth power, and b does not matter."""
        return a * self.curvature * kernel_named("psi2")

    def gram(self, Y: Blocks, name: str) -> Array | None:
        return self.model.gram(self._all(Y), name)

    def by_columns(self, name: str) -> bool:
        return self.model.by_columns(name)

    def block_curvature(self, Y: Blocks, name: str) -> float:
        return self.curvature

    def start(self, shapes: Mapping[str, tuple[int, ...]], size: float, rng: np.random.Generator) -> Blocks:
        return self.model.start(shapes, size, rng)
