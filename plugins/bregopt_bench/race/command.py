"""``bregopt bench race``: methods against each other on the same problems, at equal products and equal seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import bregopt
from bregopt_bench.display import plot_option, plugin_option, print_machine, status_line
from bregopt_bench.measuring import machine
from bregopt_bench.race.cases import Budgets, cases, compare, matrix
from bregopt_bench.race.entrants import OURS, check_names
from bregopt_bench.race.plot import plot_race
from bregopt_bench.race.report import print_comparison, print_totals, race_json

INTERRUPTED = 130
DEFAULT_MATRIX = "mycielskian(9)"
POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command(short_help="Methods against each other, at equal products and equal seconds.")
@click.argument("matrices", metavar="[MATRIX]...", nargs=-1)
@click.option(
    "-r",
    "--rank",
    "ranks",
    metavar="N",
    type=click.IntRange(1),
    multiple=True,
    help="Of U and V, where the problem has one; repeat for more.  [default: 10, less for a small matrix]",
)
@click.option(
    "--problem",
    metavar="SPEC",
    default="relu-nmd",
    show_default=True,
    help="What is solved, as in 'nmf', 'robust-pca(d=0.5)' or 'low-rank(loss=huber(0.5))'.",
)
@click.option(
    "settings",
    "--set",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the problem, as in 'held_out=0.2' or 'mask=known.npy'. Repeat for more.",
)
@click.option("-U", "U", metavar="SPEC", help="H on U, as in 'l1(0.01)'.  [default: the problem's own]")
@click.option("-V", "V", metavar="SPEC", help="H on V, as in 'nonneg'.  [default: the problem's own]")
@click.option(
    "--on", metavar="BLOCK=SPEC", multiple=True, help="H on another block, as in 'a=ridge(0.1)'. Repeat for more."
)
@click.option("--kernel", metavar="SPEC", help="auto, paper, tight or fixed.  [default: the problem's own]")
@click.option(
    "--method",
    "methods",
    metavar="SPEC",
    multiple=True,
    help="Who takes part; repeat for more.  [default: aapb and the rivals that take the problem]",
)
@click.option(
    "--ours", metavar="NAME", multiple=True, help="Methods held against all others.  [default: bregopt's own]"
)
@click.option("--seeds", metavar="N", type=click.IntRange(1), default=3, show_default=True, help="Runs of each method.")
@click.option(
    "--start",
    "starts",
    metavar="SPEC",
    multiple=True,
    help="First factors, such as scaled-random or tsvd; repeat for more.  [default: the problem's own]",
)
@click.option(
    "--products",
    metavar="N",
    type=POSITIVE,
    multiple=True,
    default=(300, 900),
    help="A budget at which methods are compared; repeat for more.  [default: 300 and 900]",
)
@click.option(
    "--seconds",
    metavar="S",
    type=POSITIVE,
    multiple=True,
    help="A budget by the clock.  [default: the time of the fastest method for its products]",
)
@click.option("--max-seconds", metavar="S", type=POSITIVE, help="Stop a run after that much time.")
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every curve.")
@plot_option
@click.pass_context
def race(
    context: click.Context,
    /,
    matrices: Sequence[str],
    ranks: Sequence[int],
    methods: Sequence[str],
    ours: Sequence[str],
    seeds: int,
    starts: Sequence[str],
    products: Sequence[float],
    seconds: Sequence[float],
    max_seconds: float | None,
    plugins: Sequence[Path],
    as_json: bool,
    plot: Path | None,
    problem: str,
    **options: Any,
) -> None:
    """Run methods on the same problems from the same starts, and compare the objectives they reach.

    MATRIX is a file as for 'bregopt solve', 'mycielskian(11)' for a graph, or 'synthetic(1500, 500, 10)' for
    max(0, UV) with Gaussian factors of rank 10; without one it is 'mycielskian(9)'. Every matrix, rank and start makes
    a row of the race. --problem, --set, -U, -V and --on say what is solved, as for 'bregopt solve'.

    Beside the methods that 'bregopt plugins' lists there are l-bfgs-b, scipy's, on the reduced function, where H is 0
    or a ridge; and pyproximal-palm, where the problem is ReLU-NMD and pyproximal is installed. A method that refuses
    the problem is listed below the table with its reason. Ctrl-C ends the race with what is there so far.

    \b
    Examples:
      bregopt bench race -r 10 -r 20 -U 'l1(0.01)' -V 'l1(0.015)' --plot race.png
      bregopt bench race faces.mat 'mycielskian(11)' --method aapb --method l-bfgs-b --start tsvd --products 600
      bregopt bench race counts.mtx --problem nmf -r 20
    """
    if max_seconds is not None and any(budget > max_seconds for budget in seconds):
        raise click.UsageError(f"--seconds {max(seconds):g} is beyond --max-seconds {max_seconds:g}.")
    for path in plugins:
        bregopt.load_plugin(path)
    check_names(methods, ours)
    ours = ours or OURS
    budgets = Budgets(sorted(set(products)), sorted(set(seconds)), max_seconds)
    solve: Any = context.find_root().command.get_command(context, "solve")  # type: ignore[attr-defined]  # a Group
    model = solve.model(problem, rank=ranks[0] if ranks else None, **options)
    first = {spec: bregopt.make("start", spec) for spec in starts}
    facts = machine()
    with status_line(not as_json) as show:
        show("reading the matrices, and trying the methods on them")
        read = {name: matrix(name, model) for name in matrices or (DEFAULT_MATRIX,)}
        found = list(cases(read, model, ranks, first, seeds, methods))
        comparisons, interrupted = compare(found, budgets, show)
    if not comparisons:
        raise click.Abort
    if plot is not None:
        plot_race(plot, comparisons, ours, facts)
    if as_json:
        click.echo(race_json(comparisons, {**context.params, "ours": ours}, facts, interrupted))
    else:
        print_machine(facts)
        for comparison in comparisons:
            print_comparison(comparison, ours)
        print_totals(comparisons, ours)
    if interrupted:
        click.echo("bregopt: interrupted: Ctrl-C ended the race; what was complete is shown.", err=True)
        context.exit(INTERRUPTED)
