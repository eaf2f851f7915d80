"""``solve`` from several seeds: what is refused before, and the race of the starts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.solve import course_from
from bregopt.engine.starts import ITERATIONS, PRODUCTS, StartedRun, WholeClock, best_of, in_turn, race
from bregopt.errors import IncompatibleError, parameter
from bregopt.host.selection import prepare
from bregopt.host.start import Given
from bregopt.part_errors import part_errors
from bregopt.problem import Problem, ResolvedProblem
from bregopt.rules.stopping import StopRule

IN_TURN = "The starts went on in one process:"


def seeds_from(seed: int | np.random.Generator, starts: int, processes: int, checkpoint: object) -> Sequence[int]:
    """The seed of each start; what several starts do not go with is refused."""
    for name, number in {"starts": starts, "processes": processes}.items():
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise parameter(name, "solve", "a whole number >= 1", number)
    if starts == 1:
        return ()
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise parameter("seed", "solve", "a whole number >= 0, as several starts take seed, seed + 1 and so on", seed)
    if checkpoint is not None:
        raise IncompatibleError(
            "Several starts cannot be saved on the way, as a checkpoint holds one run. "
            "Leave checkpoint= out, or solve with starts=1."
        )
    return range(int(seed), int(seed) + int(starts))


def solve_starts(
    problem: Problem | ResolvedProblem,
    method: Any,
    start: Given,
    seeds: Sequence[int],
    stop: StopRule,
    observers: Sequence[Observer],
    processes: int,
    iterations: int | None,
) -> Result:
    """The best of runs from these seeds; ``iterations`` are those of a whole run, where they are known."""
    whole = WholeClock(stop)
    ready = []
    for seed in seeds:
        ready.append(prepare(problem, method, start, seed))
        if len(ready) == 2 and np.array_equal(ready[0].Y.flat, ready[1].Y.flat):
            raise IncompatibleError(
                f"Several starts need a start that draws random numbers: with the seeds {seeds[0]} and {seeds[1]} this "
                "one is the same point. Take start='scaled-random' or another random one, or solve with starts=1."
            )
    with part_errors, ready[0].problem.oracle.working():
        unit = PRODUCTS if iterations is None else ITERATIONS
        runs = [
            StartedRun(seed, partial(course_from, it.problem, it.method, it.Y, it.notes), unit)
            for seed, it in zip(seeds, ready, strict=True)
        ]
        if processes == 1:
            race(runs, in_turn(whole, observers), iterations)
            result = best_of(runs, whole)
        else:
            result = _in_processes(runs, min(processes, len(runs)), ready[0].problem, whole, observers, iterations)
    for observer in observers:
        observer.end(result)
    return result


def _in_processes(
    runs: Sequence[StartedRun],
    number: int,
    problem: ResolvedProblem,
    whole: WholeClock,
    observers: Sequence[Observer],
    iterations: int | None,
) -> Result:
    """The race in several processes, or in turn where the problem or the rule cannot be sent to them."""
    from bregopt.host.start_processes import Processes

    try:
        at_work = Processes(number, problem, whole, observers)
    except IncompatibleError as error:
        race(runs, in_turn(whole, observers), iterations)
        return best_of(runs, whole, (f"{IN_TURN} {error}",))
    try:
        race(runs, at_work.advance, iterations)
        return best_of(runs, whole, (f"{IN_TURN} {at_work.trouble}",) if at_work.trouble else ())
    finally:
        at_work.close()
