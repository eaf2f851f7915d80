"""``bregopt bench scale``: the pass as the matrix grows, and with more threads and workers."""

import json
from pathlib import Path

import click

from bregopt.cli.bench_plot import plot_option
from bregopt.cli.bench_size import DTYPES, Size, size_type
from bregopt.cli.bench_workers import DEFAULT as WORKERS


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
@click.option(
    "--workers",
    metavar="[MxN:r]",
    type=size_type(density=False),
    is_flag=False,
    flag_value=WORKERS,
    help=f"Also on one and two workers of a local dask cluster.  [size: {WORKERS.spec}]",
)
@click.option("--repeats", metavar="N", type=click.IntRange(1), default=7, show_default=True, help="The best counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plot_option
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
    from bregopt.cli.bench_case import drawn
    from bregopt.cli.bench_growth import growth_row, sides, spread, thread_rows
    from bregopt.cli.bench_scale_plot import plot_scale
    from bregopt.cli.bench_scale_tables import print_growth, print_speedups
    from bregopt.cli.bench_table import print_machine
    from bregopt.cli.bench_workers import dask_modules, worker_rows
    from bregopt.cli.machine import cores, machine
    from bregopt.cli.notice import notice

    first, last = entries
    sizes = [Size(side, side, rank) for side in sides(first, last, steps)]
    if first >= last:
        raise click.BadParameter(f"FROM must be below TO. Got {first:g} {last:g} instead.", param_hint="'--entries'")
    if rank > sizes[0].m:
        raise click.BadParameter(f"{rank} is too large for a {sizes[0]} matrix, the first one.", param_hint="'--rank'")
    if workers:
        dask_modules()
    facts = machine()
    with notice(not as_json) as show:
        rows = []
        for size in sizes:
            show(f"measuring {size}, rank {rank}, {dtype}")
            case = drawn(size, dtype)
            rows.append(growth_row(case, repeats))
        show(f"measuring {sizes[-1]} with more threads")
        threads = thread_rows(case, [2**k for k in range(max(2, cores()).bit_length())], repeats)
        del case
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
