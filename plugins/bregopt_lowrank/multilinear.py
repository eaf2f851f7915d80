"""Models that are linear in each of n blocks: CP tensors and chains of matrices, and one theorem for all of them."""

import math
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Kernel, validate
from bregopt.errors import DataError, parameter
from bregopt_lowrank.models import Shape, Sided, Sides, kernel_named

MANY = 2**31
"""More than any rank."""


def multilinear_kernel(n: int, kappa: float, a: float, b: float) -> Kernel:
    """``aκ²(2n − 1)/n^{n−1}·‖Y‖^{2n}/2n + bκ(n − 1)/n^{n/2−1}·‖Y‖^n/n``.

    Let A be linear in each of n blocks, ``‖A(Y)‖ ≤ κ Π‖Y_i‖``, and s = ‖Y‖². By Maclaurin's inequality for the
    elementary symmetric polynomials of the ‖Y_i‖²::

        ‖A(Y)‖       ≤ κ(s/n)^{n/2}
        ‖DA[h]‖²     ≤ κ²n(s/n)^{n−1}‖h‖²
        ‖D²A[h, h]‖  ≤ κ(n − 1)(s/n)^{n/2−1}‖h‖²

    For ``0 ≤ e'' ≤ a`` and ``‖E'(0)‖ ≤ b``, E' is within a‖A(Y)‖ of E'(0). So the second derivative of ΣE(A(Y)) along h
    is at most ``a‖DA[h]‖² + (a‖A‖ + b)‖D²A[h, h]‖``, and that of ‖Y‖^p/p at least s^{p/2−1}‖h‖². From below the first
    term is not needed: half of a will do. For CP and chains the spectral norm of an unfolding will do for b, as
    ⟨S, A(Y)⟩ ≤ ‖S‖₂ Π‖Y_i‖.
    """
    leading, following = kernel_named(f"power({2 * n})"), kernel_named(f"power({n})")
    above, below = a * kappa**2 * (2 * n - 1) / n ** (n - 1), b * kappa * (n - 1) / n ** (0.5 * n - 1.0)
    kernel: Kernel = above * leading + below * following
    return kernel


class Multilinear(Sided):
    """A model that is linear in each of its blocks U1, U2, …, with ``‖A(Y)‖ ≤ κ Π‖Y_i‖``."""

    @property
    def kappa(self) -> float:
        """κ."""
        return 1.0

    @property
    def affine(self) -> bool:
        return False

    @final
    @property
    def names(self) -> tuple[str, ...]:
        """Of the blocks."""
        return _names(self.degree)

    @final
    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        if leading != "psi1":
            raise parameter("kernel", "this model", "one that is made of powers of the norm", leading)
        return multilinear_kernel(self.degree, self.kappa, a, b)


@final
@frozen
class CP(Multilinear):
    """``A(U1, …, Un)_{i…j} = Σ_p u1_ip ⋯ un_jp``: a tensor as a sum of r products of vectors, for n dimensions."""

    n: int = field(default=3, validator=validate.whole(at_least=2))
    dims: tuple[int, ...] = ()
    """of the data"""
    cut: int = 1
    """how many of the dimensions make up the rows of the matrix that data are unfolded into"""

    @property
    def formula(self) -> str:
        return f"Σ {' ∘ '.join(f'{name.lower()}_p' for name in self.names)}"

    def folded(self, shape: Shape) -> tuple[int, ...]:
        return self.dims

    @property
    def degree(self) -> int:
        return self.n

    @property
    def typical(self) -> tuple[int, ...]:
        return ((3, 4, 2) * self.n)[: self.n]

    def unfolded(self, shape: tuple[int, ...]) -> "tuple[CP, Shape]":
        """With the cut that makes both factors as small as possible."""
        if len(shape) != self.n:
            found = " × ".join(map(str, shape)) or "a single number"
            raise DataError(f"The model cp({self.n}) takes data of {self.n} dimensions. Got {found} instead.")
        dims = tuple(map(int, shape))
        ends = {cut: (math.prod(dims[:cut]), math.prod(dims[cut:])) for cut in range(1, self.n)}
        cut = min(ends, key=lambda it: sum(ends[it]))
        return evolve(self, dims=dims, cut=cut), ends[cut]

    def ranks(self, shape: Shape) -> range:
        """No tensor needs more than the product of all dimensions but the largest."""
        return range(1, math.prod(self.dims) // max(self.dims) + 1)

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {name: (size, rank) for name, size in zip(self.names, self.dims, strict=True)}

    @property
    def sides(self) -> Sides:
        return self.names[: self.cut], self.names[self.cut :]

    def left(self, Y: Blocks) -> Array:
        first, *rest = (Y[name] for name in self.sides[0])
        return first if not rest else np.ascontiguousarray(_products([first, *rest]).T)

    def right(self, Y: Blocks) -> Array:
        return _products([Y[name] for name in self.sides[1]])

    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        lefts, rights = self.sides
        side = lefts if name in lefts else rights
        if len(side) == 1:
            return on_factor if side is lefts else np.ascontiguousarray(on_factor.T)
        T = np.ascontiguousarray(on_factor.T) if side is lefts else on_factor
        before, after = side[: side.index(name)], side[side.index(name) + 1 :]
        for other in reversed(after):
            T = T.reshape(len(T), -1, len(Y[other])) @ Y[other].T[:, :, None]
        for other in before:
            T = Y[other].T[:, None, :] @ T.reshape(len(T), len(Y[other]), -1)
        return np.ascontiguousarray(T.reshape(len(T), -1).T)

    def gram(self, Y: Blocks, name: str) -> Array:
        """The entrywise product of the Gram matrices of the other blocks."""
        return np.asarray(reduce(np.multiply, (Y[other].T @ Y[other] for other in self.names if other != name)))


@cache
def _names(n: int) -> tuple[str, ...]:
    return tuple(f"U{i + 1}" for i in range(n))


def _products(blocks: Sequence[Array]) -> Array:
    """r × (the product of the sizes): in each row the products of the entries of one column of each block."""
    found = blocks[0].T
    for U in blocks[1:]:
        found = (found[:, :, None] * U.T[:, None, :]).reshape(U.shape[1], -1)
    return found


def _matrix(X: Any) -> Array | None:
    if X is None:
        return None
    A = np.asarray(X)
    if A.ndim != 2 or not A.size or A.dtype.kind not in "fiub" or not np.isfinite(A).all() or not A.any():
        raise parameter("inputs", "chain", "a matrix of finite numbers that is not zero", f"shape {A.shape}, {A.dtype}")
    return np.asarray(A, dtype=float)


@final
@frozen(eq=False)
class Chain(Multilinear):
    """``A(U1, …, Un) = U1 U2 ⋯ Un X``: a deep linear network, with inputs X or without.

    ``widths`` are the numbers of columns of U1, …, U(n−1); by default all are the rank.
    """

    n: int = field(default=3, validator=validate.whole(at_least=2))
    widths: tuple[int, ...] = field(default=())
    inputs: Array | None = field(default=None, converter=_matrix, repr=False)
    """X"""
    kappa: float = field(kw_only=True)
    """‖X‖₂"""

    @kappa.default
    def _norm(self) -> float:
        return 1.0 if self.inputs is None else float(np.linalg.norm(self.inputs, 2))

    @widths.validator
    def _check_widths(self, attribute: object, widths: tuple[int, ...]) -> None:
        whole = all(isinstance(it, (int, np.integer)) and not isinstance(it, bool) and it >= 1 for it in widths)
        if widths and not (whole and len(widths) == self.n - 1):
            raise parameter("widths", "chain", f"{self.n - 1} whole numbers >= 1", widths)

    @property
    def formula(self) -> str:
        return "".join(self.names) + ("" if self.inputs is None else "X")

    @property
    def degree(self) -> int:
        return self.n

    @property
    def typical(self) -> tuple[int, ...]:
        return 5, 4 if self.inputs is None else self.inputs.shape[1]

    def ranks(self, shape: Shape) -> range | None:
        return None if self.widths else range(1, MANY)

    def check(self, shape: Shape) -> None:
        if self.inputs is not None and self.inputs.shape[1] != shape[1]:
            raise DataError(f"M has {shape[1]} columns, and the inputs have {self.inputs.shape[1]}: one for each.")

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        end = shape[1] if self.inputs is None else self.inputs.shape[0]
        sizes = (shape[0], *(self.widths or (rank,) * (self.n - 1)), end)
        return {name: (sizes[i], sizes[i + 1]) for i, name in enumerate(self.names)}

    @property
    def sides(self) -> Sides:
        """Cut where the chain is narrowest."""
        cut = 1 + (self.widths.index(min(self.widths)) if self.widths else 0)
        return self.names[:cut], self.names[cut:]

    def left(self, Y: Blocks) -> Array:
        return _chain([Y[name] for name in self.sides[0]])

    def right(self, Y: Blocks) -> Array:
        return self._with_inputs([Y[name] for name in self.sides[1]])

    def _with_inputs(self, matrices: list[Array]) -> Array:
        return _chain(matrices if self.inputs is None else [*matrices, self.inputs])

    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        lefts, rights = self.sides
        side = lefts if name in lefts else rights
        place = side.index(name)
        before, after = ([Y[other] for other in names] for names in (side[:place], side[place + 1 :]))
        if side is rights and self.inputs is not None:
            after.append(self.inputs)
        found = on_factor if not before else _chain(before).T @ on_factor
        return np.asarray(found if not after else found @ _chain(after).T)

    def gram(self, Y: Blocks, name: str) -> Array | None:
        """Of the first block, and of the last where there are no inputs; a block between two others has none."""
        if name == self.names[0]:
            R = self._with_inputs([Y[other] for other in self.names[1:]])
            return np.asarray(R @ R.T)
        if name == self.names[-1] and self.inputs is None:
            L = _chain([Y[other] for other in self.names[:-1]])
            return np.asarray(L.T @ L)
        return None

    def by_columns(self, name: str) -> bool:
        return name == self.names[-1] and self.inputs is None

    def block_curvature(self, Y: Blocks, name: str) -> float:
        """``‖U1 ⋯ U(i−1)‖₂² ‖U(i+1) ⋯ Un X‖₂²``."""
        place = self.names.index(name)
        before, after = ([Y[other] for other in names] for names in (self.names[:place], self.names[place + 1 :]))
        ends = [before, after if self.inputs is None else [*after, self.inputs]]
        return float(np.prod([_square_norm(_chain(matrices)) for matrices in ends if matrices]))


def _chain(matrices: Sequence[Array]) -> Array:
    """The product, from the side that is cheaper."""
    return matrices[0] if len(matrices) == 1 else np.linalg.multi_dot(list(matrices))


def _square_norm(A: Array) -> float:
    """‖A‖₂²."""
    return float(np.linalg.eigvalsh(A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A)[-1])
