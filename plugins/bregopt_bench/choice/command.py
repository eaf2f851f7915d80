"""``bregopt bench choice``: how near ``auto`` comes to the best method, on matrices that it was not chosen by."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import click
import numpy as np
from attrs import evolve, frozen

import bregopt
from bregopt import Array, ResolvedProblem, Status
from bregopt.errors import BregoptError
from bregopt_bench.choice.generated import PENALTIES, SIZES, Drawn, drawn, penalty
from bregopt_bench.display import json_option, print_machine, print_table, status_line
from bregopt_bench.measuring import machine
from bregopt_bench.race.cases import AtRest

OURS = (
    *("aapb", "bella", "ecd", "els", "aals", "masked-newton", "hybrid", "hybrid(els)"),
    *("bpalm(inertia=true)", "nipalm", "support-search"),
)
NEAR, FAST, SAME = 1.01, 1.3, 1.001
"""Within 1 % of the best objective, within 1.3 times the seconds, to within 0.1 % of the objective of ``auto``."""
WARM = 90.0
"""Products of the runs before those that are timed, long enough for the first trial of ``auto``."""
RUNS, SHORT = 3, 0.5
"""How often a run is made that takes fewer seconds."""
NOTE = (
    "rows: matrices × penalties. near: rows on which auto is within 1 % of the lowest objective of all methods, at so "
    "many products. fast: rows on which auto comes within 0.1 % of its last objective in at most 1.3 times the seconds "
    "of the fastest method to do so; seconds are those of the processor. Of the forty matrices, those of the half "
    "'{half}' were used."
)


@final
@frozen(eq=False)
class Course:
    """A run: the lowest Φ so far by products and by seconds of the processor."""

    products: Array
    seconds: Array
    lowest: Array

    def at(self, budget: float) -> float:
        """The lowest Φ for so many products."""
        return float(self.lowest[max(int(np.searchsorted(self.products, budget, side="right")) - 1, 0)])

    def time_to(self, objective: float) -> float:
        """The seconds to an objective; infinite where it is never reached."""
        there = np.flatnonzero(self.lowest <= objective)
        return float(self.seconds[there[0]]) if there.size else float("inf")


@click.command(short_help="How near 'auto' comes to the best method on generated matrices.")
@click.option(
    "--half",
    type=click.Choice(["report", "choose"]),
    default="report",
    show_default=True,
    help="The matrices that its constants were not chosen by, or those that they were.",
)
@click.option("--size", "sizes", type=click.Choice(list(SIZES)), multiple=True, help="Repeat for more.  [default: all]")
@click.option(
    "-H", "penalties", type=click.Choice(PENALTIES), multiple=True, help="On U and V; repeat for more.  [default: all]"
)
@click.option(
    "--products",
    "budgets",
    type=click.FloatRange(1),
    multiple=True,
    default=(150.0, 600.0),
    show_default=True,
    help="Budgets at which objectives are compared.",
)
@click.option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="Of each run."
)
@click.option("--rows", "all_rows", is_flag=True, help="Show every row, with the method that was best.")
@json_option
def choice(
    half: str,
    sizes: Sequence[str],
    penalties: Sequence[str],
    budgets: Sequence[float],
    max_seconds: float,
    all_rows: bool,
    as_json: bool,
) -> None:
    """Run 'auto' and every method of this library on generated matrices, from the same start.

    \b
    Examples:
      bregopt bench choice --size tiny --size small
      bregopt bench choice -H l1 --rows
    """
    facts, budgets = machine(), sorted(budgets)
    with status_line(not as_json) as show:
        rows, met = [], set()
        for given, H, problem, stored in _problems(half, sizes or tuple(SIZES), penalties or PENALTIES):
            show(f"{given.name}, {H}")
            if (given.size, H, stored) not in met:  # what is compiled is loaded, whoever comes first
                met.add((given.size, H, stored))
                _courses(problem, WARM, max_seconds)
            rows.append({"matrix": given.name, "penalty": H, **choice_row(problem, budgets, max_seconds)})
    if as_json:
        click.echo(json.dumps({"machine": facts, "half": half, "rows": rows}, indent=2, allow_nan=False))
        return
    print_machine(facts)
    if all_rows:
        print_table([_shown(row) for row in rows], "Objectives of auto against the lowest, and which method had it.")
    print_table(_totals(rows, budgets), NOTE.format(half=half))


def _problems(
    half: str, sizes: Sequence[str], penalties: Sequence[str]
) -> Iterator[tuple[Drawn, str, ResolvedProblem, type]]:
    """Each with the type of its matrix."""
    for given in drawn():
        if given.size in sizes and given.chosen_by == (half == "choose"):
            M = given.matrix()
            for H in penalties:
                problem = bregopt.compose("relu-nmd", M, rank=given.rank, **penalty(H, M, given.rank))
                yield given, H, problem, type(M)


def choice_row(problem: ResolvedProblem, budgets: Sequence[float], max_seconds: float) -> dict[str, Any]:
    """``auto`` against the best of all methods at each budget, and against the fastest one."""
    courses = _courses(problem, budgets[-1], max_seconds)
    ours = courses.pop("auto")
    row: dict[str, Any] = {}
    for budget in budgets:
        found = {method: it.at(budget) for method, it in courses.items()}
        best = min(found, key=found.__getitem__)
        row[f"{budget:g}"] = {"over_best": _ratio(ours.at(budget), found[best]), "best": best}
    goal = SAME * ours.at(budgets[-1])
    seconds = {method: it.time_to(goal) for method, it in {**courses, "auto": ours}.items()}
    fastest = min(seconds, key=seconds.__getitem__)
    row["seconds"] = {"over_fastest": _ratio(seconds["auto"], seconds[fastest]), "fastest": fastest}
    return row


def _courses(problem: ResolvedProblem, products: float, max_seconds: float) -> dict[str, Course]:
    """Of ``auto``, and of every method that takes the problem."""
    courses = {}
    for method in ("auto", *OURS):
        try:
            courses[method] = course(problem, method, products, max_seconds)
        except BregoptError:
            continue
    return courses


def course(problem: ResolvedProblem, method: str, products: float, max_seconds: float) -> Course:
    """A run up to so many products; a short one is repeated, and each state gets the least of its seconds."""
    runs = [_run(problem, method, products, max_seconds)]
    while len(runs) < RUNS and runs[0].seconds[-1] < SHORT:
        runs.append(_run(problem, method, products, max_seconds))
    return evolve(runs[0], seconds=np.min([it.seconds for it in runs], axis=0))


def _run(problem: ResolvedProblem, method: str, products: float, max_seconds: float) -> Course:
    stop = bregopt.make("stop", "max-products", products) | AtRest()
    seconds: list[float] = []
    result = bregopt.solve(
        problem,
        method=method,
        stop=stop,
        max_seconds=max_seconds,
        on_interrupt="raise",
        observers=[lambda _: seconds.append(time.process_time())],
    )
    if result.status is Status.DIVERGED:
        raise BregoptError(result.reason)
    history = result.history
    lowest = np.minimum.accumulate(np.nan_to_num(history["objective"], nan=np.inf))
    return Course(history["products"], np.array(seconds) - seconds[0], lowest)


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs > 0 else 1.0


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    cells = {"matrix": row["matrix"], "H": row["penalty"]}
    for name, found in row.items():
        if name == "seconds":
            cells["seconds\n/fastest"] = f"{found['over_fastest']:.2f} {found['fastest']}"
        elif isinstance(found, Mapping):
            cells[f"{name}\n/best"] = f"{found['over_best']:.3f} {found['best']}"
    return cells


def _totals(rows: Sequence[Mapping[str, Any]], budgets: Sequence[float]) -> list[dict[str, str]]:
    """By penalty, and over all."""
    shown = []
    for H in (*dict.fromkeys(row["penalty"] for row in rows), "all"):
        some = [row for row in rows if H in (row["penalty"], "all")]
        cells = {"by": H, "rows": str(len(some))}
        for budget in budgets:
            near = sum(row[f"{budget:g}"]["over_best"] <= NEAR for row in some)
            cells[f"near at {budget:g}"] = f"{near} ({near / len(some):.0%})"
        fast = sum(row["seconds"]["over_fastest"] <= FAST for row in some)
        cells["fast"] = f"{fast} ({fast / len(some):.0%})"
        shown.append(cells)
    return shown
