"""The three tables of ``bregopt bench pass``."""

from collections.abc import Mapping, Sequence
from typing import Any

from bregopt.cli.bench_row import Row
from bregopt.cli.bench_table import megabytes, milliseconds, print_table, ratio, shape_columns

PASS_NOTE = (
    "pass/bare: the pass gives value, gradient and relative error in so many times the time of the three products "
    "UV, XVᵀ and UᵀX alone, which it contains; below 1 it is faster than they are, as its tiles stay in cache. "
    "obvious/pass: how much longer the same figures take in plain NumPy. iteration/pass: an iteration of the paper's "
    "method against the pass inside of it. memory: what the pass takes at its peak. Times are the best of {repeats} "
    "rounds, in ms."
)
RESIDUAL_NOTE = (
    "How much a pass gains where the residual UV − W is zero nearly everywhere: its products then take the non-zeros "
    "alone. Times are the best of {repeats} rounds, in ms."
)
STORED_NOTE = (
    "Iterations of the paper's method on a memory map of a file that was just written, so that much of it may still be "
    "in the file cache. memory: how far the process grew, from composing the problem to the end."
)


def print_rows(rows: Sequence[Row], repeats: int) -> None:
    shown = [
        {
            **shape_columns(row.case),
            "bare": milliseconds(row.bare),
            "pass": milliseconds(row.seconds),
            "obvious": milliseconds(row.obvious),
            "pass\n/bare": ratio(row.against_bare),
            "obvious\n/pass": ratio(row.gain),
            "iteration\n/pass": ratio(row.overhead),
            "memory": megabytes(row.memory),
        }
        for row in rows
    ]
    print_table(shown, PASS_NOTE.format(repeats=repeats))


def print_residual(rows: Sequence[Mapping[str, Any]], repeats: int) -> None:
    shown = [
        {
            **shape_columns(row),
            f"residual {row['few_share']:.0%}": milliseconds(row["few_seconds"]),
            f"residual {row['many_share']:.0%}": milliseconds(row["many_seconds"]),
            "ratio": ratio(row["many_over_few"]),
        }
        for row in rows
    ]
    print_table(shown, RESIDUAL_NOTE.format(repeats=repeats))


def print_stored(row: Mapping[str, Any]) -> None:
    shown = {
        **shape_columns(row),
        "on disk": megabytes(row["bytes"]),
        "s per iteration": f"{row['iteration_seconds']:.3f}",
        "memory": megabytes(row["memory_bytes"]),
    }
    print_table([shown], STORED_NOTE)
