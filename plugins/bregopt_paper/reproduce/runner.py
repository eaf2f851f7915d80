"""Runs the tasks of experiments: each once, however often the command is given, and as many of them as can be run."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import final

from attrs import define, field, frozen

import bregopt
from bregopt.errors import BregoptError
from bregopt_paper.datasets.dataset import MissingDataError
from bregopt_paper.experiments.experiment import Record, Task
from bregopt_paper.reproduce.records import Records

Show = Callable[[str, float], object]
"""Told what is being done, and the share of the work that is."""
STEADY = 5.0
"""Seconds by which the time left is steadied: the first tasks are short, and say little of the rest."""


@final
@define(eq=False)
class Outcome:
    """What came of the tasks so far."""

    records: dict[str, Record] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)
    """how long each finished task took, in this run or in an earlier one"""
    missing: dict[str, str] = field(factory=dict)
    """tasks without their data set, and what it lacks"""
    failed: dict[str, str] = field(factory=dict)
    notes: list[str] = field(factory=list)
    """records that were made anew, and why"""
    interrupted: bool = False
    """whether Ctrl-C ended the run"""

    @property
    def lacking(self) -> dict[str, str]:
        """Tasks without a record, each with the reason."""
        return {**self.missing, **self.failed}


@final
@frozen
class _Work:
    """Seconds that the tasks were said to take, and those that the finished ones took."""

    planned: float
    done: float = 0.0
    took: float = 0.0

    def after(self, task: Task, took: float) -> "_Work":
        return _Work(self.planned, self.done + task.seconds, self.took + took)

    @property
    def share(self) -> float:
        return self.done / self.planned if self.planned > 0 else 1.0

    @property
    def left(self) -> float:
        """Seconds to go, at the speed that was seen."""
        return (self.planned - self.done) * (self.took + STEADY) / (self.done + STEADY)


def finished(tasks: Sequence[Task], kept: Records) -> Outcome:
    """What earlier runs have left, without running anything."""
    outcome = Outcome()
    for task in tasks:
        found, why = kept.find(task)
        if found is not None:
            outcome.records[task.name], outcome.seconds[task.name] = found.record, found.seconds
        elif why:
            outcome.notes.append(why)
    return outcome


def run_tasks(tasks: Sequence[Task], kept: Records, show: Show) -> Outcome:
    """Run the tasks that have no record yet; Ctrl-C ends it, and what is finished stays."""
    outcome = finished(tasks, kept)
    try:
        _run([task for task in tasks if task.name not in outcome.records], outcome, kept, show)
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def _run(tasks: Sequence[Task], outcome: Outcome, kept: Records, show: Show) -> None:
    lacking = _lacking(tasks, show)
    for task in tasks:
        errors = [lacking[spec] for spec in task.datasets if spec in lacking]
        if errors:
            absent = all(isinstance(error, MissingDataError) for error in errors)
            (outcome.missing if absent else outcome.failed)[task.name] = " ".join(map(str, errors))
    ready = [task for task in tasks if task.name not in outcome.lacking]
    work = _Work(sum(task.seconds for task in ready))
    for number, task in enumerate(ready, 1):
        show(f"{number} of {len(ready)}: {task.name}, {duration(work.left)} left", work.share)
        begin = time.perf_counter()
        try:
            found = kept.keep(task, task.run(), time.perf_counter() - begin)
        except MissingDataError as error:
            outcome.missing[task.name] = str(error)
        except Exception as error:  # one that fails must not cost the others
            why = str(error) if isinstance(error, BregoptError) else f"{type(error).__name__}: {error}"
            outcome.failed[task.name] = why
            show(f"{task.name} failed: {why}", work.share)
        else:
            outcome.records[task.name], outcome.seconds[task.name] = found.record, found.seconds
        work = work.after(task, time.perf_counter() - begin)


def _lacking(tasks: Sequence[Task], show: Show) -> Mapping[str, BregoptError]:
    """The data sets that cannot be read, looked for before the first task is run."""
    lacking: dict[str, BregoptError] = {}
    for spec in dict.fromkeys(spec for task in tasks for spec in task.datasets):
        try:
            bregopt.make("dataset", spec)
        except BregoptError as error:
            lacking[spec] = error
            show(f"{spec} is left out: {error}", 0.0)
    return lacking


def duration(seconds: float) -> str:
    """As a person says it."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
