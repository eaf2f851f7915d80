"""Tables of a benchmark for people: the machine above them, what the columns mean below."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bregopt.cli.machine import headline
from bregopt.cli.plugins import PIPED_WIDTH

if TYPE_CHECKING:
    from rich.console import Console

PAGE = 110
"""The width that tables and notes keep to."""
WORDS = ("matrix", "type", "method", "side")
FOLDED = ("matrix", "method")
"""Columns with words, and those of them that may be folded."""


def print_machine(facts: dict[str, Any]) -> None:
    _console().print(headline(facts), width=PAGE)


def print_table(rows: Sequence[Mapping[str, str]], note: str) -> None:
    """Rows with the same headings, numbers to the right, and a note."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in rows[0]:
        side: Any = "left" if heading in WORDS else "right"
        table.add_column(heading, justify=side, no_wrap=heading not in FOLDED, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    console = _console()
    for part in (table, note):
        console.print(part, width=min(console.width, PAGE))


def shape_columns(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is benchmarked, as the first columns of a table."""
    density = facts.get("density")
    shown = "dense" if density is None else f"{100 * density:.3g} %"
    return {"matrix": facts["matrix"], "r": str(facts["rank"]), "M": shown, "type": facts["dtype"]}


def milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.{2 if seconds < 0.1 else 0}f}"


def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def megabytes(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:.1f} MB"


def _console() -> "Console":
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)
