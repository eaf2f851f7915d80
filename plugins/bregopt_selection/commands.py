"""``bregopt rank`` and ``bregopt weights``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import bregopt
from bregopt.errors import ParameterError
from bregopt_selection.curve import Curve
from bregopt_selection.paths import ITERATIONS, SEEDS, SHARE, rank_curve, weight_path
from bregopt_selection.picture import check_picture

INTERRUPTED = 130
PATH = click.Path(path_type=Path)
PER_DECADE = 2
"""Weights in each factor of ten, where no number is given."""

PROBLEM = (
    click.option("--header/--no-header", default=None, help="Whether the first line of a text file names the columns."),
    click.option("--index/--no-index", default=None, help="Whether the first column of a text file names the rows."),
    click.option(
        "--problem",
        metavar="SPEC",
        default="relu-nmd",
        show_default=True,
        help="What is solved, as in 'nmf' or 'low-rank(loss=huber(0.5))'.",
    ),
    click.option(
        "settings", "--set", metavar="NAME=VALUE", multiple=True, help="A parameter of the problem. Repeat for more."
    ),
    click.option("-U", "U", metavar="SPEC", help="H on U, as in 'ridge(0.1)'.  [default: the problem's own]"),
    click.option("-V", "V", metavar="SPEC", help="H on V, as in 'nonneg'.  [default: the problem's own]"),
    click.option("--on", metavar="BLOCK=SPEC", multiple=True, help="H on another block. Repeat for more."),
    click.option("--kernel", metavar="SPEC", help="Of the Bregman step.  [default: the problem's own]"),
)
SEARCH = (
    click.option(
        "--seeds",
        metavar="N",
        type=click.IntRange(1),
        default=SEEDS,
        show_default=True,
        help="Times entries are drawn.",
    ),
    click.option(
        "--share",
        metavar="X",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=SHARE,
        show_default=True,
        help="Of the known entries, to be held out.",
    ),
    click.option("--method", metavar="SPEC", default="auto", show_default=True, help="As in 'bregopt solve'."),
    click.option(
        "--max-iterations",
        metavar="N",
        type=click.IntRange(1),
        default=ITERATIONS,
        show_default=True,
        help="Of each fit, which ends at a plateau too.",
    ),
    click.option("--max-seconds", metavar="S", type=click.FloatRange(0, min_open=True), help="Of each fit."),
    click.option("--cold", is_flag=True, help="Start each fit at random only, not also from the fit before."),
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1),
        help="Processes that share the seeds.  [default: one a processor]",
    ),
    click.option(
        "--plugin", "plugins", metavar="PY", type=PATH, multiple=True, help="Load this Python file as a plugin."
    ),
    click.option("--out", metavar="DIR", type=PATH, help="Keep every finished fit there; the same command goes on."),
    click.option("--plot", metavar="FILE", type=PATH, help="Draw a .png, .svg or .pdf; needs matplotlib."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("--no-progress", is_flag=True, help="Show no progress bar."),
)


def _with(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def ranks_of(text: str) -> list[int]:
    """``2:30``, ``2:30:4`` or ``2,5,10``: both ends are among them."""
    try:
        if ":" not in text:
            return [int(part) for part in text.split(",")]
        first, last, *step = (int(part) for part in text.split(":"))
        found = list(range(first, last + 1, *step)) if len(step) < 2 else []
    except ValueError:
        found = []
    if not found:
        raise ParameterError(f"-r {text!r} names no ranks: write '2:30' for 2 to 30, '2:30:4' or '2,5,10'.")
    return found


def weights_of(text: str) -> list[float]:
    """``1:0.001`` or ``1:0.001:7``, equal ratios and both ends among them; or ``1,0.5,0.1``."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        first, last, *number = text.split(":")
        ends = float(first), float(last)
        default = 1 + round(PER_DECADE * abs(np.log10(ends[0] / ends[1]))) if min(ends) > 0 else 0
        count = int(number[0]) if number else max(default, 2)
        found = np.geomspace(*ends, count).tolist() if min(ends) > 0 and len(number) < 2 and count > 0 else []
    except ValueError:
        found = []
    if not found or not np.isfinite(found).all():
        raise ParameterError(f"-w {text!r} names no weights: write '1:0.001', '1:0.001:7' or '1,0.5,0.1'.")
    return [float(f"{weight:.4g}") for weight in found]


@click.command(short_help="Choose the rank by entries that the fit does not see.")
@click.argument("file", type=PATH)
@click.option("-r", "--ranks", metavar="A:B", required=True, help="As in '2:30', '2:30:4' or '2,5,10'.")
@_with(PROBLEM)
@_with(SEARCH)
@click.pass_context
def rank(context: click.Context, /, file: Path, ranks: str, **options: Any) -> None:
    """Fit the matrix in FILE at each rank, and tell which rank predicts best what the fit did not see.

    A tenth of the entries, drawn at random, is held out of each fit; the error on them is the held-out error. That is
    done for several seeds. The rank that is named is the smallest one whose error is above the least one by no more
    than a standard error. Ctrl-C ends the search with what is there; with --out the same command goes on later.

    \b
    Examples:
      bregopt rank counts.mtx -r 2:30 --plot rank.png
      bregopt rank ratings.mtx --problem completion -U 'ridge(1)' -V 'ridge(1)' -r 1:10 --out ranks
    """
    tried = ranks_of(ranks)

    def search(name: str, M: Any, **given: Any) -> Curve:
        return rank_curve(name, M, tried, **given)

    _run(context, file, search, None, **options)


@click.command(short_help="Choose the weight of a regularizer by entries that the fit does not see.")
@click.argument("file", type=PATH)
@click.option("-w", "--weights", metavar="A:B", required=True, help="As in '1:0.001', '1:0.001:7' or '1,0.5,0.1'.")
@click.option("-H", "H", metavar="SPEC", default="l1", show_default=True, help="The regularizer without its weight.")
@click.option("--blocks", metavar="U,V", default="U,V", show_default=True, help="The blocks that it is on.")
@click.option("-r", "--rank", type=int, metavar="N", help="Of U and V.  [default: 10, less for a small matrix]")
@_with(PROBLEM)
@_with(SEARCH)
@click.pass_context
def weights(
    context: click.Context, /, file: Path, weights: str, H: str, blocks: str, rank: int | None, **options: Any
) -> None:
    """Fit the matrix in FILE at each weight of a regularizer, from large to small, and tell which predicts best.

    Beside the held-out error stands the share of zeros in each block. The weight that is named is the largest one whose
    error is above the least one by no more than a standard error. See 'bregopt rank' for the rest.

    \b
    Examples:
      bregopt weights faces.mat -r 20 -U 'ridge(1)' -w 1:0.001 --blocks V --plot weights.png
      bregopt weights ratings.mtx --problem completion -r 5 -H ridge -w 10:0.1
    """
    tried = weights_of(weights)
    on = tuple(block.strip() for block in blocks.split(",") if block.strip())

    def search(name: str, M: Any, **given: Any) -> Curve:
        return weight_path(name, M, H=H, weights=tried, blocks=on, **given)

    _run(context, file, search, rank, **options)


def _run(
    context: click.Context,
    file: Path,
    search: Callable[..., Curve],
    rank: int | None,
    *,
    problem: str,
    plugins: tuple[Path, ...],
    plot: Path | None,
    as_json: bool,
    cold: bool,
    no_progress: bool,
    out: Path | None,
    seeds: int,
    share: float,
    method: str,
    max_iterations: int,
    max_seconds: float | None,
    jobs: int | None,
    header: bool | None,
    index: bool | None,
    **options: Any,
) -> None:
    """Read, search, and show."""
    for path in plugins:
        bregopt.load_plugin(path)
    if plot is not None:
        check_picture(plot)
    bregopt.make("method", method)
    solve: Any = context.find_root().command.get_command(context, "solve")  # type: ignore[attr-defined]  # a Group
    model = solve.model(problem, rank=rank, **options)
    M = model.read_labelled(file, header, index).matrix
    given = {name: model.read(it) if isinstance(it, Path) else it for name, it in model.given.items()}
    if context.info_name == "weights" and (chosen := model.rank(M.shape)) is not None:
        given["rank"] = chosen
    curve = search(
        model.name,
        M,
        seeds=seeds,
        share=share,
        method=method,
        warm=not cold,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        jobs=jobs,
        out=out,
        progress=not (as_json or no_progress),
        plugins=plugins,
        **given,
    )
    if as_json:
        click.echo(json.dumps({"file": str(file), **curve.as_json()}, indent=2, allow_nan=False))
    else:
        click.echo(f"{curve.answer()}\n\n{curve.table()}")
    if plot is not None:
        curve.plot(plot)
    if curve.interrupted:
        go_on = f"the same command goes on from {out}" if out else "with --out DIR it could go on from there"
        click.echo(f"bregopt: interrupted: Ctrl-C ended the search; {go_on}.", err=True)
        context.exit(INTERRUPTED)
