"""Several starts of one problem as a race: those that fall behind are left, and the best one is returned."""

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import final

from attrs import astuple, define, evolve, field

from bregopt.compile_clock import clock
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result, StartRecord
from bregopt.engine.solve import Course
from bregopt.engine.state import Counts
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

FIRST, GROWTH = 40.0, 2.0
"""Products of the leader in the first round, and how many times as many they are in each further one."""
SCOUTING, DECIDING, KNOWN = 0.25, 0.5, 0.65
"""The part of a run after which the last rival is left: before its length is found, after that, where it is known."""
PRODUCTS, ITERATIONS = "products", "iteration"
"""What a run is measured in, as columns of its history."""
FAILED = (Status.NOT_FINITE, Status.DIVERGED)
ALL_END = (Status.MAX_SECONDS, Status.INTERRUPTED)
"""Verdicts that are not about one start."""


@final
@define(eq=False)
class StartedRun:
    """One of the starts, with its run as far as it came."""

    seed: int
    prepare: Callable[[], Course]
    """called when its turn comes"""
    unit: str = PRODUCTS
    course: Course | None = None
    verdict: Verdict | None = None
    _left: float = field(init=False, default=0.0)

    def advance(self, amount: float, stop: StopRule, observers: Sequence[Observer], until: float = math.inf) -> None:
        """Go on from where it was left, to so many products or iterations, to its end, or to a moment."""
        course = self.present()
        if not course.begun:
            course.begin()
            self.verdict = course.judge(stop, observers)
        while not self.arrived(amount) and time.monotonic() < until:
            self.verdict = course.advance() or course.judge(stop, observers)
        self.leave()

    def present(self) -> Course:
        """The run; the time since it was left is none of its own."""
        if self.course is None:
            self.course = self.prepare()
        else:
            self.course.pass_over(clock() - self._left)
        self.leave()
        return self.course

    def leave(self) -> None:
        """Let the time from now on be none of its own."""
        self._left = clock()

    def arrived(self, amount: float) -> bool:
        return self.verdict is not None or self.amount >= amount

    @property
    def amount(self) -> float:
        """How far it is; 0 before it has begun."""
        return self.course.recorder.columns[self.unit][-1] if self.course is not None and self.course.begun else 0.0

    def lowest(self, amount: float = math.inf) -> float:
        """The lowest Φ of its states up to the first one that is so far."""
        if self.course is None or (self.verdict is not None and self.verdict.status in FAILED):
            return math.inf
        if not self.course.method.minimises_phi:
            return self.course.state.objective
        columns = self.course.recorder.columns
        upto = bisect_left(columns[self.unit], amount)
        return min(columns["objective"][: upto + 1])


@final
@define(eq=False)
class WholeClock(StopRule):
    """A rule that sees the seconds of all starts in the place of those of one."""

    rule: StopRule
    before: float = 0.0
    _begin: float = field(init=False, factory=clock)

    @property
    def certain(self) -> bool:
        return self.rule.certain

    @property
    def seconds(self) -> float:
        return self.before + clock() - self._begin

    def judge(self, progress: Progress) -> Verdict | None:
        return self.rule.verdict(evolve(progress, seconds=self.seconds))


Advance = Callable[[Sequence[StartedRun], float], None]
"""Lets some runs go on, each to so many products or iterations, or to its end."""


def race(runs: Sequence[StartedRun], advance: Advance, length: float | None = None) -> None:
    """Successive rejects: of k + 1 starts the worst is left at the part ``c/k`` of a run, for k = n − 1, …, 1.

    Where nobody knows how long a run is but the rule that ends it, the length grows until the leader has come to its
    end. Then it is known, and the race is held again for that length, from where each start was left.
    """
    part, limit = (DECIDING, FIRST) if length is None else (KNOWN, length)
    while length is None and not is_over(runs):
        leader = _leader(runs, limit, SCOUTING, advance)
        advance([leader], limit)
        limit *= GROWTH
        length = None if leader.verdict is None else leader.amount
    last = _leader(runs, length or 0.0, part, advance)
    while not is_over(runs):
        advance([last], math.inf)
        last = min(runs, key=lambda run: run.lowest())
        if last.verdict is not None:  # else it was left behind, and yet is lower than those that went on
            return


def _leader(runs: Sequence[StartedRun], length: float, part: float, advance: Advance) -> StartedRun:
    """The one that is left over; of equals the first."""
    alive = list(runs)
    for k in range(len(runs) - 1, 0, -1):
        amount = part * length / k
        advance(alive, amount)
        if is_over(runs):
            break
        alive = sorted(alive, key=lambda run: run.lowest(amount))[:k]
    return alive[0]


def is_over(runs: Sequence[StartedRun]) -> bool:
    """Whether the time of all has ended, or Ctrl-C was pressed."""
    return any(_ended_all(run.verdict) for run in runs)


def _ended_all(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.status in ALL_END


def in_turn(stop: StopRule, observers: Sequence[Observer]) -> Advance:
    """One start after the other, here."""

    def advance(runs: Sequence[StartedRun], amount: float) -> None:
        for run in runs:
            if not is_over(runs):
                run.advance(amount, stop, observers)

    return advance


def best_of(runs: Sequence[StartedRun], whole: WholeClock, remarks: tuple[str, ...] = ()) -> Result:
    """The result of the best start; its counts and seconds are those of all."""
    begun = [(run, run.course) for run in runs if run.course is not None]
    winner, course = min(begun, key=lambda pair: pair[0].lowest())
    verdicts = [run.verdict for run, _ in begun if run.verdict is not None and _ended_all(run.verdict)]
    result = course.result(winner.verdict or course.judge(whole, ()) or verdicts[0])
    counts = [result.counts if it is course else it.iteration.counts for _, it in begun]
    starts = tuple(
        StartRecord(
            seed=run.seed,
            objective=result.objective if run is winner else it.best.objective,
            iterations=it.state.iteration,
            products=count.products,
            ended=run.verdict is not None and not _ended_all(run.verdict),
        )
        for (run, it), count in zip(begun, counts, strict=True)
    )
    notes = (_told(winner.seed, starts, len(runs)), *remarks, *result.notes)
    return evolve(
        result,
        counts=Counts(*(sum(column) for column in zip(*map(astuple, counts), strict=True))),
        seconds=whole.seconds,
        certificate=evolve(result.certificate, notes=notes),
        starts=starts,
    )


def _told(best: int, starts: Sequence[StartRecord], asked: int) -> str:
    """How the best one compares with the others."""
    others = [it.objective for it in starts if it.seed != best]
    own = next(it.objective for it in starts if it.seed == best)
    told = f"Best of {asked} starts: seed {best} with Φ = {own:.6g}"
    if len(starts) < asked:
        told += f"; {asked - len(starts)} were not begun"
    if others:
        ended = sum(it.ended for it in starts)
        told += f"; the others came to between {min(others):.6g} and {max(others):.6g}, and {ended} ran to the end"
    return f"{told}. The history is that of the best one."
