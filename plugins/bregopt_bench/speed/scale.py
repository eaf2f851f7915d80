"""``bregopt bench scale``: the pass as the matrix grows, and with more threads and workers."""

import json
import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from bregopt_bench.display import (
    Show,
    milliseconds,
    print_machine,
    print_table,
    ratio,
    shape_columns,
    status_line,
    timing_options,
)
from bregopt_bench.measuring import best_seconds, cores, machine
from bregopt_bench.speed.matrices import (
    DTYPES,
    SEED,
    Size,
    TimedMatrix,
    drawn,
    first_evaluation,
    paper_problem,
    size_flag,
)
from bregopt_bench.speed.plots import plot_scale

WORKERS_SIZE = Size(10000, 10000, 100)
"""A pass of more than a second on one worker: in less, the messages between processes would weigh."""
WORKERS = (1, 2)
CHUNKS = 8
GROWTH_NOTE = (
    "A pass takes 3·m·n·r multiplications with an addition each, 2 flops; ps: what one of them takes, in 1e-12 s. "
    "Between the slowest and the fastest size it differs by a factor of {spread:.2f}. Times are the best of {repeats} "
    "rounds, in ms."
)
SPEEDUP_NOTES = {
    "threads": "speedup: how many times as much the pass does as with one thread.",
    "workers": "speedup: how many times as much the pass does as on one dask worker, each with a single thread.",
}


@click.command(short_help="The pass as the matrix grows, and with more threads and workers.")
@click.option(
    "--entries",
    metavar="FROM TO",
    type=click.FloatRange(min=100),
    nargs=2,
    default=(1e6, 1e8),
    help="Of the square matrices.  [default: 1e6 1e8]",
)
@click.option("--steps", metavar="N", type=click.IntRange(2), default=5, show_default=True, help="How many of them.")
@click.option("-r", "--rank", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Of U and V.")
@click.option("--dtype", type=click.Choice(DTYPES), default="float64", show_default=True, help="Of M and the products.")
@size_flag("--workers", WORKERS_SIZE, "Also on one and two workers of a local dask cluster.")
@timing_options
def scale(
    entries: tuple[float, float],
    steps: int,
    rank: int,
    dtype: str,
    workers: Size | None,
    repeats: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Time the pass on square dense matrices of growing size, and the largest with one thread and with more.

    The time of a multiplication should stay the same: what is of size m×n goes through the cache tile by tile.

    \b
    Examples:
      bregopt bench scale
      bregopt bench scale --entries 1e5 1e7 --rank 50 --workers
    """
    first, last = entries
    sizes = [Size(side, side, rank) for side in side_lengths(first, last, steps)]
    if first >= last:
        raise click.BadParameter(f"FROM must be below TO. Got {first:g} {last:g} instead.", param_hint="'--entries'")
    if rank > sizes[0].m:
        raise click.BadParameter(f"{rank} is too large for a {sizes[0]} matrix, the first one.", param_hint="'--rank'")
    if workers:
        dask_modules()
    facts = machine()
    with status_line(not as_json) as show:
        rows = []
        for size in sizes:
            show(f"measuring {size}, rank {rank}, {dtype}")
            matrix = drawn(size, dtype)
            rows.append(growth_row(matrix, repeats))
        show(f"measuring {sizes[-1]} with more threads")
        threads = thread_rows(matrix, [2**k for k in range(max(2, cores()).bit_length())], repeats)
        del matrix
        over = worker_rows(workers, dtype, repeats, show) if workers else []
    if plot is not None:
        plot_scale(plot, rows, threads, over, facts)
    if as_json:
        record = {"machine": facts, "repeats": repeats, "rows": rows, "spread": spread(rows)}
        click.echo(json.dumps({**record, "threads": threads, "workers": over}, indent=2, allow_nan=False))
        return
    print_machine(facts)
    print_growth(rows, repeats)
    print_speedups(threads, "threads")
    if over:
        print_speedups(over, "workers")


def side_lengths(first: float, last: float, count: int) -> list[int]:
    """Of square matrices, the number of whose entries grows by a constant factor."""
    return [round((first * (last / first) ** (k / (count - 1))) ** 0.5) for k in range(count)]


def growth_row(matrix: TimedMatrix, repeats: int) -> dict[str, Any]:
    """The pass, and its speed in multiplications with additions, of which it takes 3·m·n·r."""
    seconds = best_seconds({"pass": first_evaluation(matrix.problem())}, repeats=repeats)["pass"]
    entries = matrix.M.shape[0] * matrix.M.shape[1]
    work = 3 * entries * matrix.rank
    speed = {"gflops": 2 * work / seconds / 1e9, "picoseconds_per_multiply_add": 1e12 * seconds / work}
    return {**matrix.facts, "entries": entries, "pass_seconds": seconds, **speed}


def spread(rows: Sequence[dict[str, Any]]) -> float:
    """The slowest against the fastest size."""
    times = [row["picoseconds_per_multiply_add"] for row in rows]
    return float(max(times) / min(times))


def thread_rows(matrix: TimedMatrix, counts: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """The pass with each number of threads, in turn."""
    tasks = {str(count): first_evaluation(matrix.problem(threads=count)) for count in counts}
    seconds = best_seconds(tasks, repeats=repeats).values()
    return speedups(matrix.facts, "threads", dict(zip(counts, seconds, strict=True)))


def speedups(facts: dict[str, Any], what: str, seconds: dict[int, float]) -> list[dict[str, Any]]:
    """Seconds by number of ``what``, and how many times more the pass does than with one of them."""
    alone = next(iter(seconds.values()))
    return [{**facts, what: count, "pass_seconds": it, "speedup": alone / it} for count, it in seconds.items()]


def worker_rows(size: Size, dtype: str, repeats: int, show: Show) -> list[dict[str, Any]]:
    """The pass on one and on two workers with a single thread each."""
    distributed, da = dask_modules()
    seconds = {}
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    for count in WORKERS:
        show(f"measuring {size}, rank {size.rank}, {dtype}, on {count} of {len(WORKERS)} dask workers")
        with distributed.LocalCluster(n_workers=count, **options) as cluster, distributed.Client(cluster):
            M = da.random.default_rng(SEED).standard_normal((size.m, size.n), chunks=(-(-size.m // CHUNKS), size.n))
            M = da.maximum(M, 0).astype(dtype)  # drawn by the workers: nothing of size m×n is sent
            task = first_evaluation(paper_problem(M, size.rank))
            seconds[count] = best_seconds({"pass": task}, repeats=repeats)["pass"]
    shape = {"matrix": str(size), "rows": size.m, "columns": size.n, "rank": size.rank, "dtype": dtype}
    return speedups(shape, "workers", seconds)


def dask_modules() -> tuple[Any, Any]:
    """``distributed`` and ``dask.array``, or what to install."""
    try:
        return import_module("distributed"), import_module("dask.array")
    except ImportError:
        raise click.ClickException("--workers needs dask and distributed. Install them, or 'bregopt[dask]'.") from None


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
