"""The picture of ``bregopt bench race``: objectives over products and over seconds, two panels for each row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.cli.bench_plot import STYLE, figure, save
from bregopt.cli.race_cell import TIE
from bregopt.cli.race_curve import Curve
from bregopt.cli.race_heat import PRODUCTS, SECONDS, Heat
from bregopt.cli.race_standing import sides

TITLE = "The lowest objective so far: median over seeds, and all seeds as a band"
OURS = ("#0f62a8", "#0a9396", "#6a3d9a", "#c2185b", "#2e7d32")
PEERS = (
    *("#b5651d", "#6f6f6f", "#d4a017", "#b23b3b", "#7f9c3b", "#222222"),
    *("#c77dbb", "#5a7d9a", "#f08a4b", "#8c6bb1", "#41ab9d", "#8a5a44"),
)
DASHES = ("-", "--", ":", "-.")
THICK, THIN = 2.4, 1.2
POINTS = 400
"""Of a line."""
FLAT = 15
"""The seconds begin at that part of what the fastest method took: nothing has happened before."""
EXACT = 1e-9
"""Of the objective at the start: where one falls below that the objective itself is drawn, else its distance to the
lowest one."""


def plot_race(path: Path, heats: Sequence[Heat], ours: Sequence[str], facts: dict[str, Any]) -> None:
    """The median over seeds as a line, all seeds as a band; ours are thick."""
    import matplotlib

    looks = _looks(heats, ours)
    with matplotlib.rc_context(STYLE):
        picture = figure(10.5, 1.2 + 3.1 * len(heats), TITLE, facts)
        panels = picture.subplots(len(heats), 2, squeeze=False, sharey="row")
        for (left, right), heat in zip(panels, heats, strict=True):
            scaled, label = _scale(heat)
            for panel, axis in ((left, PRODUCTS), (right, SECONDS)):
                for name, look in looks.items():
                    if name in heat.curves:
                        _draw(panel, heat.curves[name], axis, scaled, look)
                panel.set_yscale("log")
                panel.set_xlabel(axis)
                panel.grid()
            left.set_title("{matrix}, rank {rank}, {start} start".format(**heat.facts))
            left.set_ylabel(label)
            left.set_xlim(0, heat.last)
            right.set_xscale("log")
            right.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            right.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
            right.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            right.set_xlim(left=heat.fastest / FLAT)
        lines = [matplotlib.lines.Line2D([], [], **look) for look in looks.values()]
        picture.legend(lines, list(looks), loc="outside right upper")
        save(picture, path)


def _looks(heats: Sequence[Heat], ours: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, dash and width of every method: ours first."""
    mine, peers = sides(dict.fromkeys(name for heat in heats for name in heat.curves), ours)
    looks = {}
    for names, colors, width, depth in ((mine, OURS, THICK, 4), (peers, PEERS, THIN, 3)):
        for k, name in enumerate(names):
            turn, color = divmod(k, len(colors))
            dash = DASHES[(turn if names is mine else k + turn) % len(DASHES)]
            looks[name] = {"color": colors[color], "ls": dash, "lw": width, "zorder": depth}
    return looks


def _scale(heat: Heat) -> tuple[Any, str]:
    """What is drawn of an objective, and how it is called."""
    found = [curve.objective for curves in heat.curves.values() for curve in curves if curve.objective.size]
    first, best = float(found[0][0]), float(min(values[-1] for values in found))
    if best < EXACT * first:
        return lambda values: np.maximum(values, heat.floor), "objective Φ"
    return lambda values: np.maximum(values / best - 1, TIE), "Φ/Φ* − 1, with Φ* the lowest objective found"


def _draw(panel: Any, curves: Sequence[Curve], axis: str, scaled: Any, look: Mapping[str, Any]) -> None:
    curves = [curve for curve in curves if curve.objective.size]
    if not curves:
        return
    ends = [getattr(curve, axis)[-1] for curve in curves]
    begins = [max(getattr(curve, axis)[0], 1e-4) for curve in curves]
    grid = np.geomspace(max(begins), max(min(ends), max(begins)), POINTS)
    values = scaled(np.stack([_at(curve, axis, grid) for curve in curves]))
    panel.plot(grid, np.median(values, axis=0), **look)
    faint = 0.16 if look["lw"] == THICK else 0.07
    if len(curves) > 1:
        panel.fill_between(grid, values.min(axis=0), values.max(axis=0), color=look["color"], alpha=faint, lw=0)


def _at(curve: Curve, axis: str, grid: Array) -> Array:
    rows = np.searchsorted(getattr(curve, axis), grid, side="right") - 1
    found: Array = curve.objective[np.maximum(rows, 0)]
    return found
