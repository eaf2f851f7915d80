"""The picture of a curve: error bars, the seeds behind, and what is chosen."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bregopt.errors import FileError, PluginError

if TYPE_CHECKING:
    from bregopt_selection.curve import Curve

KINDS = (".png", ".svg", ".pdf")
MAIN, SECOND, INK, FAINT = "#0f62a8", "#b5651d", "#222222", "#8a8a8a"
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "grid.color": "#ececec",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.color": INK,
    "ytick.color": INK,
}
TICKS = 16
"""The most ranks that stand below the picture."""


def check_picture(path: Path) -> None:
    """Refuse, before anything is fitted, what could not be drawn or written."""
    if path.suffix.lower() not in KINDS:
        raise FileError(f"A picture is written as {', '.join(KINDS)}. Got {str(path)!r} instead.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"The folder of {str(path)!r} does not exist. Make it first.")
    if "matplotlib" not in sys.modules and find_spec("matplotlib") is None:
        raise PluginError("A picture needs matplotlib, which is not installed. Install it, or 'bregopt[plot]'.")


def draw(curve: "Curve", path: Path) -> Path:
    """Write the picture."""
    check_picture(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    zeros = curve.variable == "weight"
    with rc_context(STYLE):
        figure = Figure((6.4, 5.4 if zeros else 3.8), layout="constrained")
        panels = figure.subplots(2 if zeros else 1, 1, sharex=True, squeeze=False, height_ratios=[3, 1.6][: 1 + zeros])
        _errors(panels[0, 0], curve)
        if zeros:
            _zeros(panels[1, 0], curve)
        panels[-1, 0].set_xlabel("rank" if not zeros else "weight, from large to small")
        figure.suptitle(_title(curve), x=0.01, ha="left", fontsize=11, fontweight="bold")
        try:
            figure.savefig(path, dpi=160)
        except OSError as error:
            raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
    return path


def _title(curve: "Curve") -> str:
    chosen = f"{curve.variable.capitalize()} {curve.chosen:.4g}"
    if curve.chosen == curve.minimum:
        return f"{chosen} predicts best what the fit did not see"
    return f"{chosen}: the {curve.simplest} within one standard error of the best"


def _errors(panel: Any, curve: "Curve") -> None:
    at, mean = np.asarray(curve.values, float), curve.mean
    several = len(curve.seeds) > 1
    for k, errors in enumerate(curve.errors.T if several else ()):
        panel.plot(at, errors, color=MAIN, alpha=0.22, linewidth=0.8, label="" if k else "each seed")
    panel.plot(at, curve.fit_error, color=FAINT, linestyle="--", linewidth=1, label="error on fitted entries")
    bars = np.nan_to_num(curve.standard_error) if several else None
    label = f"held-out error, mean of {len(curve.seeds)} seeds ± s.e." if several else "held-out error, one seed"
    panel.errorbar(
        at, mean, bars, color=MAIN, marker="o", markersize=4, linewidth=1.6, capsize=3, zorder=3, label=label
    )
    panel.axvline(curve.chosen, color=SECOND, linewidth=6, alpha=0.18, zorder=0)
    _name_choices(panel, curve)
    panel.set_ylim(0.0, 1.08 * float(np.nanmax(mean + (0.0 if bars is None else bars))))
    if curve.variable == "weight":
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(lambda weight, _: f"{weight:g}")
        panel.invert_xaxis()
    else:
        every = -(-(int(curve.values[-1] - curve.values[0]) + 1) // TICKS)
        panel.set_xticks(np.arange(curve.values[0], curve.values[-1] + 1, every))
    panel.set_ylabel(f"error; {100 * curve.share:g} % of the entries held out")
    panel.grid(axis="y")
    panel.legend(loc="best")


def _name_choices(panel: Any, curve: "Curve") -> None:
    """The choice above the panel, and rings around the other two, with their names in the legend."""
    for name, value, mark, size in (("least error", curve.minimum, "o", 10), ("knee", curve.knee, "D", 8)):
        at = curve.mean[curve.values.index(value)]
        panel.plot([value], [at], mark, markersize=size, markerfacecolor="none", color=INK, zorder=4, label=name)
    panel.annotate(
        "chosen",
        (curve.chosen, 1.0),
        (0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        color=SECOND,
        fontweight="bold",
        annotation_clip=False,
    )


def _zeros(panel: Any, curve: "Curve") -> None:
    for block, color, mark in zip(curve.blocks, (MAIN, SECOND, INK, FAINT), "osd^", strict=False):
        panel.plot(curve.values, 100 * curve.zeros(block), color=color, marker=mark, markersize=4, label=block)
    panel.axvline(curve.chosen, color=SECOND, linewidth=6, alpha=0.18, zorder=0)
    panel.set_ylabel("zeros, %")
    panel.set_ylim(-3, 103)
    panel.grid(axis="y")
    panel.legend(loc="best")
