"""``solve`` and ``iterate`` for people: every argument an object or a spec string."""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.engine.checkpoint import refuse_unfinished
from bregopt.engine.iterate import Iteration
from bregopt.engine.result import Result
from bregopt.engine.solve import check_domain, feasible, run
from bregopt.errors import ParameterError, parameter
from bregopt.host import defaults
from bregopt.host.compose import compose, make
from bregopt.host.resume import checkpoints_for
from bregopt.host.selection import prepare
from bregopt.host.spec import Spec
from bregopt.host.start import Given
from bregopt.host.starts import seeds_from, solve_starts
from bregopt.host.watching import RETURN, Watchers, interruptible, observers_of, progress_of
from bregopt.host.wrong_arguments import named
from bregopt.matrices.given import is_data
from bregopt.part_errors import part_errors
from bregopt.problem import Problem, ResolvedProblem
from bregopt.rules.interrupt import Interrupt
from bregopt.rules.stopping import StopRule

OF_PROBLEMS = ("rank", "U", "V", "kernel", "mask", "weights", "loss", "missing")
"""Parameters of problems that people give to ``solve``."""
_told = functools.partial(named, elsewhere=OF_PROBLEMS, there="compose")


@_told
@part_errors
def solve(
    problem: Problem | ResolvedProblem | Any,
    *,
    method: Any = defaults.METHOD,
    start: Given = None,
    seed: int | np.random.Generator = 0,
    starts: int = 1,
    processes: int = 1,
    stop: StopRule | str | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    tolerance: float | None = None,
    observers: Watchers = (),
    progress: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    on_interrupt: str = RETURN,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : Problem, or data
        From ``compose`` or ``Problem(...)``. Data, such as a file's path or a data frame, stand for ``compose(data)``.
    method : str or Method
        Such as ``"aapb(beta=0.6, step=1)"``.
    start : Blocks, tuple or dict of arrays, Result, Start, str or Path, optional
        Y⁰, as in ``(U, V)``; the problem's own start by default. A path names a folder that a run has written, or an
        .npz file of blocks.
    seed : int or Generator
        For starts that draw random numbers.
    starts : int
        Of so many starts, with ``seed``, ``seed + 1`` and so on, the best one is returned. Those that fall behind are
        left on the way. ``max_seconds`` is for all of them together, any other limit for each. Observers see the
        states of all.
    processes : int
        Processes for several starts. The result is the same with any number; observers then see a state every half
        second. More than one helps where M is so small that a pass over it runs on one processor.
    stop : StopRule or str, optional
        The goal; rules compose with ``|`` and ``&``. By default the run ends at a plateau, where the objective stands
        still.
    max_iterations, max_seconds : optional
        The run ends there at the latest; 1000 iterations where no limit is given at all.
    tolerance : float, optional
        A goal too: the relative stationarity, or the relative error where the problem has one, has fallen to it.
    observers : Observer, function or iterable of them
        A function takes the state.
    progress : bool
        Whether to show how the run goes: a bar on a terminal, a line in a notebook.
    checkpoint : str or Path, optional
        A folder that the run writes itself to: ``resume`` goes on from there after a crash, a kill or Ctrl-C.
    checkpoint_every : float
        Seconds between two checkpoints.
    on_interrupt : str
        What Ctrl-C does after the iteration at work: ``"return"`` the best result so far, of the status INTERRUPTED and
        with a warning, or ``"raise"`` KeyboardInterrupt. With a checkpoint the run is saved first. A second Ctrl-C ends
        it at once. It is heard in the main thread, where the program has no handler of its own.

    Returns
    -------
    Result
    """
    rule, watching = stop_rule(stop, max_iterations, max_seconds, tolerance), [*observers_of(observers)]
    with progress_of(progress, max_iterations, max_seconds) as displays:
        watching += displays
        if seeds := seeds_from(seed, starts, processes, checkpoint):
            others = (_goal(stop), tolerance, max_seconds)
            whole_run = (max_iterations or defaults.MAX_ITERATIONS) if all(it is None for it in others) else None
            return interruptible(
                lambda rule: solve_starts(problem, method, start, seeds, rule, watching, processes, whole_run),
                rule,
                on_interrupt,
            )
        folder = None if checkpoint is None else Path(checkpoint)
        if folder is not None:
            refuse_unfinished(folder)
        it = prepare(compose(problem) if is_data(problem) else problem, method, start, seed)
        saving = None if folder is None else checkpoints_for(folder, checkpoint_every, it.problem, it.method, rule)
        return interruptible(
            lambda rule: run(it.problem, it.method, it.Y, rule, watching, it.notes, saving), rule, on_interrupt, folder
        )


@part_errors
def iterate(
    problem: Problem | ResolvedProblem,
    *,
    method: Any = defaults.METHOD,
    start: Given = None,
    seed: int | np.random.Generator = 0,
) -> Iteration:
    """The states of a run, one at a time and without end: leave the loop to stop."""
    ready = prepare(problem, method, start, seed)
    Y, _ = feasible(ready.problem, ready.Y)
    check_domain(ready.problem, ready.method, Y)
    return Iteration(ready.problem, ready.method, Y)


def stop_rule(
    stop: StopRule | str | None, max_iterations: int | None, max_seconds: float | None, tolerance: float | None
) -> StopRule:
    """One rule of all that a run was given: its goals, a plateau where there are none, and its limits."""
    goals = [] if tolerance is None else [_named("tolerance", tolerance)]
    goals += [] if _goal(stop) is None else [make("stop", stop)]
    goals = goals or [make("stop", defaults.STOP)]
    rule = functools.reduce(StopRule.__or__, [*goals, *([stop] if isinstance(stop, Interrupt) else [])])
    limits = {"max_seconds": max_seconds, "max_iterations": iteration_limit(rule, max_iterations, max_seconds)}
    return functools.reduce(StopRule.__or__, (_named(key, it) for key, it in limits.items() if it is not None), rule)


def _goal(stop: StopRule | str | None) -> StopRule | str | None:
    """The rule that was given; one that only listens to Ctrl-C is none."""
    return None if isinstance(stop, Interrupt) else stop


def iteration_limit(goal: StopRule | None, max_iterations: int | None, max_seconds: float | None) -> int | None:
    """The iterations after which a run ends at the latest; ``None`` where another limit ends it for certain."""
    ends = max_iterations is not None or max_seconds is not None or (goal is not None and goal.certain)
    return max_iterations if ends else defaults.MAX_ITERATIONS


def _named(argument: str, value: float) -> StopRule:
    """The rule behind an argument of ``solve``."""
    try:
        rule: StopRule = make("stop", Spec(defaults.STOP_BY_ARGUMENT[argument], (value,)))
    except ParameterError:
        rule_of = "a whole number >= 0" if argument == "max_iterations" else "a finite number >= 0"
        raise parameter(argument, "solve", rule_of, value) from None
    return rule
