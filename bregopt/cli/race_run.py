"""Every run of a race, seed by seed and method by method, until the budgets are used or Ctrl-C is pressed."""

from collections.abc import Sequence
from typing import final

from attrs import frozen

import bregopt
from bregopt.cli.interrupt import Interrupt
from bregopt.cli.notice import Notice
from bregopt.cli.race_course import Course
from bregopt.cli.race_curve import Curve, curve
from bregopt.cli.race_heat import Heat
from bregopt.host.spec import Spec
from bregopt.rules.stopping import Status, StopRule


@final
@frozen
class Budgets:
    """Products and seconds at which methods are compared, in rising order, and the limit on the seconds of a run."""

    products: Sequence[float]
    seconds: Sequence[float] = ()
    limit: float | None = None

    def rule(self) -> StopRule:
        """Every budget is used up, unless the limit comes first."""
        rule = _stop("max-products", self.products[-1])
        if self.seconds:
            rule &= _stop("max-seconds", self.seconds[-1])
        return rule if self.limit is None else rule | _stop("max-seconds", self.limit)


def heats(courses: Sequence[Course], budgets: Budgets, show: Notice) -> tuple[list[Heat], bool]:
    """What came of every course, and whether Ctrl-C ended the race early."""
    interrupt = Interrupt()
    stop = interrupt | budgets.rule()
    tasks = [
        (course, seed, Y, entrant)
        for course in courses
        for seed, Y in enumerate(course.points)
        for entrant in course.field.entrants
    ]
    runs: list[tuple[Course, str, Curve]] = []
    with interrupt.listening(lambda: show("stopping after this iteration (Ctrl-C again: at once)")):
        for number, (course, seed, Y, entrant) in enumerate(tasks, 1):
            where = "{matrix}, rank {rank}, {start} start".format(**course.facts)
            show(f"run {number} of {len(tasks)}: {entrant.name} on {where}, seed {seed}")
            run = curve(entrant.run(course.problem, Y, stop), seed)
            if run.status is Status.INTERRUPTED:
                break
            runs.append((course, entrant.name, run))
    grouped = [(course, _curves(course, [run[1:] for run in runs if run[0] is course])) for course in courses]
    return [_heat(course, curves, budgets) for course, curves in grouped if curves], len(runs) < len(tasks)


def _curves(course: Course, runs: Sequence[tuple[str, Curve]]) -> dict[str, list[Curve]]:
    """By method; after Ctrl-C only the seeds that every method has run, unless there is none yet."""
    curves: dict[str, list[Curve]] = {}
    for name, run in runs:
        curves.setdefault(name, []).append(run)
    common = min((len(curves.get(entrant.name, ())) for entrant in course.field.entrants), default=0)
    return {name: found[:common] if common else found for name, found in curves.items()}


def _heat(course: Course, curves: dict[str, list[Curve]], budgets: Budgets) -> Heat:
    return Heat(
        facts=course.facts,
        curves=curves,
        skipped=course.field.skipped,
        notes=course.field.notes,
        products=budgets.products,
        given_seconds=budgets.seconds,
    )


def _stop(name: str, number: float) -> StopRule:
    rule: StopRule = bregopt.make("stop", Spec(name, (number,)))
    return rule
