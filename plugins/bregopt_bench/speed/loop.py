"""``bregopt bench loop``: iterations of the library against a loop written by hand in NumPy, iterate for iterate."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import bregopt
from bregopt.errors import IncompatibleError
from bregopt_bench.display import (
    json_option,
    milliseconds,
    plugin_option,
    print_machine,
    print_table,
    ratio,
    repeats_option,
    shape_columns,
    status_line,
)
from bregopt_bench.measuring import best_seconds, machine
from bregopt_bench.speed.losses import TimedLoss, drawn_for
from bregopt_bench.speed.matrices import BETA, METHOD, Size, size_type
from bregopt_bench.speed.plain_loop import PlainLoop, numpy_code

SIZE = Size(1000, 800, 20)
METHODS = {"aapb": METHOD, "apb": "apb", "palm": "palm"}
LOSSES = ("relu", "bounded-relu", "least-squares", "huber", "one-bit", "logistic")
ETA = 0.01
AGREES = 1e-8
"""How far the factors may be apart, against the largest of their entries."""
NOTE = (
    "An iteration in ms, with the objective. plain: by a loop written by hand in NumPy, which needs four products for "
    "aapb and palm where the library needs three. library/plain: below 1 the library is the faster one. apart: the "
    "largest difference of the factors after {iterations} iterations, against their largest entry. Times are the best "
    "of {repeats} rounds of {iterations} iterations."
)


@click.command(short_help="Iterations of the library against a loop written by hand in NumPy.")
@click.option(
    "--loss",
    "losses",
    metavar="SPEC",
    multiple=True,
    default=LOSSES,
    help=f"As 'huber(0.5)'; repeat for more.  [default: {', '.join(LOSSES)}]",
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(list(METHODS)),
    multiple=True,
    default=("aapb",),
    show_default=True,
    help="Repeat for more.",
)
@click.option(
    "--size",
    "sizes",
    metavar="MxN:r",
    type=size_type(density=False),
    multiple=True,
    help=f"A random dense M; repeat for more.  [default: {SIZE.spec}]",
)
@click.option("--iterations", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Of each loop.")
@click.option(
    "--l1",
    "eta",
    metavar="ETA",
    type=click.FloatRange(0),
    default=ETA,
    show_default=True,
    help="H is ETA·(|U|₁ + |V|₁).",
)
@plugin_option
@repeats_option
@json_option
def loop(
    losses: Sequence[str],
    methods: Sequence[str],
    sizes: Sequence[Size],
    iterations: int,
    eta: float,
    plugins: Sequence[Path],
    repeats: int,
    as_json: bool,
) -> None:
    """Time iterations of aapb with a constant β, of apb or palm, against a loop of the same iterations in plain NumPy.

    The loop is what a researcher would write for this loss alone. Both have to reach the same factors, to eight digits.
    A loss of your own, loaded by --plugin, needs 'arrays', or an 'entry' that takes arrays as well as numbers.

    \b
    Examples:
      bregopt bench loop
      bregopt bench loop --loss logistic --size 2000x1500:30
      bregopt bench loop --loss relu --method apb --method palm --size 60x40:4
      bregopt bench loop --plugin my_loss.py --loss my-loss
    """
    for path in plugins:
        bregopt.load_plugin(path)
    for spec in losses:
        bregopt.make("loss", spec)  # refused before anything is measured
    facts = machine()
    with status_line(not as_json) as show:
        rows = []
        for size in sizes or (SIZE,):
            for method, spec in itertools.product(methods, losses):
                show(f"measuring {method}, {spec}, {size}, rank {size.rank}")
                timed = drawn_for(spec, size, "float64", None, False)
                rows.append(loop_row(timed, eta, iterations, repeats, method))
    if as_json:
        record = {"machine": facts, "repeats": repeats, "iterations": iterations, "l1": eta, "rows": rows}
        click.echo(json.dumps(record, indent=2, allow_nan=False))
        return
    print_machine(facts)
    print_loops(rows, iterations, repeats)


def loop_row(timed: TimedLoss, eta: float, iterations: int, repeats: int, method: str = "aapb") -> dict[str, Any]:
    """Seconds of an iteration by both loops, which have to agree."""
    code, H = numpy_code(timed), f"l1({eta!r})" if eta else "none"
    rest = {"rank": timed.matrix.rank, "loss": timed.spec, "upper": timed.upper}
    kernel = "paper" if method == "aapb" else "auto"
    problem = bregopt.compose("low-rank", timed.matrix.M, U=H, V=H, kernel=kernel, **rest)
    run = bregopt.iterate(problem, method=METHODS[method])
    Y = next(run).Y
    begin = run.moment()
    b = problem.kernel.pick(reduced=True).sample().strong_convexity
    plain = PlainLoop(code, timed.matrix.M, timed.loss.bound, BETA, eta, Y, b)

    def library() -> Any:
        with run.working():  # as in a run
            run.go_on_from(begin)
            for _ in range(iterations - 1):
                next(run)
            return next(run).Y

    def by_hand() -> Any:
        return plain.run(method, iterations)

    apart = difference(library(), by_hand()[:2])
    if not apart <= AGREES:
        raise IncompatibleError(f"The loops differ by {apart:.1e} for the loss {timed.spec!r}: one of them is wrong.")
    seconds = best_seconds({"library": _task(library)}, {"plain": _task(by_hand)}, repeats=repeats)
    library_seconds, plain_seconds = (seconds[name] / iterations for name in ("library", "plain"))
    return {
        **timed.facts(problem),
        "method": method,
        "library_seconds": library_seconds,
        "plain_seconds": plain_seconds,
        "library_over_plain": library_seconds / plain_seconds,
        "apart": apart,
    }


def _task(work: Callable[[], Any]) -> Callable[[], Callable[[], Any]]:
    return lambda: work


def difference(Y: Any, factors: Sequence[Any]) -> float:
    """The largest difference of two pairs of factors, against the largest entry."""
    pairs = list(zip((Y.U, Y.V), factors, strict=True))
    largest = max(float(np.abs(ours).max()) for ours, _ in pairs)
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs) / largest


def print_loops(rows: Sequence[dict[str, Any]], iterations: int, repeats: int) -> None:
    shown = [
        {
            "method": row["method"],
            "loss": row["loss"],
            **shape_columns(row),
            "plain": milliseconds(row["plain_seconds"]),
            "library": milliseconds(row["library_seconds"]),
            "library\n/plain": ratio(row["library_over_plain"]),
            "apart": f"{row['apart']:.0e}",
        }
        for row in rows
    ]
    print_table(shown, NOTE.format(iterations=iterations, repeats=repeats))
