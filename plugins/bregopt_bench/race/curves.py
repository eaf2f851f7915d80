"""What a run reached with so many products, or in so many seconds."""

import math
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Status
from bregopt_bench.peers.recorder import COLUMNS, Trace

DIVERGED = (Status.NOT_FINITE, Status.DIVERGED)


@final
@frozen(eq=False, kw_only=True)
class Curve:
    """The lowest objective so far and the relative error there, over products and seconds.

    The error is nan where the problem has none.
    """

    seed: int
    products: Array
    seconds: Array
    objective: Array
    relative_error: Array
    status: Status
    reason: str

    def diverged(self, axis: str, budget: float) -> bool:
        """Whether the run diverged before it had used the budget."""
        return self.status in DIVERGED and not self.used(axis, budget)

    def used(self, axis: str, budget: float) -> bool:
        """Whether the run went on for the whole budget."""
        spent = getattr(self, axis)
        return bool(spent.size and spent[-1] >= budget)

    def at(self, axis: str, budget: float, column: str = "objective") -> float:
        """A column within a budget of ``products`` or ``seconds``, at least at the start; ∞ for a run that diverged."""
        if self.diverged(axis, budget):
            return math.inf
        row = int(np.searchsorted(getattr(self, axis), budget, side="right")) - 1
        return float(getattr(self, column)[max(row, 0)])

    def reached(self, objective: float, axis: str) -> float:
        """The products or seconds it took to come down to an objective; ∞ for a run that did not."""
        row = int(np.argmax(self.objective <= objective)) if self.objective.size else 0
        return float(getattr(self, axis)[row]) if np.any(self.objective <= objective) else math.inf

    def as_json(self) -> dict[str, Any]:
        end = {"seed": self.seed, "status": self.status.value, "reason": self.reason}
        return {**end, **{name: getattr(self, name).tolist() for name in COLUMNS}}


def curve(trace: Trace, seed: int) -> Curve:
    """The curve of a run; rows whose objective is no finite number count as no progress."""
    found = np.asarray(trace.history["objective"], float)
    objective = np.where(np.isfinite(found), found, math.inf)
    best = np.minimum.accumulate(objective)
    rows = np.arange(best.size)
    error = np.asarray(trace.history.get("relative_error", np.full(best.size, math.nan)), float)
    place = np.maximum.accumulate(np.where(objective == best, rows, 0)) if best.size else rows
    return Curve(
        seed=seed,
        products=trace.history["products"],
        seconds=trace.history["seconds"],
        objective=best,
        relative_error=error[place],
        status=trace.status,
        reason=trace.reason,
    )
