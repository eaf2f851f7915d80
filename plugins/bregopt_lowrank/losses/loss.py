"""What an author says of a loss e(x; m), and the losses of all columns of M."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, final

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bregopt import Array

T = TypeVar("T")
Zero = Literal["data", "square", "missing"]
"""What a zero of M means: see ``EntrywiseLoss.zero``."""
MOST_PARAMETERS = 4


class Tile(NamedTuple):
    """The data of some entries, all of one shape."""

    M: Array
    """nan where an entry is missing"""
    upper: Array | None = None
    """the second number of each entry, for a loss that takes two"""
    weights: Array | None = None
    complete: bool = False
    """whether it is known that no entry of the whole M is missing"""
    kept: dict[Callable[[Array], Any], Any] | None = None
    """what ``of_M`` made, for a tile that many passes visit"""

    def of_M(self, make: Callable[[Array], T]) -> T:
        """``make(M)``, which a tile that many passes visit makes once."""
        if self.kept is None:
            return make(self.M)
        if make not in self.kept:
            self.kept[make] = make(self.M)
        found: T = self.kept[make]
        return found

    def part(self, place: Any) -> "Tile":
        """Some of the entries."""
        upper, weights = (None if it is None else it[place] for it in (self.upper, self.weights))
        return Tile(self.M[place], upper, weights, self.complete)

    @property
    def plain(self) -> bool:
        """Whether there is nothing but M, and no entry of it is missing."""
        return self.complete and self.upper is None and self.weights is None


class TileSums(NamedTuple):
    """What a tile adds to the sums of a pass, in float64."""

    residual: float
    """‖S‖²"""
    error: float
    """Σ of ``EntrywiseLoss.error``"""
    of_W: float
    """what ``EntrywiseLoss.norm_of_W`` needs in order to tell ‖W‖_F"""
    value: float
    """Σ e"""


class Arrays(NamedTuple):
    """A loss on many entries at once: 0 where an entry is missing, and times its weight."""

    value: Array
    slope: Array
    curvature: Array
    error: Array


class TorchEntries(NamedTuple):
    """A loss on many entries by torch, as tensors of one shape; what is left out follows from the slope."""

    slope: Any
    value: Any = None
    """e, where it is not ½e'²"""
    error: Any = None
    """where it is not e'²"""
    of_W: Any = None
    """whose squares ``EntrywiseLoss.norm_of_W`` needs, where it is not w = x − e'/c"""


class EntrywiseLoss(ABC):
    """``e(x; m)``, what the entry x of UV costs where M has m; the loss of a problem is the sum over the known entries.

    An author writes ``entry``: numbers in, three numbers out, in arithmetic that numba compiles. The class is an attrs
    class without fields, or with at most four numbers as its parameters, which follow x and m.

    A convex e with ``0 ≤ e'' ≤ bound`` is ``min_w (bound/2)(w − x)² + g(w)`` for a convex g, with the minimiser
    ``w = x − e'(x)/bound``. A loss that is not convex is ``½(w − x)²`` for the nearest w of some set; its slope is
    x − w, its curvature 1, and ``largest`` bounds |w|.
    """

    @staticmethod
    @abstractmethod
    def entry(x: Any, m: Any, *parameters: Any) -> tuple[Any, Any, Any]:
        """``(e, e', e'')`` at x; a loss with ``bounds`` also gets the second number of the entry, after m."""

    @staticmethod
    def error(x: Any, m: Any, *parameters: Any) -> Any:
        """How far x is from explaining m: squared where the metric is a relative error, else 1 for a mistake."""
        return (x - m) * (x - m)

    @property
    def bound(self) -> float:
        """The least known L with ``e'' ≤ L``."""
        return 1.0

    @property
    def convex(self) -> bool:
        """Whether e is convex in x, for every m."""
        return True

    @property
    def zero(self) -> Zero:
        """What m = 0 means: ``data`` like any other; ``square`` where also e(x; 0) = ½x²; or a ``missing`` entry.

        With ``square`` the zeros of a sparse M cost nothing: their loss is ½‖UV‖², which Gram matrices tell.
        """
        return "data"

    @property
    def slope_per_data(self) -> float | None:
        """k, where ``e'(0; m) = k·m`` for every m."""
        return None

    @property
    def flat_at_zero(self) -> bool:
        """Whether entries with m = 0 have no curvature where x < 0, so that a sparse M has little of it."""
        return False

    @property
    def metric(self) -> str:
        """``relative_error``, √(Σ error)/‖M‖, or ``mistakes``, the share of the known entries that are one."""
        return "relative_error"

    @property
    def formula(self) -> str:
        """``predict``, as it is written on paper: ``|{}|``."""
        return "{}"

    def predict(self, X: Array) -> Array:
        """What m is expected to be where UV is X: for a relative error, ``error`` is the square of what m lacks."""
        return X

    @property
    def answer(self) -> str:
        """How a summary tells the metric, with ``{formula}`` and ``{error}``; empty where M is to be reproduced."""
        return "{formula} is wrong at {error} of the known entries" if self.metric == "mistakes" else ""

    @property
    def bounds(self) -> bool:
        """Whether an entry has two numbers, ``entry(x, m, upper, …)``."""
        return False

    @property
    def data(self) -> str:
        """Which numbers m may be, as a phrase that follows "must be"."""
        return "finite numbers"

    def fits(self, M: Array) -> NDArray[np.bool_]:
        """Which of these numbers m may be."""
        return np.ones(M.shape, dtype=bool)

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        """Numbers m at random, for the checks of the kit."""
        return rng.standard_normal(size)

    def largest(self, M: Array) -> Array:
        """An upper bound of |w| for each m, for a loss that is not convex."""
        return np.full(M.shape, math.inf)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers that follow x and m."""
        kind: Any = type(self)
        return tuple(float(getattr(self, it.name)) for it in (attrs.fields(kind) if attrs.has(kind) else ()))

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """``(e, e', e'', error)`` of many entries by NumPy: a fast form, for where nothing is compiled."""
        given = (X, M) if upper is None else (X, M, upper)
        rest = self.parameters
        all_four = np.frompyfunc(lambda *it: (*self.entry(*it, *rest), self.error(*it, *rest)), len(given), 4)
        value, slope, curvature, error = (np.asarray(found, dtype=np.float64) for found in all_four(*given))
        return value, slope, curvature, error

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries | None:
        """The loss on a tile of X = UV that lies on a device, by expressions of ``torch``; ``None`` where it has none.

        The tile has tensors. Missing entries, which are nan, and weights are seen to later. X and M stay as they are.
        """
        return None

    # ---- what the passes ask; a loss with faster forms of its own may have them here

    @property
    def has_arrays(self) -> bool:
        """Whether ``arrays`` is fast."""
        return type(self).arrays is not EntrywiseLoss.arrays

    def on(self, X: Array, tile: Tile) -> Arrays:
        """The loss on a tile of X = UV: ``arrays`` in float64, with missing entries and weights."""
        X, M = X.astype(np.float64, copy=False), tile.M.astype(np.float64, copy=False)
        known = np.ones(0) if tile.complete else ~np.isnan(M)
        some = not known.all()
        if some:
            M = np.where(known, M, 0.0)
        upper = None if tile.upper is None else np.nan_to_num(tile.upper, nan=0.0, posinf=math.inf, neginf=-math.inf)
        found = self.arrays(X, M, upper) if self.bounds else self.arrays(X, M)
        if some:
            value, slope, curvature, error = (np.where(known, array, 0.0) for array in found)
        else:
            value, slope, curvature, error = found
        if tile.weights is not None:
            value, slope, curvature = value * tile.weights, slope * tile.weights, curvature * tile.weights
        return Arrays(value, slope, curvature, error)

    def W(self, X: Array, tile: Tile, curvature: float) -> Array:
        """``x − e'(x)/c`` of each entry."""
        return np.asarray(X - self.on(X, tile).slope / curvature)

    def G(self, X: Array, tile: Tile, curvature: float) -> float:
        """``Σ e(x) − e'(x)²/(2c)``, which is G at the W of X."""
        found = self.on(X, tile)
        return float(np.sum(found.value - np.square(found.slope) * (0.5 / curvature)))

    def residual(self, X: Array, tile: Tile, curvature: float) -> TileSums:
        """S = e'(X) in place of X, and the sums."""
        found = self.on(X, tile)
        W = X - found.slope / curvature
        sums = TileSums(squares(found.slope), float(found.error.sum()), squares(W), float(found.value.sum()))
        X[...] = found.slope
        return sums

    def sparse_residual(self, X: Array, places: tuple[Any, Any], values: Tile, curvature: float) -> TileSums:
        """The same where M is zero but for ``values`` at ``places``."""
        return self.residual(X, spread(X.shape, places, values), curvature)

    def norm_of_W(self, of_W: float, M: Any) -> float:
        """‖W‖_F from what a pass over M summed up for it."""
        return math.sqrt(max(of_W, 0.0))

    def loops(self, weighted: bool, missing: bool) -> Any:
        """The same compiled: ``TileLoops``."""
        from bregopt_lowrank.losses.tile_loops import loops

        return loops(type(self).entry, type(self).error, len(self.parameters), self.bounds, weighted, missing)


def squares(X: Array) -> float:
    """‖X‖²."""
    return float(np.vdot(X, X))


def spread(shape: tuple[int, ...], places: tuple[Any, Any], values: Tile, off: float = 0.0) -> Tile:
    """A dense tile of the entries at ``places``; elsewhere M is ``off``, and the weight is 1."""

    def filled(entries: Array | None, rest: float) -> Array | None:
        if entries is None:
            return None
        tile = np.full(shape, rest, dtype=entries.dtype)
        tile[places] = entries
        return tile

    M = filled(values.M, off)
    rest = filled(values.upper, off), filled(values.weights, 1.0)
    return Tile(values.M if M is None else M, *rest, values.complete)


@final
@frozen(eq=False, slots=False)
class ColumnLosses:
    """The loss of every column of M, in runs of neighbouring columns; of the rows, for the transpose of such an M."""

    losses: tuple[EntrywiseLoss, ...]
    stops: tuple[int, ...]
    """where each run ends; the last is the number of columns"""
    which: tuple[int, ...]
    """the loss of each run"""
    of_rows: bool = False

    @classmethod
    def one(cls, loss: EntrywiseLoss, columns: int) -> "ColumnLosses":
        """The same loss for all columns."""
        return cls((loss,), (columns,), (0,))

    @classmethod
    def by_column(cls, losses: Sequence[EntrywiseLoss]) -> "ColumnLosses":
        """From one loss for each column."""
        distinct: list[EntrywiseLoss] = []
        stops: list[int] = []
        which: list[int] = []
        for column, loss in enumerate(losses):
            number = next((k for k, other in enumerate(distinct) if other is loss or other == loss), len(distinct))
            if number == len(distinct):
                distinct.append(loss)
            if which and which[-1] == number:
                stops[-1] = column + 1
            else:
                which.append(number)
                stops.append(column + 1)
        return cls(tuple(distinct), tuple(stops), tuple(which))

    @property
    def transposed(self) -> "ColumnLosses":
        return attrs.evolve(self, of_rows=not self.of_rows)

    @cached_property
    def single(self) -> EntrywiseLoss | None:
        """The loss, where all columns have the same."""
        return self.losses[0] if len(self.losses) == 1 else None

    @cached_property
    def bound(self) -> float:
        return max(loss.bound for loss in self.losses)

    @cached_property
    def convex(self) -> bool:
        return all(loss.convex for loss in self.losses)

    @cached_property
    def bounds(self) -> bool:
        return any(loss.bounds for loss in self.losses)

    @cached_property
    def square(self) -> bool:
        """Whether e(x; 0) = ½x² for all."""
        return all(loss.zero == "square" for loss in self.losses)

    @cached_property
    def metric(self) -> str:
        metrics = {loss.metric for loss in self.losses}
        return metrics.pop() if len(metrics) == 1 else "relative_error"

    def formula(self, X: str) -> str:
        """What is expected of M, where all columns have the same loss."""
        return "The model" if self.single is None else self.single.formula.format(X)

    def predict(self, X: Array) -> Array:
        """``EntrywiseLoss.predict`` for some whole rows."""
        if self.single is not None:
            return self.single.predict(X)
        found = np.empty_like(X)
        for run, loss in self.runs(slice(0, X.shape[1])):
            found[:, run] = loss.predict(X[:, run])
        return found

    @property
    def answer(self) -> str:
        """``EntrywiseLoss.answer``, where all columns have the same loss."""
        return "" if self.single is None else self.single.answer

    @cached_property
    def has_arrays(self) -> bool:
        return all(loss.has_arrays for loss in self.losses)

    @cached_property
    def slope_per_data(self) -> float | None:
        slopes = {loss.slope_per_data for loss in self.losses}
        return slopes.pop() if len(slopes) == 1 else None

    def runs(self, span: slice) -> Iterator[tuple[slice, EntrywiseLoss]]:
        """The runs within some columns (or rows), each with its loss."""
        start = 0
        for stop, number in zip(self.stops, self.which, strict=True):
            first, last = max(start, span.start), min(stop, span.stop)
            if first < last:
                yield slice(first, last), self.losses[number]
            start = stop

    def on(self, X: Array, tile: Tile, span: slice) -> Arrays:
        """``EntrywiseLoss.on`` for a tile of these columns (or rows) of M."""
        loss = self.single
        if loss is not None:
            return loss.on(X, tile)
        found = Arrays(*(np.empty(X.shape) for _ in range(4)))
        for run, loss in self.runs(span):
            place = self.place(run, span)
            for whole, piece in zip(found, loss.on(X[place], tile.part(place)), strict=True):
                whole[place] = piece
        return found

    def place(self, run: slice, span: slice) -> Any:
        """A run within a tile of these columns (or rows)."""
        inside = slice(run.start - span.start, run.stop - span.start)
        return inside if self.of_rows else (slice(None), inside)

    def norm_of_W(self, of_W: float, M: Any) -> float:
        loss = self.single
        return math.sqrt(max(of_W, 0.0)) if loss is None else loss.norm_of_W(of_W, M)

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """``(stop, number of the loss)`` of each run."""
        return np.array([self.stops, self.which], dtype=np.int64).T.copy()

    def loops(self, weighted: bool, missing: bool) -> Any:
        """The losses on all columns of a tile, compiled when first used: ``RunLoops``.

        A loss that stands alone may have loops of its own for an M that is complete.
        """
        from bregopt_lowrank.losses.tile_loops import by_runs

        return by_runs(tuple(loss.loops(weighted, missing or self.single is None) for loss in self.losses))

    def numbers(self, curvature: float, square: bool) -> Array:
        """For each loss its parameters, then 1/c and whether ½x² is taken off: what compiled loops get."""
        table = np.zeros((len(self.losses), MOST_PARAMETERS + 2))
        for row, loss in zip(table, self.losses, strict=True):
            row[: len(loss.parameters)] = loss.parameters
        table[:, -2:] = 1.0 / curvature, float(square)
        return table
