"""The option ``--plot``, and what the pictures of benchmarks share."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from bregopt.cli.machine import headline
from bregopt.errors import FileError

PASS, RIVAL, INK, FAINT, BAR = "#0f62a8", "#b5651d", "#222222", "#8a8a8a", "#d4d4d4"
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


def _check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
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
    callback=_check,
    help="Draw a picture; needs matplotlib.",
)


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
