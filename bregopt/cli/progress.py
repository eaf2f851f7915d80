"""A progress bar on the terminal, gone when the run ends."""

import os
import sys
import time
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bregopt.engine.observer import Observer
from bregopt.engine.state import State

EVERY = 0.2
"""Seconds between two updates."""


@final
class Bar(Observer):
    """Iteration, objective, a metric and time; the bar fills up to the nearest limit of the run."""

    def __init__(self, console: Console, iterations: int | None, seconds: float | None) -> None:
        text = TextColumn("{task.description}", markup=False)
        self._progress = Progress(
            BarColumn(16), text, TimeElapsedColumn(), console=console, transient=True, refresh_per_second=1 / EVERY
        )
        limited = iterations is not None or seconds is not None
        self._task = self._progress.add_task("starting", total=1.0 if limited else None)
        self._iterations, self._seconds = iterations, seconds
        self._begin = self._shown = time.perf_counter()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def see(self, state: State) -> None:
        now = time.perf_counter()
        if now - self._shown < EVERY:
            return
        self._shown = now
        limit = f"/{self._iterations}" if self._iterations else ""
        text = f"iteration {state.iteration}{limit}  objective {state.objective:.4e}"
        text += "".join(f"  {_short(name)} {value:.2e}" for name, value in list(state.metrics.items())[:1])
        done = max(
            state.iteration / self._iterations if self._iterations else 0.0,
            (now - self._begin) / self._seconds if self._seconds else 0.0,
        )
        self._progress.update(self._task, description=text, completed=done)

    def stopping(self) -> None:
        """Say that Ctrl-C was heard, which a long iteration may need."""
        self._progress.update(self._task, description="stopping after this iteration (Ctrl-C again: at once)")


def _short(metric: str) -> str:
    return metric.removeprefix("relative_").replace("_", " ")


def terminal() -> Console | None:
    """Where a bar can be drawn, if anywhere."""
    if os.environ.get("TERM") == "dumb":
        return None
    return next((Console(file=stream) for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
