"""Runs of methods from other libraries: what they evaluate is recorded, and they are ended by the same rules."""

import math
from collections.abc import Callable, Mapping
from typing import NoReturn, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Progress, Status, StopRule, Verdict
from bregopt.compiled import clock

COLUMNS = ("products", "seconds", "objective", "relative_error")
Figures = Callable[[], tuple[float, float]]
"""Objective and relative error."""


@final
@frozen(eq=False)
class Trace:
    """The history of a run as its method told it, and how it ended."""

    history: Mapping[str, Array]
    status: Status
    reason: str
    notes: tuple[str, ...] = ()


@final
class EndedError(Exception):
    """Leaves a loop that belongs to another library."""


@final
class PeerRecorder:
    """One row for each evaluation; what only the record needs is computed off the clock."""

    def __init__(self, stop: StopRule) -> None:
        self._stop = stop
        self._columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
        self._verdict = Verdict(Status.STOPPED, "The method ended by itself.")
        self._begin = clock()

    def see(self, products: float, figures: Figures, point: Callable[[], Blocks]) -> None:
        """An evaluation of a point after so many products; raises ``EndedError`` once the rule says so."""
        now = clock()
        objective, error = figures()
        row = dict(zip(COLUMNS, (products, now - self._begin, objective, error), strict=True))
        for name, value in row.items():
            self._columns[name].append(value)
        if not math.isfinite(objective):
            self._end(Verdict(Status.NOT_FINITE, f"The objective became {objective}."))
        verdict = self._stop.verdict(self._progress(row, point()))
        if verdict is not None:
            self._end(verdict)
        self._begin += clock() - now

    def end(self, reason: str) -> None:
        """Keep what the method said when it ended by itself."""
        self._verdict = Verdict(Status.STOPPED, reason)

    def trace(self) -> Trace:
        columns = {name: np.asarray(column, float) for name, column in self._columns.items()}
        return Trace(columns, self._verdict.status, self._verdict.reason)

    def _end(self, verdict: Verdict) -> NoReturn:
        self._verdict = verdict
        raise EndedError

    def _progress(self, row: dict[str, float], Y: Blocks) -> Progress:
        return Progress(
            iteration=len(self._columns["objective"]) - 1,
            Y=Y,
            seconds=row["seconds"],
            products=row["products"],
            objective=row["objective"],
            metrics={"relative_error": row["relative_error"]},
            stationarity=None,
            history=self._columns,
            subgradient=lambda: None,
        )
