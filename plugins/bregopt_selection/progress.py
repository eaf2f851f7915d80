"""How a search goes: a bar on the terminal, or a line in a notebook, that tells of the last fit."""

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
Tell = Callable[[str, int | None], None]
"""Takes words, and how many fits there are now where that is news."""
COMPILING = "compiling once for this machine"


@contextmanager
def watched(wanted: bool, total: int, variable: str) -> Iterator[See]:
    """What to call with each fit; where there is neither a terminal nor a notebook nothing is shown."""
    console = _terminal() if wanted else None
    if console is None and not (wanted and "ipykernel" in sys.modules):
        yield lambda fit, done: None
        return
    with _line(total) if console is None else _bar(console, total) as tell:

        def see(fit: Fit, done: int) -> None:
            tell(f"{variable} {fit.value:g} of seed {fit.seed}: held-out error {fit.held_out_error:.4f}", done)

        with told_of_compiling(lambda _: tell(COMPILING, None)):
            yield see


@contextmanager
def _line(total: int) -> Iterator[Tell]:
    """A line on stderr that is written over, and is empty in the end."""
    last = ""

    def tell(text: str, done: int | None) -> None:
        nonlocal last
        shown = text if done is None else f"{done}/{total}  {text}"
        print(f"\r{shown:<{len(last)}}", end="", file=sys.stderr, flush=True)
        last = shown

    try:
        yield tell
    finally:
        print(f"\r{'':<{len(last)}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def _bar(console: "Console", total: int) -> Iterator[Tell]:
    """A bar that fills as fits are finished."""
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
        yield lambda text, done: progress.update(task, description=text, completed=done)


def _terminal() -> "Console | None":
    from rich.console import Console

    if os.environ.get("TERM") == "dumb":
        return None
    return next((Console(file=stream) for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)
