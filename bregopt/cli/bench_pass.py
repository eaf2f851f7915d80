"""``bregopt bench pass``: the pass of an iteration against the products it is made of and against plain NumPy."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bregopt.cli.bench_case import Case, drawn, in_file
from bregopt.cli.bench_plot import plot_option
from bregopt.cli.bench_residual import DEFAULT as RESIDUAL
from bregopt.cli.bench_size import DTYPES, GRID, Size, size_type
from bregopt.cli.bench_stored import DEFAULT as STORED


@click.command("pass", short_help="The pass of an iteration, against bare products and plain NumPy.")
@click.option(
    "--size", "sizes", metavar="MxN:r[:density]", type=size_type(), multiple=True, help="A random M; repeat for more."
)
@click.option("--file", metavar="FILE", type=click.Path(path_type=Path), help="The matrix in a file, as for 'solve'.")
@click.option("-r", "--rank", metavar="N", type=click.IntRange(1), default=10, show_default=True, help="With --file.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Of M and of the products.  [default: one after the other]")
@click.option(
    "--residual",
    metavar="[MxN:r:density]",
    type=size_type(density=True),
    is_flag=False,
    flag_value=RESIDUAL,
    help=f"Residuals with few non-zeros against dense ones.  [size: {RESIDUAL.spec}]",
)
@click.option(
    "--stored",
    metavar="[MxN:r]",
    type=size_type(density=False),
    is_flag=False,
    flag_value=STORED,
    help=f"A float32 matrix on disk, in a temporary folder.  [size: {STORED.spec}]",
)
@click.option("--repeats", metavar="N", type=click.IntRange(1), default=7, show_default=True, help="The best counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plot_option
def pass_(
    sizes: Sequence[Size],
    file: Path | None,
    rank: int,
    dtype: str | None,
    residual: Size | None,
    stored: Size | None,
    repeats: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Time the pass over M that makes up nearly all of an iteration.

    It is held against the three matrix products it contains, and against plain NumPy code for the same figures, in
    rounds that alternate. Without --size, --file, --residual and --stored a grid of sizes is measured.

    \b
    Examples:
      bregopt bench pass --size 2000x3000:20 --size 6000x8000:30:0.004
      bregopt bench pass --file counts.mtx -r 30 --plot speed.png
    """
    from bregopt.cli.bench_pass_plot import plot_pass
    from bregopt.cli.bench_pass_tables import print_residual, print_rows, print_stored
    from bregopt.cli.bench_residual import residual_row
    from bregopt.cli.bench_row import measure
    from bregopt.cli.bench_stored import stored_row
    from bregopt.cli.bench_table import print_machine
    from bregopt.cli.machine import machine
    from bregopt.cli.notice import notice

    others = residual is not None or stored is not None
    sizes = sizes or (() if file or others else GRID)
    if plot is not None and not (sizes or file):
        raise click.UsageError("--plot draws the table of sizes: give --size or --file as well.")
    dtypes = DTYPES if dtype is None else (dtype,)
    facts = machine()
    with notice(not as_json) as show:
        rows = []
        for case in _cases(sizes, file, rank, dtypes):
            show(f"measuring {case.name}, rank {case.rank}, {case.dtype}")
            rows.append(measure(case, repeats))
        residuals = []
        for kind in dtypes:
            if residual:
                show(f"measuring residuals, {residual}, {kind}")
                residuals.append(residual_row(residual, kind, repeats))
        on_disk = stored_row(stored, show) if stored else None
    if plot is not None:
        plot_pass(plot, rows, facts)
    if as_json:
        record = {"machine": facts, "repeats": repeats, "rows": [row.as_json() for row in rows]}
        click.echo(json.dumps({**record, "residual": residuals, "stored": on_disk}, indent=2, allow_nan=False))
        return
    print_machine(facts)
    if rows:
        print_rows(rows, repeats)
    if residuals:
        print_residual(residuals, repeats)
    if on_disk:
        print_stored(on_disk)


def _cases(sizes: Sequence[Size], file: Path | None, rank: int, dtypes: Sequence[str]) -> Iterator[Case]:
    """One at a time: together they may not fit in memory."""
    for size in sizes:
        yield from (drawn(size, dtype) for dtype in dtypes)
    if file is not None:
        yield from in_file(file, rank, dtypes)
