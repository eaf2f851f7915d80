"""``bregopt bench instead``: bregopt against what one would use instead, to the same objective from the same start."""

import datetime
import json
import math
import time
from collections.abc import Callable
from typing import Any

import click

import bregopt
from bregopt_bench.display import json_option, print_machine, print_table, ratio, status_line
from bregopt_bench.instead.tasks import Task, tasks
from bregopt_bench.measuring import headline, machine

NEAR = 1e-3
LIMIT = 600.0
"""Seconds after which bregopt is taken not to reach the objective."""
NOTE = (
    "Both begin at the same point, and are timed until the objective is within 0.1 % of the last one of the peer. The "
    "peer runs with its defaults, a loop in NumPy for 100 iterations; bregopt with its defaults, the method 'auto'. "
    "Seconds are of processor time on one thread, the best of {repeats}; compiling comes before."
)


@click.command(short_help="bregopt against what one would use instead.")
@click.option("--repeats", metavar="N", type=click.IntRange(1), default=3, show_default=True, help="The best counts.")
@click.option(
    "--scale", metavar="X", type=click.FloatRange(0, min_open=True), default=1.0, help="Of the sides of the matrices."
)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option
def instead(repeats: int, scale: float, markdown: bool, as_json: bool) -> None:
    """Time bregopt against scikit-learn's NMF, L-BFGS-B of scipy, and loops written in NumPy.

    \b
    Examples:
      bregopt bench instead
      bregopt bench instead --scale 0.3 --repeats 1             smaller matrices, once
    """
    from threadpoolctl import threadpool_limits

    with status_line(not as_json) as show, threadpool_limits(1):
        facts = machine()
        rows = []
        for number, make in enumerate(tasks(scale), 1):
            show(f"making task {number}")
            task = make()
            show(f"task {number}: {task.title}, against {task.peer}")
            rows.append(measure(task, repeats))
    if as_json:
        click.echo(json.dumps({"machine": facts, "repeats": repeats, "rows": rows}, indent=2))
        return
    shown = [shown_row(row) for row in rows]
    if markdown:
        lines = [list(shown[0]), ["---"] * 2 + ["--:"] * 3, *(list(row.values()) for row in shown)]
        click.echo("\n".join(f"| {' | '.join(line)} |" for line in lines))
        click.echo(f"\n{NOTE.format(repeats=repeats)} {datetime.date.today()}: {headline(facts)}.")
        return
    print_machine(facts)
    print_table(shown, NOTE.format(repeats=repeats))


def measure(task: Task, repeats: int) -> dict[str, Any]:
    """Seconds of the peer and of bregopt to the same objective; ∞ as None where bregopt does not reach it."""
    target = (1.0 + NEAR) * task.peer_objective(task.iterations)
    needed = least(lambda iterations: task.peer_objective(iterations) <= target, task.iterations)
    ours = solve(task, target)  # compiles what it needs
    peer_seconds, seconds = math.inf, math.inf
    for _ in range(repeats):
        peer_seconds = min(peer_seconds, seconds_of(lambda: task.run(needed)))
        seconds = min(seconds, seconds_of(lambda: solve(task, target)))
    reached = ours.objective <= target
    return {
        "task": task.title,
        "peer": task.peer,
        "objective": target,
        "peer_iterations": needed,
        "peer_seconds": peer_seconds,
        "method": str(ours.method),
        "iterations": ours.iterations,
        "seconds": seconds if reached else None,
        "times_faster": peer_seconds / seconds if reached else None,
    }


def solve(task: Task, target: float) -> Any:
    """A run of bregopt to an objective."""
    stop = bregopt.make("stop", f"target({target!r})")
    return bregopt.solve(task.problem, start=task.start, stop=stop, max_iterations=100_000, max_seconds=LIMIT)


def least(holds: Callable[[int], bool], most: int) -> int:
    """The smallest number from 1 to ``most`` for which a condition holds that stays true once it is."""
    below, above = 0, 1
    while above < most and not holds(above):
        below, above = above, min(2 * above, most)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def seconds_of(work: Callable[[], object]) -> float:
    """Of processor time, which others who use the machine take no part of."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def shown_row(row: dict[str, Any]) -> dict[str, str]:
    return {
        "task": row["task"],
        "instead of": row["peer"],
        "its seconds": f"{row['peer_seconds']:.2f}",
        "bregopt's": "not reached" if row["seconds"] is None else f"{row['seconds']:.2f}",
        "times faster": ratio(row["times_faster"]),
    }
