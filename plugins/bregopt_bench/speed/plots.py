"""The pictures of ``bregopt bench pass`` and ``bregopt bench scale``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bregopt_bench.display import BAR, FAINT, OTHER, PASS, STYLE, figure, label, save
from bregopt_bench.speed.pass_rows import Row


def plot_pass(path: Path, rows: Sequence[Row], facts: dict[str, Any]) -> None:
    """The pass and plain NumPy in units of the bare products: a panel for each precision, a line for each matrix."""
    import matplotlib

    kinds = list(dict.fromkeys(row.facts["dtype"] for row in rows))
    shares = [[row for row in rows if row.facts["dtype"] == kind] for kind in kinds]
    with matplotlib.rc_context(STYLE):
        height = 1.6 + 0.3 * max(map(len, shares))
        picture = figure(2.8 + 3.4 * len(kinds), height, "One pass over M", facts)
        panels = picture.subplots(1, len(kinds), sharex=True, sharey=True, squeeze=False)[0]
        for panel, kind, share in zip(panels, kinds, shares, strict=True):
            _compare(panel, share)
            panel.set_title(kind)
            panel.set_xlabel("time, in units of the three bare products")
        _scale_times(panels[0], rows)
        picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        save(picture, path)


def _compare(panel: Any, rows: Sequence[Row]) -> None:
    ours = {y: found for y, row in enumerate(rows) if (found := row.against_bare) is not None}
    theirs = {y: found for y, row in enumerate(rows) if (found := row.obvious_over_bare) is not None}
    panel.axvline(1, color=FAINT, lw=1.2, label="bare products")
    panel.hlines(list(theirs), [ours[y] for y in theirs], list(theirs.values()), color=BAR, lw=2, zorder=1)
    _dots(panel, ours, PASS, "the pass", side=-1)
    _dots(panel, theirs, OTHER, "plain NumPy", side=1)
    panel.set_yticks(range(len(rows)), [_name(row) for row in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x")
    panel.spines["left"].set_visible(False)


def _dots(panel: Any, found: Mapping[int, float], color: str, name: str, side: int) -> None:
    panel.plot(list(found.values()), list(found), "o", color=color, ms=7, label=name, zorder=3)
    for y, x in found.items():
        label(panel, f"{x:.2f}", (x, y), (side * 7, 0), color)


def _scale_times(panel: Any, rows: Sequence[Row]) -> None:
    """A logarithmic axis with plain numbers, and room for the labels."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    times = [1.0, *(time for row in rows for time in (row.against_bare, row.obvious_over_bare) if time is not None)]
    span = max(times) / min(times)
    panel.set_xscale("log")
    panel.set_xlim(min(times) / (1.5 * span**0.15), max(times) * 1.5 * span**0.15)
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 100 else (1,)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _name(row: Row) -> str:
    facts = row.facts
    density = "dense" if facts["density"] is None else f"{100 * facts['density']:.2g} % non-zeros"
    loss = f"{facts['loss']}, " if "loss" in facts else ""
    return f"{loss}{facts['matrix']}, rank {facts['rank']}, {density}"


def plot_scale(
    path: Path,
    rows: Sequence[dict[str, Any]],
    threads: Sequence[dict[str, Any]],
    workers: Sequence[dict[str, Any]],
    facts: dict[str, Any],
) -> None:
    """Speed against the entries of M on the left, speedups by threads and workers on the right."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        picture = figure(8.2, 3.4, f"The pass as M grows, rank {rows[0]['rank']}, {rows[0]['dtype']}", facts)
        left, right = picture.subplots(1, 2, width_ratios=(3, 2))
        _growth(left, rows)
        _speedups(right, threads, workers)
        save(picture, path)


def _growth(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    points = [(row["entries"], row["gflops"]) for row in rows]
    panel.semilogx(*zip(*points, strict=True), "o-", color=PASS)
    for point in points:
        label(panel, f"{point[1]:.3g}", point, (0, 10), PASS)
    panel.set_ylim(0, 1.2 * max(speed for _, speed in points))
    panel.set_title("GFlop/s")
    panel.set_xlabel("entries of M")
    panel.grid()


def _speedups(panel: Any, threads: Sequence[dict[str, Any]], workers: Sequence[dict[str, Any]]) -> None:
    """Bars in groups, one group a number of threads or workers, with what would be ideal above each."""
    kinds = [kind for kind in (("threads", threads, PASS), ("workers", workers, OTHER)) if kind[1]]
    counts = [row["threads"] for row in threads]
    for k, (what, rows, color) in enumerate(kinds):
        places = [counts.index(row[what]) + 0.36 * (k - (len(kinds) - 1) / 2) for row in rows]
        bars = panel.bar(places, [row["speedup"] for row in rows], 0.32, color=color, label=what)
        panel.bar_label(bars, fmt="%.2f", label_type="center", fontsize=8, color="white")
    spots = range(len(counts))
    panel.hlines(
        counts, [k - 0.4 for k in spots], [k + 0.4 for k in spots], color=FAINT, lw=1.2, ls="--", label="ideal"
    )
    panel.set_xticks(spots, counts)
    panel.set_ylim(0, 1.2 * counts[-1])
    panel.set_title("Speedup")
    panel.set_xlabel(" or ".join(what for what, _, _ in kinds))
    panel.grid(axis="y")
    panel.legend(loc="upper left")
