"""``bregopt solve``: decompose a matrix."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import bregopt
from bregopt.rules.stopping import Status

EXIT_CODES = {Status.NOT_FINITE: 1, Status.DIVERGED: 1, Status.INTERRUPTED: 130}
PATH = click.Path(path_type=Path)


@click.command(
    short_help="Decompose the matrix in a file, or a built-in one.",
    epilog="Exit codes: 0 the run ended by a rule, 1 it diverged or met nan or inf, 2 wrong input, 130 Ctrl-C.",
)
@click.argument("file", required=False, type=PATH)
@click.option(
    "-r", "--rank", type=int, metavar="N", help="Columns of U and rows of V.  [default: 10, less for a small matrix]"
)
@click.option("-U", "U", metavar="SPEC", default="none", show_default=True, help="H on U, as in 'l1(0.01)'.")
@click.option("-V", "V", metavar="SPEC", default="none", show_default=True, help="H on V, as in 'nonneg'.")
@click.option("--kernel", metavar="SPEC", default="auto", show_default=True, help="auto, paper, tight or fixed.")
@click.option("--method", metavar="SPEC", default="auto", show_default=True, help="As in 'aapb(beta=0.6, step=1)'.")
@click.option("--start", metavar="SPEC", help="First factors, scaled-random or tsvd.  [default: scaled-random]")
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="For a random start."
)
@click.option("--max-iterations", metavar="N", type=click.IntRange(min=0), help="Stop after that many iterations.")
@click.option("--max-seconds", metavar="S", type=click.FloatRange(min=0), help="Stop after that much time.")
@click.option(
    "--tolerance", metavar="X", type=click.FloatRange(min=0), help="Stop at this relative error or stationarity."
)
@click.option("--stop", metavar="SPEC", multiple=True, help="Stop by a rule, as in 'plateau(1e-6)'. Repeat for more.")
@click.option(
    "--plugin", metavar="PY", type=PATH, multiple=True, help="Load this Python file as a plugin. Repeat for more."
)
@click.option("--dask", metavar="ADDRESS", help="Run on a dask cluster: tcp://host:port, or 'local' to start one here.")
@click.option("--out", metavar="DIR", type=PATH, help="Write factors.npz, history.csv and run.json there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
@click.pass_context
def solve(
    context: click.Context,
    /,
    file: Path | None,
    plugin: Sequence[Path],
    out: Path | None,
    as_json: bool,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Find U and V of low rank with max(0, UV) close to the non-negative matrix in FILE.

    FILE is .npy, .npz, .mtx, .mtx.gz, .mat, .csv, .tsv or .txt. Without FILE a built-in matrix is solved, the
    Mycielskian graph of order 9. Without a stop option the run ends at a plateau; without a limit, after 1000
    iterations. Ctrl-C ends it with the best result so far. A SPEC is a name that 'bregopt plugins' lists, with
    arguments if it takes any.

    \b
    Examples:
      bregopt solve faces.mat -r 50 -V 'l1(0.015)' --max-seconds 20
      bregopt solve counts.mtx --stop 'relative-error(0.01)' --stop 'max-products(900)' --out run1
    """
    from bregopt.cli.output import check_folder, write_run
    from bregopt.cli.perform import perform
    from bregopt.cli.summary import row, summary

    if quiet:
        warnings.simplefilter("ignore")
    if out is not None:
        check_folder(out)
    for path in plugin:
        bregopt.load_plugin(path)
    silent = quiet or as_json
    run = perform(file, dashboard=not silent, progress=not (silent or no_progress), **options)
    try:
        if out is not None:
            write_run(out, run, context.params)
    finally:
        if as_json:
            click.echo(json.dumps(run.as_json(), indent=2, allow_nan=False))
        elif not quiet:
            click.echo(summary(run))
    if out is not None and not (as_json or quiet):
        click.echo(row("Written", f"{out}: factors.npz, history.csv, run.json"))
    context.exit(EXIT_CODES.get(run.result.status, 0))
