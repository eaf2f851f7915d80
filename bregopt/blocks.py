"""Named arrays over one contiguous vector: Y, its gradients and its directions."""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from bregopt.errors import DataError
from bregopt.notebook import table

Array = NDArray[np.floating[Any]]
PIECE = 2**15
"""Entries of a piece of a flat vector: 256 KiB, so that it stays in cache."""
TINY = 1e-290
"""A sum of squares below it may have lost digits to underflow."""


_blank = object.__new__


@final
@frozen(slots=False)
class Layout:
    """Names and shapes of the blocks, and where each lies in the flat vector."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @cached_property
    def places(self) -> tuple[slice, ...]:
        ends = list(itertools.accumulate(map(math.prod, self.shapes), initial=0))
        return tuple(itertools.starmap(slice, itertools.pairwise(ends)))

    @cached_property
    def _parts(self) -> tuple[tuple[str, slice, tuple[int, ...]], ...]:
        """Of each block its name, its place and its shape."""
        return tuple(zip(self.names, self.places, self.shapes, strict=True))

    def views(self, flat: Array) -> dict[str, Array]:
        """The blocks as views into ``flat``."""
        return {name: flat[place].reshape(shape) for name, place, shape in self._parts}


@final
class Blocks:
    """An immutable tuple of named arrays, ``Blocks(U=…, V=…)``, with the arithmetic of one vector.

    Attributes
    ----------
    flat : ndarray
        All entries in one contiguous, read-only vector; ``Y.U`` and ``Y["U"]`` are views into it.
    """

    __slots__ = ("_square", "_views", "flat", "layout")
    flat: Array
    layout: Layout
    _views: dict[str, Array] | None
    _square: float | None

    def __init__(self, **arrays: ArrayLike) -> None:
        if not arrays:
            raise DataError("Blocks needs at least one named array, as in Blocks(U=..., V=...).")
        parts = {name: _real(name, array) for name, array in arrays.items()}
        layout = Layout(tuple(parts), tuple(part.shape for part in parts.values()))
        self._set(layout, np.concatenate([part.ravel() for part in parts.values()]))

    def _set(self, layout: Layout, flat: Array) -> None:
        flat.setflags(write=False)
        self.layout, self.flat, self._views, self._square = layout, flat, None, None

    @property
    def _parts(self) -> dict[str, Array]:
        """The blocks by name, which most vectors of a run are never asked for."""
        if self._views is None:
            self._views = self.layout.views(self.flat)
        return self._views

    def like(self, flat: Array) -> "Blocks":
        """The same names and shapes over another flat vector, which is taken over, not copied."""
        blocks = _blank(Blocks)
        flat.setflags(write=False)
        blocks.layout, blocks.flat, blocks._views, blocks._square = self.layout, flat, None, None
        return blocks

    def map(self, function: Callable[[str, Array], Array]) -> "Blocks":
        """Blocks of the same layout with ``function(name, array)`` in each."""
        flat, parts = np.empty_like(self.flat), self._parts
        for name, target in self.layout.views(flat).items():
            target[...] = function(name, parts[name])
        return self.like(flat)

    def replaced(self, **arrays: Array) -> "Blocks":
        """The same blocks but for these: ``Y.replaced(V=V0)``."""
        unknown = [name for name in arrays if name not in self.names]
        if unknown:
            raise DataError(f"There is no block '{unknown[0]}'; the blocks are {', '.join(self.names)}.")
        return self.map(lambda name, X: arrays.get(name, X))

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.names

    def __getitem__(self, name: str) -> Array:
        try:
            return (self._views or self._parts)[name]
        except KeyError:
            raise DataError(f"There is no block '{name}'; the blocks are {', '.join(self.names)}.") from None

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name in self.__slots__:  # what pickle and copy look for before there are blocks
            raise AttributeError(f"Blocks has no attribute '{name}'")
        if name not in self._parts:
            raise AttributeError(f"There is no block '{name}'; the blocks are {', '.join(self.names)}.")
        return self._parts[name]

    def __iter__(self) -> Iterator[Array]:
        """The arrays in their order: ``U, V = Y``."""
        return iter(self._parts.values())

    def __len__(self) -> int:
        return len(self.names)

    def __dir__(self) -> list[str]:
        """With the names of the blocks, for completion."""
        return [*super().__dir__(), *self.names]

    def __add__(self, other: "Blocks") -> "Blocks":
        return self.like(self.flat + self._matching(other))

    def __sub__(self, other: "Blocks") -> "Blocks":
        return self.like(self.flat - self._matching(other))

    def __mul__(self, scale: float) -> "Blocks":
        return self.like(self.flat * scale)

    __rmul__ = __mul__

    def __neg__(self) -> "Blocks":
        return self.like(-self.flat)

    def plus(self, scale: float, other: "Blocks") -> "Blocks":
        """``self + scale·other`` with a single fresh vector."""
        flat = self._matching(other) * scale
        flat += self.flat
        return self.like(flat)

    def dot(self, other: "Blocks") -> float:
        if other is not self:
            return float(self.flat.dot(self._matching(other)))
        if self._square is None:
            self._square = float(self.flat.dot(self.flat))
        return self._square

    def norm(self) -> float:
        """``|Y|``, also where its square is no number; what is not finite is an answer, not a warning."""
        if self._square is not None and TINY < self._square < math.inf:
            return math.sqrt(self._square)
        with np.errstate(over="ignore", invalid="ignore"):
            square = self.dot(self)
            if TINY < square < math.inf or not self.flat.any():
                return math.sqrt(square)
            top = float(np.abs(self.flat).max())
            return top * float(np.linalg.norm(self.flat / top)) if top < math.inf else top

    def gap(self, other: "Blocks") -> tuple[float, float]:
        """``|e|²`` and ``⟨other, e⟩`` for e = self − other, which exists in pieces only."""
        x, y = self.flat, self._matching(other)
        if x.size <= PIECE:
            e = x - y
            return float(e.dot(e)), float(y.dot(e))
        scratch = np.empty(PIECE)
        square = along = 0.0
        for start in range(0, x.size, PIECE):
            there = y[start : start + PIECE]
            e = np.subtract(x[start : start + PIECE], there, out=scratch[: there.size])
            square += float(e.dot(e))
            along += float(there.dot(e))
        return square, along

    def distance(self, other: "Blocks") -> float:
        """``|self − other|``."""
        if self.flat.size > PIECE:
            return math.sqrt(self.gap(other)[0])
        e = self.flat - self._matching(other)
        return math.sqrt(e.dot(e))

    def _matching(self, other: "Blocks") -> Array:
        if other.layout is not self.layout and other.layout != self.layout:
            raise DataError(f"Blocks do not match: {_shapes(self)} against {_shapes(other)}.")
        return other.flat

    def __repr__(self) -> str:
        return f"Blocks({_shapes(self)})"

    def _repr_html_(self) -> str:
        return table({name: _figures(X) for name, X in self._parts.items()}, "Blocks")


def blocks_over(layout: Layout, flat: Array) -> Blocks:
    """Blocks of ``layout`` over ``flat``, which becomes read-only."""
    blocks = _blank(Blocks)
    blocks._set(layout, flat)
    return blocks


def _real(name: str, value: ArrayLike) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise DataError(f"Block '{name}' must hold real numbers. Got dtype {array.dtype} instead.")
    return array.astype(np.float64, copy=False)


def _figures(X: Array) -> str:
    """A block in short: its shape, its range, and how many of its entries are zero."""
    shape = "×".join(map(str, X.shape))
    if not X.size:
        return shape
    return f"{shape}, from {X.min():.3g} to {X.max():.3g}, {100 * float(np.mean(X == 0)):.3g} % zeros"


def _shapes(blocks: Blocks) -> str:
    pairs = zip(blocks.layout.names, blocks.layout.shapes, strict=True)
    return ", ".join(f"{name}: {'×'.join(map(str, shape))}" for name, shape in pairs)
