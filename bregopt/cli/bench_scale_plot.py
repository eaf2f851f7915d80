"""The picture of ``bregopt bench scale``: speed by size, and by number of threads and workers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bregopt.cli.bench_plot import FAINT, PASS, RIVAL, STYLE, figure, label, save


def plot_scale(
    path: Path,
    rows: Sequence[dict[str, Any]],
    threads: Sequence[dict[str, Any]],
    workers: Sequence[dict[str, Any]],
    facts: dict[str, Any],
) -> None:
    """Speed against entries on the left, speedups on the right."""
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
    kinds = [kind for kind in (("threads", threads, PASS), ("workers", workers, RIVAL)) if kind[1]]
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
