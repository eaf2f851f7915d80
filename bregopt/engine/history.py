"""The columns of a run, one row a state."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np

from bregopt.blocks import Array
from bregopt.engine.state import State

COLUMNS = (
    "iteration",
    "seconds",
    "objective",
    "lyapunov",
    "beta",
    "step",
    "divergence",
    "stationarity",
    "products",
)


@final
class History(dict[str, Array]):
    """The columns of a run by their names, one row a state."""

    def __missing__(self, name: object) -> Array:
        raise KeyError(f"The history has no column {name!r}: it has {', '.join(self)}.")

    def __repr__(self) -> str:
        rows = len(next(iter(self.values()), ()))
        return f"History({rows} states: {', '.join(self)})"


@final
class Recorder:
    """Collects the history; what a state does not know is nan."""

    def __init__(self, columns: Mapping[str, Array] | None = None) -> None:
        """Empty, or with the columns of a run that goes on."""
        self.columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
        self.columns |= {name: column.tolist() for name, column in (columns or {}).items()}
        self._rows = len(self.columns["iteration"])

    def see(self, state: State, seconds: float) -> None:
        row = {
            "iteration": state.iteration,
            "seconds": seconds,
            "objective": state.objective,
            "lyapunov": state.lyapunov,
            "beta": state.beta,
            "step": state.step,
            "divergence": state.divergence,
            "stationarity": state.stationarity,
            "products": state.counts.products,
            **state.metrics,
        }
        for name in row:
            if name not in self.columns:
                self.columns[name] = [math.nan] * self._rows
        for name, column in self.columns.items():
            value = row.get(name)
            column.append(math.nan if value is None else value)
        self._rows += 1

    def arrays(self) -> History:
        """The columns as read-only arrays."""
        arrays = History({name: np.asarray(column) for name, column in self.columns.items()})
        for array in arrays.values():
            array.flags.writeable = False
        return arrays
