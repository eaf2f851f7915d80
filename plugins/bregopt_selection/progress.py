"""A bar on the terminal that fills as fits are finished."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bregopt.compiled import told_of_compiling
from bregopt_selection.curve import Fit

if TYPE_CHECKING:
    from rich.console import Console

See = Callable[[Fit, int], object]
"""Takes a fit, and how many there are now."""


@contextmanager
def watched(wanted: bool, total: int, variable: str) -> Iterator[See]:
    """What to call with each fit; without a terminal nothing is shown."""
    console = _terminal() if wanted else None
    if console is None:
        yield lambda fit, done: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    text = TextColumn("{task.description}", markup=False)
    columns = BarColumn(16), MofNCompleteColumn(), text, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as progress:
        task = progress.add_task("starting", total=total)

        def see(fit: Fit, done: int) -> None:
            told = f"{variable} {fit.value:g} of seed {fit.seed}: held-out error {fit.held_out_error:.4f}"
            progress.update(task, description=told, completed=done)

        with told_of_compiling(lambda _: progress.update(task, description="compiling once for this machine")):
            yield see


def _terminal() -> "Console | None":
    from rich.console import Console

    if os.environ.get("TERM") == "dumb":
        return None
    return next((Console(file=stream) for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
