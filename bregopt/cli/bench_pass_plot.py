"""The picture of ``bregopt bench pass``: the pass and plain NumPy in units of the bare products."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bregopt.cli.bench_plot import BAR, FAINT, PASS, RIVAL, STYLE, figure, label, save
from bregopt.cli.bench_row import Row


def plot_pass(path: Path, rows: Sequence[Row], facts: dict[str, Any]) -> None:
    """One panel for each precision, one line for each matrix."""
    import matplotlib

    kinds = list(dict.fromkeys(row.case["dtype"] for row in rows))
    shares = [[row for row in rows if row.case["dtype"] == kind] for kind in kinds]
    with matplotlib.rc_context(STYLE):
        height = 1.6 + 0.3 * max(map(len, shares))
        picture = figure(2.8 + 3.4 * len(kinds), height, "One pass over M", facts)
        panels = picture.subplots(1, len(kinds), sharex=True, sharey=True, squeeze=False)[0]
        for panel, kind, share in zip(panels, kinds, shares, strict=True):
            _draw(panel, share)
            panel.set_title(kind)
            panel.set_xlabel("time, in units of the three bare products")
        _scale(panels[0], rows)
        picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        save(picture, path)


def _draw(panel: Any, rows: Sequence[Row]) -> None:
    ours = {y: row.against_bare for y, row in enumerate(rows)}
    theirs = {y: row.obvious / row.bare for y, row in enumerate(rows) if row.obvious is not None}
    panel.axvline(1, color=FAINT, lw=1.2, label="bare products")
    panel.hlines(list(theirs), [ours[y] for y in theirs], list(theirs.values()), color=BAR, lw=2, zorder=1)
    _dots(panel, ours, PASS, "the pass", side=-1)
    _dots(panel, theirs, RIVAL, "plain NumPy", side=1)
    panel.set_yticks(range(len(rows)), [_name(row) for row in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x")
    panel.spines["left"].set_visible(False)


def _dots(panel: Any, found: Mapping[int, float], color: str, name: str, side: int) -> None:
    panel.plot(list(found.values()), list(found), "o", color=color, ms=7, label=name, zorder=3)
    for y, x in found.items():
        label(panel, f"{x:.2f}", (x, y), (side * 7, 0), color)


def _scale(panel: Any, rows: Sequence[Row]) -> None:
    """A logarithmic axis with plain numbers, and room for the labels."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    times = [time / row.bare for row in rows for time in (row.seconds, row.obvious or row.bare, row.bare)]
    span = max(times) / min(times)
    panel.set_xscale("log")
    panel.set_xlim(min(times) / (1.5 * span**0.15), max(times) * 1.5 * span**0.15)
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 100 else (1,)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _name(row: Row) -> str:
    case = row.case
    density = "dense" if case["density"] is None else f"{100 * case['density']:.2g} % non-zeros"
    return f"{case['matrix']}, rank {case['rank']}, {density}"
