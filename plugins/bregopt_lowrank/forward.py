"""Models that are any map from the blocks to data: linear operators and convolutions."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Kernel
from bregopt.errors import DataError, parameter
from bregopt_lowrank.models import Shape, Sided, Sides, gaussian, kernel_named
from bregopt_lowrank.multilinear import multilinear_kernel
from bregopt_lowrank.passes.threads import thread_count

SAFETY = 1.0001
"""A norm by Lanczos is a lower bound; this factor makes it an upper one."""
EXACT = 1500
"""Rows or columns up to which ‖A‖₂ and AᵀA are computed from A itself."""
ONE = np.ones((1, 1))
KEPT = 4
"""Fourier transforms that a convolution keeps."""


class Forward(Sided):
    """``A(Y)`` as a map and its derivative: data of any shape are one row, L is 1 and R is A(Y).

    An author writes ``forward`` and ``adjoint``, the shapes and the kernel; every entrywise loss is there.
    """

    @abstractmethod
    def forward(self, Y: Blocks) -> Array:
        """A(Y), in the shape of the data."""

    @abstractmethod
    def adjoint(self, Y: Blocks, name: str, S: Array) -> Array:
        """The gradient of ``⟨S, A(Y)⟩`` for one block; S has the shape of the data."""

    @property
    @abstractmethod
    def data_shape(self) -> tuple[int, ...]:
        """Of the data that the model was unfolded for."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Of the blocks."""

    @final
    @property
    def sides(self) -> Sides:
        return (), self.names

    @final
    @property
    def fixed_left(self) -> bool:
        return True

    @final
    def left(self, Y: Blocks) -> Array:
        return ONE

    @final
    def right(self, Y: Blocks) -> Array:
        return self.forward(Y).reshape(1, -1)

    @final
    def part(self, Y: Blocks, name: str, on_factor: Array) -> Array:
        return self.adjoint(Y, name, on_factor.reshape(self.data_shape))

    def folded(self, shape: Shape) -> tuple[int, ...]:
        return self.data_shape

    def ranks(self, shape: Shape) -> range | None:
        return None

    def products(self, gradient: bool, elsewhere: bool, value_at: bool) -> float:
        """In units of one A(Y)."""
        return 1.0 + len(self.names) * gradient + elsewhere


@final
@frozen(eq=False)
class Linear(Forward):
    """``A(x) = Ax`` for a matrix A, dense or sparse, or a scipy LinearOperator; x has a column for each one of data."""

    A: Any = field(repr=False)
    data_shape: tuple[int, ...] = ()
    norm: float = field(kw_only=True)
    """an upper bound of ‖A‖₂"""
    square: Array | None = field(kw_only=True, repr=False)
    """AᵀA, where A is a matrix with few columns"""

    @property
    def formula(self) -> str:
        return "Ax"

    @A.validator
    def _check(self, attribute: object, A: Any) -> None:
        if len(getattr(A, "shape", ())) != 2 or min(A.shape) < 1:
            raise parameter("A", "linear", "a matrix, or a scipy LinearOperator", A)
        if np.dtype(A.dtype if A.dtype is not None else float).kind not in "fiub":
            raise parameter("A", "linear", "of real numbers", f"dtype {A.dtype}")
        values = A.data if hasattr(A, "tocsr") else A
        if isinstance(values, np.ndarray) and not np.isfinite(values).all():
            raise DataError("The matrix A of the model 'linear' has entries that are not finite.")

    @norm.default
    def _norm(self) -> float:
        return operator_norm(self.A)

    @square.default
    def _square(self) -> Array | None:
        if not (isinstance(self.A, np.ndarray) or hasattr(self.A, "tocsr")) or self.A.shape[1] > EXACT:
            return None
        square = self.A.T @ self.A
        return np.asarray(square.toarray() if hasattr(square, "toarray") else square, dtype=float)

    @property
    def typical(self) -> tuple[int, ...]:
        return int(self.A.shape[0]), 2

    def unfolded(self, shape: tuple[int, ...]) -> "tuple[Linear, Shape]":
        if len(shape) not in (1, 2) or shape[0] != self.A.shape[0]:
            found = "×".join(map(str, shape)) or "a single number"
            raise DataError(f"The data of Ax must have {self.A.shape[0]} rows, as A has. Got {found} instead.")
        return evolve(self, data_shape=tuple(shape)), (1, math.prod(shape))

    @property
    def names(self) -> tuple[str, ...]:
        return ("x",)

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"x": (int(self.A.shape[1]), math.prod(self.data_shape[1:]))}

    def forward(self, Y: Blocks) -> Array:
        return np.asarray(self.A @ Y["x"])

    def adjoint(self, Y: Blocks, name: str, S: Array) -> Array:
        return np.asarray(self.A.T @ S.reshape(len(S), -1))

    @property
    def threads(self) -> bool:
        return True

    @property
    def degree(self) -> int:
        return 1

    @property
    def convex(self) -> bool:
        return True

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """``a‖A‖₂²ψ2``: the loss bends at most so much, wherever."""
        return a * self.norm**2 * kernel_named("psi2")

    def gram(self, Y: Blocks, name: str) -> Array | None:
        return self.square

    def by_columns(self, name: str) -> bool:
        return True

    def block_curvature(self, Y: Blocks, name: str) -> float:
        return self.norm**2

    def start(self, shapes: Mapping[str, tuple[int, ...]], size: float, rng: np.random.Generator) -> Blocks:
        return Blocks(x=gaussian(shapes["x"], size / self.norm, rng))


def operator_norm(A: Any) -> float:
    """An upper bound of ‖A‖₂: by AᵀA or AAᵀ where one is small, else by Lanczos with a part in 10⁴ added."""
    matrix = isinstance(A, np.ndarray) or hasattr(A, "tocsr")
    if matrix and min(A.shape) <= EXACT:
        square = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
        square = square.toarray() if hasattr(square, "toarray") else square
        top = math.sqrt(max(float(np.linalg.eigvalsh(np.asarray(square, dtype=float))[-1]), 0.0))
        norm = top * (1.0 + 1e-10)
    else:
        from scipy.sparse.linalg import svds

        norm = SAFETY * float(svds(A, k=1, return_singular_vectors=False, rng=np.random.default_rng(0))[0])
    if not norm > 0:
        raise DataError("The matrix A of the model 'linear' is zero.")
    return norm


def _sizes(size: int | Sequence[int]) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else tuple(size)


@final
@frozen
class Convolution(Forward):
    """``A(k, x) = k ∗ x``, periodic, in as many dimensions as the data have; k has the size given, x that of the data.

    ``Σ_j k_j x_{i−j}``: a kernel of odd sizes has its middle at its centre. By Fourier transforms.
    """

    size: tuple[int, ...] = field(converter=_sizes)
    """of k"""
    data_shape: tuple[int, ...] = ()
    _spectra: list[tuple[str, Array, Any]] = field(init=False, factory=list, repr=False, eq=False)
    """the Fourier transforms used last, each with the block that it is of"""

    @property
    def formula(self) -> str:
        return "k ∗ x"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without what it keeps."""
        return Convolution, (self.size, self.data_shape)

    @size.validator
    def _check(self, attribute: object, size: tuple[Any, ...]) -> None:
        if not size or not all(
            isinstance(it, (int, np.integer)) and not isinstance(it, bool) and it >= 1 for it in size
        ):
            raise parameter("size", "convolution", "whole numbers >= 1, one for each dimension", size)

    @property
    def typical(self) -> tuple[int, ...]:
        return tuple(it + 2 for it in self.size)

    def unfolded(self, shape: tuple[int, ...]) -> "tuple[Convolution, Shape]":
        found = "×".join(map(str, shape))
        if len(shape) != len(self.size) or any(a > b for a, b in zip(self.size, shape, strict=True)):
            wanted = "×".join(map(str, self.size))
            raise DataError(f"The data must be at least {wanted}, the size of the kernel. Got {found} instead.")
        return evolve(self, data_shape=tuple(shape)), (1, math.prod(shape))

    @property
    def names(self) -> tuple[str, ...]:
        return ("k", "x")

    def shapes(self, shape: Shape, rank: int) -> Mapping[str, tuple[int, ...]]:
        return {"k": self.size, "x": self.data_shape}

    @property
    def affine(self) -> bool:
        return False

    def forward(self, Y: Blocks) -> Array:
        return self._inverse(self._spectrum(Y, "k") * self._spectrum(Y, "x"))

    def adjoint(self, Y: Blocks, name: str, S: Array) -> Array:
        return self._adjoint(Y, name, self._transform(S))

    def pull(self, Y: Blocks, on_left: Array, on_right: Array) -> Mapping[str, Array]:
        """With one transform for both blocks."""
        S = self._transform(on_right.reshape(self.data_shape))
        return {name: self._adjoint(Y, name, S) for name in self.names}

    def _adjoint(self, Y: Blocks, name: str, S: Any) -> Array:
        product = np.conj(self._spectrum(Y, "x" if name == "k" else "k"))
        product *= S
        return self._inverse(product) if name == "x" else self._inverse_at_k(product)

    def _spectrum(self, Y: Blocks, name: str) -> Any:
        """Of a block, with the middle of k at the origin; those used last are kept."""
        X = Y[name]
        for block, seen, spectrum in tuple(self._spectra):
            if block == name and (seen is X or _same(seen, X)):
                return spectrum
        made = self._transform(X) if name == "x" else self._transform_of_k(X)
        self._spectra[:] = [(name, X, made), *self._spectra[: KEPT - 1]]
        return made

    def _transform(self, X: Array) -> Any:
        from scipy.fft import rfftn  # a tenth of a second, for a convolution only

        return rfftn(X, self.data_shape, tuple(range(X.ndim)), workers=thread_count())

    def _places(self, axis: int) -> Any:
        """Where k lies along an axis of the data, with its middle at the origin."""
        size = self.size[axis]
        return (np.arange(size) - size // 2) % self.data_shape[axis]

    def _transform_of_k(self, k: Array) -> Any:
        """Axis by axis: the rows of the data that k does not reach are zero, and need no transform."""
        from scipy.fft import fft, rfft

        X: Any = k
        for axis in reversed(range(k.ndim)):
            whole = np.zeros((*X.shape[:axis], self.data_shape[axis], *X.shape[axis + 1 :]), dtype=X.dtype)
            whole[(slice(None),) * axis + (self._places(axis),)] = X
            last = axis == k.ndim - 1
            X = (rfft if last else fft)(whole, axis=axis, overwrite_x=True, workers=thread_count())
        return X

    def _inverse_at_k(self, spectrum: Any) -> Array:
        """The inverse where k lies, of a spectrum that is not needed any more; rows elsewhere are left out."""
        from scipy.fft import ifft, irfft

        X: Any = spectrum
        last = len(self.size) - 1
        for axis in range(last):
            X = np.take(ifft(X, axis=axis, overwrite_x=True, workers=thread_count()), self._places(axis), axis=axis)
        X = irfft(X, self.data_shape[last], axis=last, overwrite_x=True, workers=thread_count())
        found: Array = np.take(X, self._places(last), axis=last)
        return found

    def _inverse(self, spectrum: Any) -> Array:
        """Of a spectrum that is not needed any more."""
        axes, shape = tuple(range(spectrum.ndim)), self.data_shape
        from scipy.fft import irfftn

        return np.asarray(irfftn(spectrum, shape, axes, overwrite_x=True, workers=thread_count()))

    def lift(self, a: float, b: float, shape: Shape, leading: str = "psi1") -> Kernel:
        """By ``‖k ∗ x‖ ≤ ‖k‖₁‖x‖ ≤ √size·‖k‖‖x‖``."""
        return multilinear_kernel(2, math.sqrt(math.prod(self.size)), a, b)

    def block_curvature(self, Y: Blocks, name: str) -> float:
        """The largest |·|² of the other one's Fourier transform."""
        spectrum = self._spectrum(Y, "k" if name == "x" else "x")
        return float(np.max(np.abs(spectrum)) ** 2)


def _same(X: Array, Z: Array) -> bool:
    """Whether two arrays are equal; a look at their ends tells most that are not."""
    return bool(X.flat[0] == Z.flat[0] and X.flat[-1] == Z.flat[-1] and np.array_equal(X, Z))
