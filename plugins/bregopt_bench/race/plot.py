"""The picture of ``bregopt bench race``: objectives over products and over seconds, two panels for each case."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bregopt import Array
from bregopt_bench.display import STYLE, figure, save
from bregopt_bench.race.comparison import PRODUCTS, SECONDS, TIE, Comparison, headline
from bregopt_bench.race.curves import Curve
from bregopt_bench.race.entrants import ours_and_peers

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


def plot_race(path: Path, comparisons: Sequence[Comparison], ours: Sequence[str], facts: dict[str, Any]) -> None:
    """The median over seeds as a line, all seeds as a band; ours are thick."""
    import matplotlib

    styles = _styles(comparisons, ours)
    with matplotlib.rc_context(STYLE):
        picture = figure(10.5, 1.2 + 3.1 * len(comparisons), TITLE, facts)
        panels = picture.subplots(len(comparisons), 2, squeeze=False, sharey="row")
        for (left, right), comparison in zip(panels, comparisons, strict=True):
            scaled, label = _scale(comparison)
            for panel, axis in ((left, PRODUCTS), (right, SECONDS)):
                for name, style in styles.items():
                    if name in comparison.curves:
                        _draw(panel, comparison.curves[name], axis, scaled, style)
                panel.set_yscale("log")
                panel.set_xlabel(axis)
                panel.grid()
            left.set_title(headline(comparison.facts))
            left.set_ylabel(label)
            left.set_xlim(0, comparison.most_products)
            right.set_xscale("log")
            right.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            right.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
            right.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            right.set_xlim(left=comparison.fastest / FLAT)
        lines = [matplotlib.lines.Line2D([], [], **style) for style in styles.values()]
        picture.legend(lines, list(styles), loc="outside right upper")
        save(picture, path)


def _styles(comparisons: Sequence[Comparison], ours: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, dash and width of every method: ours first."""
    mine, peers = ours_and_peers(dict.fromkeys(name for it in comparisons for name in it.curves), ours)
    styles = {}
    for names, colors, width, depth in ((mine, OURS, THICK, 4), (peers, PEERS, THIN, 3)):
        for k, name in enumerate(names):
            again, color = divmod(k, len(colors))
            dash = DASHES[(again if names is mine else k + again) % len(DASHES)]
            styles[name] = {"color": colors[color], "ls": dash, "lw": width, "zorder": depth}
    return styles


def _scale(comparison: Comparison) -> tuple[Any, str]:
    """What is drawn of an objective, and how it is called."""
    found = [curve.objective for curves in comparison.curves.values() for curve in curves if curve.objective.size]
    first, best = float(found[0][0]), float(min(values[-1] for values in found))
    if best < EXACT * first:
        return lambda values: np.maximum(values, comparison.floor), "objective Φ"
    return lambda values: np.maximum(values / best - 1, TIE), "Φ/Φ* − 1, with Φ* the lowest objective found"


def _draw(panel: Any, curves: Sequence[Curve], axis: str, scaled: Any, style: Mapping[str, Any]) -> None:
    curves = [curve for curve in curves if curve.objective.size]
    if not curves:
        return
    ends = [getattr(curve, axis)[-1] for curve in curves]
    begins = [max(getattr(curve, axis)[0], 1e-4) for curve in curves]
    grid = np.geomspace(max(begins), max(min(ends), max(begins)), POINTS)
    values = scaled(np.stack([_at(curve, axis, grid) for curve in curves]))
    panel.plot(grid, np.median(values, axis=0), **style)
    faint = 0.16 if style["lw"] == THICK else 0.07
    if len(curves) > 1:
        panel.fill_between(grid, values.min(axis=0), values.max(axis=0), color=style["color"], alpha=faint, lw=0)


def _at(curve: Curve, axis: str, grid: Array) -> Array:
    rows = np.searchsorted(getattr(curve, axis), grid, side="right") - 1
    found: Array = curve.objective[np.maximum(rows, 0)]
    return found
