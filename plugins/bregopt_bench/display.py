"""How benchmarks show what they found: a status line, tables with their notes, and pictures."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bregopt.errors import FileError
from bregopt_bench.measuring import headline

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[[str], object]
"""Puts a text into the status line."""

PAGE = 110
"""The width that tables and notes keep to."""
PIPED_WIDTH = 160
WORDS = ("matrix", "type", "method", "side", "loss", "by", "stage")
FOLDED = ("matrix", "method", "loss")
"""Columns with words, and those of them that may be folded."""

PASS, OTHER, INK, FAINT, BAR = "#0f62a8", "#b5651d", "#222222", "#8a8a8a", "#d4d4d4"
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "grid.color": "#ececec",
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def status_line(wanted: bool = True) -> Iterator[Show]:
    """A line on the terminal that says what is being done, erased at the end; without a terminal nothing is shown.

    It is drawn when it changes, and by no thread of its own.
    """
    from rich.live import Live
    from rich.text import Text

    console = _terminal() if wanted else None
    if console is None:
        yield lambda text: None
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(Text(text, "dim"), refresh=True)


def _terminal() -> "Console | None":
    from rich.console import Console

    if os.environ.get("TERM") == "dumb":
        return None
    return next((Console(file=stream) for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)


def print_machine(facts: dict[str, Any]) -> None:
    _console().print(headline(facts), width=PAGE)


def print_table(rows: Sequence[Mapping[str, str]], note: str, *, close: bool = False) -> None:
    """Rows with the same headings, numbers to the right, and a note; columns may be ``close`` to each other."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1) if close else (0, 1))
    for heading in rows[0]:
        side: Any = "left" if heading in WORDS else "right"
        table.add_column(heading, justify=side, no_wrap=heading not in FOLDED, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    console = _console()
    for part in (table, note):
        console.print(part, width=min(console.width, PAGE))


def _console() -> "Console":
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


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


def gigabytes(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e9:.2f} GB"


def _check_picture(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse, before anything is measured, what could not be drawn or written."""
    if path is None:
        return None
    if path.suffix.lower() != ".png":
        raise click.BadParameter(f"{str(path)!r} must end in .png.")
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(f"The folder of {str(path)!r} does not exist.")
    if find_spec("matplotlib") is None:
        raise click.ClickException("--plot needs matplotlib, which is not installed. Install it, or 'bregopt[plot]'.")
    return path


plot_option = click.option(
    "--plot",
    metavar="FILE.png",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_check_picture,
    help="Draw a picture; needs matplotlib.",
)


repeats_option = click.option(
    "--repeats", metavar="N", type=click.IntRange(1), default=7, show_default=True, help="The best counts."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
plugin_option = click.option(
    "--plugin",
    "plugins",
    metavar="PY",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Load this Python file as a plugin. Repeat for more.",
)


def timing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every measurement of speed takes: how often, and how to report."""
    return repeats_option(json_option(plot_option(command)))


def figure(width: float, height: float, title: str, facts: dict[str, Any]) -> Any:
    """A figure of so many inches with a heading, and the machine in small print."""
    from matplotlib.figure import Figure

    it = Figure((width, height), layout="constrained")
    it.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    it.supxlabel(headline(facts), x=0.01, ha="left", fontsize=6.5, color=FAINT)
    return it


def label(panel: Any, text: str, at: tuple[float, float], offset: tuple[float, float], color: str) -> None:
    """A number beside a dot, so many points away, over what lies behind."""
    side = "center" if offset[0] == 0 else "left" if offset[0] > 0 else "right"
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    style = {"ha": side, "va": "center", "color": color, "fontsize": 7.5, "zorder": 2}
    panel.annotate(text, at, offset, textcoords="offset points", bbox=behind, **style)


def save(picture: Any, path: Path) -> None:
    try:
        picture.savefig(path, dpi=160, format="png")
    except OSError as error:
        raise FileError(f"--plot: {str(path)!r} cannot be written: {error.strerror or error}.") from error
