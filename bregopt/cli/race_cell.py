"""One figure for every method: the objective at one budget."""

import math
from collections.abc import Mapping
from typing import final

from attrs import frozen

TIE = 1e-3
"""Objectives that differ by less, relative to the lower one, are level."""
ROUNDING = 1e-28
"""Of the objective at the start: what is below comes from the rounding of M and UV, entry by entry."""


@final
@frozen
class Cell:
    """What every method had reached with so many ``products`` or ``seconds``; ∞ where it diverged."""

    axis: str
    budget: float
    objective: Mapping[str, float]
    floor: float
    """objectives that differ by no more differ by rounding"""

    @property
    def winners(self) -> list[str]:
        """The best method, and those level with it."""
        return [name for name in self.objective if self.ratio(name) <= 1 + TIE]

    def ratio(self, name: str) -> float:
        """The objective in units of the best one."""
        best, value = min(self.objective.values()), self.objective[name]
        if not math.isfinite(value):
            return math.inf
        return 1.0 + max(value - best - self.floor, 0.0) / max(abs(best), self.floor)

    def among(self, names: list[str]) -> "Cell":
        """The same cell without the other methods."""
        return Cell(self.axis, self.budget, {name: self.objective[name] for name in names}, self.floor)
