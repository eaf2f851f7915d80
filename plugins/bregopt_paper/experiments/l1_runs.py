"""What is read off the runs on a row of the l1–l1 table: budgets, the paper's stop rules, targets, the lowest end."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, final

from attrs import frozen

from bregopt_paper.experiments.curves import PER_ITERATION, Curve
from bregopt_paper.experiments.experiment import Record
from bregopt_paper.experiments.l1_rows import MOST_SECONDS, OURS, PAPER, RANDOM, Row

SLACK = 1.03
"""A target counts as reached up to so many times its objective."""


@final
@frozen(eq=False)
class Runs:
    """The runs on a row from one start: by method, one curve for each seed."""

    row: Row
    start: str
    curves: Mapping[str, Sequence[Curve]]

    def at(self, method: str, iterations: float, column: str = "objective") -> float:
        """The median over seeds of what a method had reached with three products for each of so many iterations."""
        return median(it.at("products", PER_ITERATION * iterations, column) for it in self.curves[method])

    def used(self, method: str, iterations: float) -> bool:
        """Whether every run of a method had such a budget, up to its last iteration."""
        return all(it.used("products", PER_ITERATION * iterations) for it in self.curves[method])

    def lowest(self, methods: Iterable[str]) -> tuple[float, str] | None:
        """The lowest objective at the budget, and whose it is."""
        there = [(self.at(name, self.row.iterations), name) for name in methods if name in self.curves]
        return min(there, default=None)

    def first(self) -> dict[str, Curve]:
        """The curves of the first seed."""
        return {method: curves[0] for method, curves in self.curves.items()}

    @property
    def rivals(self) -> list[str]:
        return [method for method in self.curves if method not in OURS]

    def least_error(self) -> tuple[float, str] | None:
        """The paper's e_min: the smallest error of its methods within its limits, and whose it is."""
        there = [(float(self._allotted(self.curves[name][0])[1].min()), name) for name in PAPER if name in self.curves]
        return min(there, default=None)

    def stopped(self, method: str) -> tuple[float, str]:
        """The error at which the paper's rules end a method, and the letter of the rule; p where products ran out."""
        ends = [self._stopped(curve) for curve in self.curves[method]]
        return median(error for error, _ in ends), ends[0][1]

    def _stopped(self, curve: Curve) -> tuple[float, str]:
        iterations, errors = self._allotted(curve)
        least = self.least_error()
        if least is not None and errors.min() <= least[0]:
            return float(errors.min()), "c"
        limited = (
            len(errors) < len(curve.record["columns"]["relative_error"]) or curve.record["status"] == "max-seconds"
        )
        return float(errors[-1]), "b" if iterations[-1] >= self.row.most else "a" if limited else "p"

    def _allotted(self, curve: Curve) -> tuple[Any, Any]:
        """Iterations and relative errors within the paper's limits."""
        columns = curve.record["columns"]
        within = (columns["iteration"] <= self.row.most) & (columns["seconds"] <= MOST_SECONDS)
        return columns["iteration"][within], columns["relative_error"][within]


@final
@frozen
class Target:
    """An objective that was to be reached, and what was."""

    row: Row
    what: str
    start: str
    target: float
    objective: float
    method: str

    @property
    def reached(self) -> bool:
        return self.objective <= SLACK * self.target


def targets_of(runs: Sequence[Runs]) -> list[Target]:
    found = []
    for it in runs:
        row, default = it.row, it.lowest(["aapb"])
        if row.default is not None and it.start == RANDOM and default is not None:
            found.append(Target(row, "Bregman default", it.start, row.default, *default))
        best = it.lowest(OURS)
        if row.best is not None and row.best[1] == it.start and best is not None:
            found.append(Target(row, "best of ours", it.start, row.best[0], *best))
    return sorted(found, key=lambda target: target.what)


@final
@frozen(eq=False)
class Lowest:
    """The run that came lowest on a row, from whichever start."""

    row: Row
    start: str
    method: str
    objective: float
    record: Record

    @property
    def printed(self) -> float:
        """The paper's error for NMD-AAPB."""
        return self.row.printed["aapb-paper"]


def lowest_of_each_row(runs: Sequence[Runs]) -> list[Lowest]:
    """On every row that a method of ours ran on."""
    ends: dict[str, list[Lowest]] = {}
    for it in runs:
        for method, curves in it.curves.items():
            found = [Lowest(it.row, it.start, method, curve.last["objective"], curve.record) for curve in curves]
            ends.setdefault(it.row.name, []).extend(end for end in found if "bound" in end.record)
    there = [found for found in ends.values() if any(end.method in OURS for end in found)]
    return [min(found, key=lambda end: end.objective) for found in there]
