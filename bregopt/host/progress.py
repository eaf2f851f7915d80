"""How a run goes, while it goes: a bar on a terminal, a line in a notebook, now and then a line in a log."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TextIO, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bregopt.compiled import clock, told_of_compiling
from bregopt.engine.observer import Observer
from bregopt.engine.state import State
from bregopt.host.compiling import COMPILING

EVERY = 0.2
"""Seconds between two updates."""
SELDOM = 10.0
"""… and between two lines of a log."""


@final
class Bar(Observer):
    """Iteration, objective, a metric and time; the bar fills up to the nearest limit of the run."""

    def __init__(self, console: Console, iterations: int | None, seconds: float | None) -> None:
        text = TextColumn("{task.description}", markup=False)
        self._progress = Progress(
            BarColumn(16), text, TimeElapsedColumn(), console=console, transient=True, refresh_per_second=1 / EVERY
        )
        limited = iterations is not None or seconds is not None
        self._task = self._progress.add_task("starting", start=False, total=1.0 if limited else None)
        self._iterations, self._seconds = iterations, seconds
        self._begin, self._shown = clock(), time.perf_counter()

    def __enter__(self) -> Self:
        self._begin, self._shown = clock(), time.perf_counter()
        self._progress.start_task(self._task)
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def see(self, state: State) -> None:
        now = time.perf_counter()
        if now - self._shown < EVERY:
            return
        self._shown = now
        text = description(state, self._iterations)
        done = max(
            state.iteration / self._iterations if self._iterations else 0.0,
            (clock() - self._begin) / self._seconds if self._seconds else 0.0,
        )
        self._progress.update(self._task, description=text, completed=done)

    def compiling(self, loop: str) -> None:
        """Say what is waited for, until the next iteration."""
        self._progress.update(self._task, description=COMPILING)

    def stopping(self) -> None:
        """Say that Ctrl-C was heard, which a long iteration may need."""
        self._progress.update(self._task, description="stopping after this iteration (Ctrl-C again: at once)")


@final
class Line(Observer):
    """A line about the run: one that changes in a notebook, and one every ten seconds in a log."""

    def __init__(self, stream: TextIO, iterations: int | None, *, rewritten: bool) -> None:
        self._stream, self._iterations, self._rewritten = stream, iterations, rewritten
        self._every = EVERY if rewritten else SELDOM
        self._shown, self._width = time.perf_counter(), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rewritten:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def see(self, state: State) -> None:
        now = time.perf_counter()
        if now - self._shown >= self._every:
            self._shown = now
            self._write(description(state, self._iterations))

    def compiling(self, loop: str) -> None:
        """Say what is waited for."""
        self._write(COMPILING)

    def _write(self, text: str) -> None:
        """The line, over the last one where it can be."""
        self._stream.write(f"\r{text:<{self._width}}" if self._rewritten else f"{text}\n")
        self._width = len(text)
        self._stream.flush()


def description(state: State, iterations: int | None) -> str:
    """Iteration, objective and the first metric."""
    limit = f"/{iterations}" if iterations else ""
    text = f"iteration {state.iteration}{limit}  objective {state.objective:.4e}"
    return text + "".join(f"  {_short(name)} {value:.2e}" for name, value in list(state.metrics.items())[:1])


@contextmanager
def shown(iterations: int | None, seconds: float | None) -> Iterator[Observer]:
    """The display that suits where Python runs, open during the run, as an observer of it."""
    console = terminal()
    display: Bar | Line
    if console:
        display = Bar(console, iterations, seconds)
    else:
        display = Line(sys.stderr, iterations, rewritten="ipykernel" in sys.modules)
    with told_of_compiling(display.compiling), display:
        yield display


def _short(metric: str) -> str:
    return metric.removeprefix("relative_").replace("_", " ")


def terminal() -> Console | None:
    """Where a bar can be drawn, if anywhere."""
    if os.environ.get("TERM") == "dumb":
        return None
    return next((Console(file=stream) for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
