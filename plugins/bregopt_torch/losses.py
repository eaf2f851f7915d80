"""A loss on the entries of a tile by torch: missing entries, weights, one loss for each column, and the sums."""

import math
from typing import Any, NamedTuple

import torch
from bregopt_lowrank import ColumnLosses, EntrywiseLoss, Tile

from bregopt.errors import IncompatibleError


class Entries(NamedTuple):
    """Slopes times weights, 0 where an entry is missing, and the terms of the other sums alike."""

    slope: Any
    w: Any
    """whose squares tell ‖W‖, as ``TorchEntries.of_W``"""
    value: Any = None
    """``None`` where it is half the square of the slope"""
    error: Any = None
    """``None`` where it is the square of the slope"""

    def spelt(self) -> "Entries":
        """With value and error as tensors."""
        squares = self.slope.square()
        value = 0.5 * squares if self.value is None else self.value
        return self._replace(value=value, error=squares if self.error is None else self.error)

    def sums(self, kind: Any) -> list[Any]:
        """‖S‖², the error, what is to tell ‖W‖, and the value, in this precision."""
        residual = squared_norm(self.slope, kind)
        error = residual if self.error is None else self.error.sum(dtype=kind)
        value = 0.5 * residual if self.value is None else self.value.sum(dtype=kind)
        return [residual, error, squared_norm(self.w, kind), value]


def squared_norm(X: Any, kind: Any) -> Any:
    """‖X‖², summed up in this precision."""
    if X.dtype != kind:
        return X.square().sum(dtype=kind)
    flat = X.reshape(-1)
    return torch.dot(flat, flat)


def check_expressions(loss: ColumnLosses) -> None:
    """Refuse a loss that has no torch expression."""
    one = torch.ones((1, 1), dtype=torch.float64)
    for part in loss.losses:
        if part.by_torch(torch, one, Tile(one, one if part.bounds else None)) is None:
            raise IncompatibleError(
                f"The loss {part!r} has no form for a torch tensor. Write its method by_torch(torch, X, tile), which "
                "returns TorchEntries, or give M as a NumPy array."
            )


def on_tile(loss: ColumnLosses, X: Any, tile: Tile, columns: slice, curvature: float) -> Entries:
    """The losses of these columns."""
    if loss.single is not None:
        return _on(loss.single, X, tile, curvature)
    parts = [
        _on(part, X[:, place], tile.part((slice(None), place)), curvature).spelt()
        for run, part in loss.runs(columns)
        for place in [slice(run.start - columns.start, run.stop - columns.start)]
    ]
    return Entries(*(torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True)))


def on_entries(loss: ColumnLosses, x: Any, tile: Tile, columns: Any, curvature: float) -> Entries:
    """The losses of single entries in these columns."""
    if loss.single is not None:
        return _on(loss.single, x, tile, curvature).spelt()
    whole = Entries(*(torch.zeros_like(x) for _ in range(4)))
    for run, part in loss.runs(slice(0, loss.stops[-1])):
        inside, found = (columns >= run.start) & (columns < run.stop), _on(part, x, tile, curvature).spelt()
        whole = Entries(*(torch.where(inside, new, old) for new, old in zip(found, whole, strict=True)))
    return whole


def _on(loss: EntrywiseLoss, X: Any, tile: Tile, curvature: float) -> Entries:
    if tile.upper is not None:  # of a missing entry it may be nan
        tile = tile._replace(upper=torch.nan_to_num(tile.upper, nan=0.0, posinf=math.inf, neginf=-math.inf))
    found = loss.by_torch(torch, X, tile)
    if found is None:
        raise RuntimeError("A loss without torch expressions was not refused.")
    known = None if tile.complete else ~torch.isnan(tile.M)
    slope, value, error = (
        it if known is None or it is None else torch.where(known, it, 0.0)
        for it in (found.slope, found.value, found.error)
    )
    if tile.weights is not None:
        slope, _, value, error = Entries(slope, None, value, error).spelt()
        slope, value = slope * tile.weights, value * tile.weights
    return Entries(slope, X - slope / curvature if found.of_W is None else found.of_W, value, error)
