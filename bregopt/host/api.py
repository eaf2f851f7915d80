"""``solve`` and ``iterate`` for people: every argument an object or a spec string."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.iterate import Iteration
from bregopt.engine.observer import FunctionObserver, Observer
from bregopt.engine.result import Result
from bregopt.engine.solve import check_domain, feasible, run
from bregopt.engine.state import State
from bregopt.errors import IncompatibleError
from bregopt.host import defaults
from bregopt.host.compose import make
from bregopt.host.selection import prepare
from bregopt.host.spec import Spec
from bregopt.part_errors import part_errors
from bregopt.problem import Problem, ResolvedProblem, Start
from bregopt.rules.stopping import StopRule

DEFAULT_ITERATIONS = 1000


@part_errors
def solve(
    problem: Problem | ResolvedProblem,
    *,
    method: Any = defaults.METHOD,
    start: Blocks | Start | str | None = None,
    seed: int | np.random.Generator = 0,
    stop: StopRule | str | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    tolerance: float | None = None,
    observers: Iterable[Observer | Callable[[State], object]] = (),
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : Problem
        From ``compose`` or ``Problem(...)``.
    method : str or Method
        Such as ``"aapb(beta=0.6, step=1)"``.
    start : Blocks, Start or str, optional
        Y⁰; the problem's own start by default.
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

    Returns
    -------
    Result
    """
    rule, watching = _stop_rule(stop, max_iterations, max_seconds, tolerance), [_observer(it) for it in observers]
    ready = prepare(problem, method, start, seed)
    return run(ready.problem, ready.method, ready.Y, rule, watching, ready.notes)


@part_errors
def iterate(
    problem: Problem | ResolvedProblem,
    *,
    method: Any = defaults.METHOD,
    start: Blocks | Start | str | None = None,
    seed: int | np.random.Generator = 0,
) -> Iteration:
    """The states of a run, one at a time and without end: leave the loop to stop."""
    ready = prepare(problem, method, start, seed)
    Y, _ = feasible(ready.problem, ready.Y)
    check_domain(ready.problem, ready.method, Y)
    return Iteration(ready.problem, ready.method, Y)


def _stop_rule(
    stop: StopRule | str | None, iterations: int | None, seconds: float | None, tolerance: float | None
) -> StopRule:
    given = {"tolerance": tolerance, "max_seconds": seconds, "max_iterations": iterations}
    named = defaults.STOP_BY_ARGUMENT
    rules: list[StopRule] = [
        make("stop", Spec(named[key], (value,))) for key, value in given.items() if value is not None
    ]
    if stop is not None:
        rules.append(make("stop", stop))
    if not any(rule.certain for rule in rules):
        rules.append(make("stop", Spec(named["max_iterations"], (DEFAULT_ITERATIONS,))))
    return functools.reduce(StopRule.__or__, rules)


def _observer(watcher: Observer | Callable[[State], object]) -> Observer:
    if isinstance(watcher, Observer):
        return watcher
    if callable(watcher):
        return FunctionObserver(watcher)
    raise IncompatibleError(f"An observer must be an Observer or a function of the state. Got {watcher!r} instead.")
