"""One matrix, one rank and one kind of start: every run from the same points, and what came of them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import Any, final

from attrs import frozen

from bregopt.cli.race_cell import ROUNDING, Cell
from bregopt.cli.race_curve import Curve
from bregopt.rules.stopping import Status

PRODUCTS, SECONDS = "products", "seconds"


@final
@frozen(eq=False, kw_only=True, slots=False)
class Heat:
    """The curves of every method, one a seed."""

    facts: Mapping[str, Any]
    """matrix, rows, columns, density, rank and start"""
    curves: Mapping[str, Sequence[Curve]]
    skipped: Mapping[str, str]
    notes: Sequence[str]
    products: Sequence[float]
    """the budgets, in rising order"""
    given_seconds: Sequence[float]

    @property
    def last(self) -> float:
        """The largest budget of products."""
        return self.products[-1]

    @cached_property
    def floor(self) -> float:
        """The objective that rounding leaves."""
        found = [curve.objective[0] for curves in self.curves.values() for curve in curves if curve.objective.size]
        return ROUNDING * abs(float(found[0])) if found else 0.0

    @cached_property
    def fastest(self) -> float:
        """Seconds of the method that was first through with its products, or of the shortest run where none was."""
        through = [self.spent(name) for name in self.curves if self.finished(name, PRODUCTS, self.last)]
        ends = [float(curve.seconds[-1]) for it in self.curves.values() for curve in it if curve.seconds.size]
        return min(through or ends, default=1.0)

    @property
    def seconds(self) -> Sequence[float]:
        """The budgets given, or else the time of the fastest method."""
        return self.given_seconds or [self.fastest]

    @cached_property
    def cells(self) -> list[Cell]:
        budgets = [(PRODUCTS, it) for it in self.products] + [(SECONDS, it) for it in self.seconds]
        return [
            Cell(axis, budget, {name: self.middle(name, axis, budget) for name in self.curves}, self.floor)
            for axis, budget in budgets
        ]

    def middle(self, name: str, axis: str, budget: float, column: str = "objective") -> float:
        """The median over seeds of what a method had reached; ∞ where it diverged."""
        return median(curve.at(axis, budget, column) for curve in self.curves[name])

    def spent(self, name: str) -> float:
        """Seconds for the largest budget of products."""
        return self.middle(name, PRODUCTS, self.last, SECONDS)

    def per_iteration(self, name: str) -> float | None:
        """Products of an iteration, the start left out."""
        shares = [
            (curve.products[-1] - curve.products[0]) / (curve.products.size - 1)
            for curve in self.curves[name]
            if curve.products.size > 1
        ]
        return float(median(shares)) if shares else None

    def finished(self, name: str, axis: str, budget: float) -> bool:
        """Whether every run of a method went on for the whole budget."""
        return all(curve.used(axis, budget) for curve in self.curves[name])

    def cut(self, name: str, axis: str, budget: float) -> bool:
        """Whether the limit on seconds ended a run of a method before it had used the budget."""
        curves = self.curves[name]
        return any(it.status is Status.MAX_SECONDS and not it.used(axis, budget) for it in curves)

    def lost(self, name: str, axis: str, budget: float) -> int:
        """How many runs of a method diverged within the budget."""
        return sum(curve.lost(axis, budget) for curve in self.curves[name])
