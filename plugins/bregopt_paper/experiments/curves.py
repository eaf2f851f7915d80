"""Runs of methods as records, what they had reached at a budget, and their curves as pictures."""

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Array, Blocks, ResolvedProblem, Result, Status, StopRule
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt_paper.experiments.experiment import Record

COLUMNS = ("iteration", "products", "seconds", "objective", "relative_error")
PER_ITERATION = 3
"""Products of an iteration of the paper's methods: the unit in which budgets are given."""
TRIAL = 2
"""Iterations before a run is timed: loops are compiled or loaded there."""
DIVERGED = (Status.NOT_FINITE.value, Status.DIVERGED.value)
REFUSED = "refused"
"""The status of a method that does not take the problem."""
POINTS = 300
"""Of a line in a picture."""
GAP = "Φ/Φ* − 1"
"""What is drawn of an objective Φ, with Φ* the lowest one found; at least ``CLOSEST``."""
CLOSEST = 1e-4


@functools.lru_cache(maxsize=1)
def matrix(dataset: str) -> Any:
    """M of a data set; the last one is kept, as many tasks in a row read the same."""
    return bregopt.make("dataset", dataset).M


def run(
    problem: ResolvedProblem,
    method: str,
    start: Blocks | str,
    seed: int,
    stop: StopRule,
    measure: Callable[[Result], Record] = lambda result: {},
) -> Record:
    """Solve the problem: every iteration in columns, why it ended, and what ``measure`` says of the end."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is told of in the report
            for rule in (f"max-iterations({TRIAL})", stop):
                result = bregopt.solve(problem, method=method, start=start, seed=seed, stop=rule, on_interrupt="raise")
    except (OverflowedError, IncompatibleError) as error:  # before there is a result
        status = REFUSED if isinstance(error, IncompatibleError) else Status.NOT_FINITE.value
        empty = {name: np.empty(0) for name in COLUMNS}
        return {"status": status, "reason": str(error), "notes": [], "columns": empty}
    return {
        "status": result.status.value,
        "reason": result.reason,
        "notes": list(result.notes),
        "columns": {name: np.asarray(result.history[name], float) for name in COLUMNS},
        **({} if result.status.value in DIVERGED else measure(result)),
    }


@final
@frozen(eq=False)
class Curve:
    """A run by its record: the lowest objective so far, and the relative error there."""

    record: Record
    columns: Mapping[str, Array]

    @staticmethod
    def of(record: Record) -> "Curve":
        columns = dict(record["columns"])
        found = np.where(np.isfinite(columns["objective"]), columns["objective"], math.inf)
        lowest = np.minimum.accumulate(found)
        rows = np.arange(found.size)
        place = np.maximum.accumulate(np.where(found == lowest, rows, 0)) if found.size else rows
        columns |= {"objective": lowest, "relative_error": columns["relative_error"][place]}
        return Curve(record, columns)

    @property
    def diverged(self) -> bool:
        return self.record["status"] in DIVERGED

    @property
    def last(self) -> Mapping[str, float]:
        """Every column at the end of the run."""
        return {name: float(column[-1]) if column.size else math.nan for name, column in self.columns.items()}

    def used(self, axis: str, budget: float) -> bool:
        """Whether the run went on for the whole budget."""
        spent = self.columns[axis]
        return bool(spent.size and spent[-1] >= budget)

    def at(self, axis: str, budget: float, column: str = "objective") -> float:
        """A column within a budget of iterations, products or seconds; ∞ for a run that diverged before it."""
        if self.diverged and not self.used(axis, budget):
            return math.inf
        row = int(np.searchsorted(self.columns[axis], budget, side="right")) - 1
        return float(self.columns[column][max(row, 0)])

    @property
    def picked(self) -> str:
        """The method that ``auto`` picked, where it was ``auto``."""
        found = (re.match(r"auto picked ([^:]+):", note) for note in self.record["notes"])
        return next((match[1] for match in found if match), "")

    def reached(self, error: float, axis: str, budget: float = math.inf) -> float:
        """The iterations, products or seconds after which the relative error was so small; ∞ for never."""
        errors = self.record["columns"]["relative_error"]
        rows = np.flatnonzero((errors <= error) & (self.columns[axis] <= budget))
        return float(self.columns[axis][rows[0]]) if rows.size else math.inf


@final
@frozen
class Line:
    """How the curve of a method is drawn, and under which name."""

    label: str
    color: str
    width: float = 1.3
    dash: str = "-"


OURS = ("#0f62a8", "#0a9396", "#6a3d9a", "#c2185b", "#2e7d32", "#111111", "#5b8def")
THEIRS = ("#b5651d", "#b23b3b", "#d4a017", "#e07b39")
OTHERS = "#b9b9b9"


def lines(paper: Mapping[str, str], ours: Sequence[str], others: Sequence[str]) -> dict[str, Line]:
    """The paper's methods dashed, ours thick, and all others grey under one name."""
    found = {name: Line("other rivals", OTHERS, 0.9) for name in others}
    found |= {name: Line(f"{called} (paper)", THEIRS[k], 1.7, "--") for k, (name, called) in enumerate(paper.items())}
    return found | {name: Line(name, OURS[k % len(OURS)], 2.0) for k, name in enumerate(ours)}


def draw(panel: Any, curves: Mapping[str, Curve], axis: str, column: str, look: Mapping[str, Line]) -> None:
    """A column over an axis, both logarithmic; the objective as its distance to the lowest one of all curves."""
    best = min((curve.last["objective"] for curve in curves.values() if not curve.diverged), default=1.0)
    for name, line in look.items():
        if name not in curves or not curves[name].columns[axis].size:
            continue
        x, y = (curves[name].columns[key] for key in (axis, column))
        rows = np.unique(np.geomspace(1, x.size, POINTS).astype(int) - 1)
        shown = np.maximum(y / best - 1, CLOSEST) if column == "objective" and best > 0 else y
        panel.plot(x[rows], shown[rows], color=line.color, lw=line.width, ls=line.dash, label=line.label)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("iterations" if axis == "iteration" else axis)
    panel.grid(True, color="#ececec")


def legend(figure: Any, look: Mapping[str, Line], curves: Sequence[Mapping[str, Curve]]) -> None:
    """One for the whole figure, of what is drawn in any of its panels; ours first."""
    from matplotlib.lines import Line2D

    drawn = [line for name, line in look.items() if any(name in them for them in curves)]
    shown = {line.label: Line2D([], [], color=line.color, lw=line.width, ls=line.dash) for line in reversed(drawn)}
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=6, frameon=False)


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def of(count: int, total: int, what: str) -> str:
    """``all 9 rows``, ``7 of the 9 rows`` or ``none of the 9 rows``; ``both rows``, ``the one row`` or ``no row``."""
    if total == 1:
        return f"{'the one' if count else 'no'} {what.removesuffix('s')}"
    if total == count == 2:
        return f"both {what}"
    return f"all {total} {what}" if count == total else f"{count or 'none'} of the {total} {what}"
