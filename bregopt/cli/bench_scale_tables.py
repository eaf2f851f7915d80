"""The tables of ``bregopt bench scale``."""

from collections.abc import Sequence
from typing import Any

from bregopt.cli.bench_growth import spread
from bregopt.cli.bench_table import milliseconds, print_table, ratio, shape_columns

GROWTH_NOTE = (
    "A pass takes 3·m·n·r multiplications with an addition each, 2 flops; ps: what one of them takes, in 1e-12 s. "
    "Between the slowest and the fastest size it differs by a factor of {spread:.2f}. Times are the best of {repeats} "
    "rounds, in ms."
)
SPEEDUP_NOTES = {
    "threads": "speedup: how many times as much the pass does as with one thread.",
    "workers": "speedup: how many times as much the pass does as on one dask worker, each with a single thread.",
}


def print_growth(rows: Sequence[dict[str, Any]], repeats: int) -> None:
    shown = [
        {
            **shape_columns(row),
            "entries": f"{row['entries']:.1e}",
            "pass": milliseconds(row["pass_seconds"]),
            "GFlop/s": f"{row['gflops']:.1f}",
            "ps": f"{row['picoseconds_per_multiply_add']:.1f}",
        }
        for row in rows
    ]
    print_table(shown, GROWTH_NOTE.format(spread=spread(rows), repeats=repeats))


def print_speedups(rows: Sequence[dict[str, Any]], what: str) -> None:
    shown = [
        {
            **shape_columns(row),
            what: str(row[what]),
            "pass": milliseconds(row["pass_seconds"]),
            "speedup": ratio(row["speedup"]),
        }
        for row in rows
    ]
    print_table(shown, SPEEDUP_NOTES[what])
