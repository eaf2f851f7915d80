"""``solve`` and ``iterate`` for people: every argument an object or a spec string."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.checkpoint import refuse_unfinished
from bregopt.engine.iterate import Iteration
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.solve import check_domain, feasible, run
from bregopt.engine.state import State
from bregopt.host import defaults
from bregopt.host.compose import make
from bregopt.host.resume import checkpoints_for
from bregopt.host.selection import prepare
from bregopt.host.spec import Spec
from bregopt.host.watching import RAISE, interruptible, observer_of
from bregopt.part_errors import part_errors
from bregopt.problem import Problem, ResolvedProblem, Start
from bregopt.rules.stopping import StopRule

DEFAULT_ITERATIONS = 1000


@part_errors
def solve(
    problem: Problem | ResolvedProblem,
    *,
    method: Any = defaults.METHOD,
    start: Blocks | Start | str | Path | None = None,
    seed: int | np.random.Generator = 0,
    stop: StopRule | str | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    tolerance: float | None = None,
    observers: Iterable[Observer | Callable[[State], object]] = (),
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    on_interrupt: str = RAISE,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : Problem
        From ``compose`` or ``Problem(...)``.
    method : str or Method
        Such as ``"aapb(beta=0.6, step=1)"``.
    start : Blocks, Start, str or Path, optional
        Y⁰; the problem's own start by default. A path names a folder that a run has written, or an .npz file of blocks.
    seed : int or Generator
        For starts that draw random numbers.
    stop : StopRule or str, optional
        Rules compose with ``|`` and ``&``.
    max_iterations, max_seconds : optional
        Further limits; 1000 iterations where no limit is given at all.
    tolerance : float, optional
        Stop when the relative stationarity, or the relative error where the problem has one, falls to it.
    observers : iterable
        Observers, or plain functions of the state.
    checkpoint : str or Path, optional
        A folder that the run writes itself to: ``resume`` goes on from there after a crash, a kill or Ctrl-C.
    checkpoint_every : float
        Seconds between two checkpoints.
    on_interrupt : str
        What Ctrl-C does after the iteration at work: ``"raise"`` KeyboardInterrupt, or ``"return"`` the best result so
        far. With a checkpoint the run is saved first. A second Ctrl-C ends it at once.

    Returns
    -------
    Result
    """
    rule, watching = stop_rule(stop, max_iterations, max_seconds, tolerance), [observer_of(it) for it in observers]
    folder = None if checkpoint is None else Path(checkpoint)
    if folder is not None:
        refuse_unfinished(folder)
    it = prepare(problem, method, start, seed)
    saving = None if folder is None else checkpoints_for(folder, checkpoint_every, it.problem, it.method, rule)
    return interruptible(
        lambda rule: run(it.problem, it.method, it.Y, rule, watching, it.notes, saving), rule, on_interrupt, folder
    )


@part_errors
def iterate(
    problem: Problem | ResolvedProblem,
    *,
    method: Any = defaults.METHOD,
    start: Blocks | Start | str | Path | None = None,
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
    """One rule of all that ``solve`` was given."""
    given = {"tolerance": tolerance, "max_seconds": max_seconds, "max_iterations": max_iterations}
    named = defaults.STOP_BY_ARGUMENT
    rules: list[StopRule] = [
        make("stop", Spec(named[key], (value,))) for key, value in given.items() if value is not None
    ]
    if stop is not None:
        rules.append(make("stop", stop))
    if not any(rule.certain for rule in rules):
        rules.append(make("stop", Spec(named["max_iterations"], (DEFAULT_ITERATIONS,))))
    return functools.reduce(StopRule.__or__, rules)
