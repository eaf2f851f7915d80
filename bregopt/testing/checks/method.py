"""A method: its states tell the truth, can be saved, and are followed by the same ones after loading, bit by bit."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import fields

from bregopt.engine.iterate import Iteration, Moment
from bregopt.engine.method import Method
from bregopt.engine.saving import Loader, Places, Saver
from bregopt.engine.solve import check_domain, feasible
from bregopt.engine.state import State
from bregopt.errors import BregoptError, IncompatibleError
from bregopt.host import defaults
from bregopt.host.compose import compose, examples
from bregopt.host.selection import prepare
from bregopt.parts.regularizer import Regularizer, Zero
from bregopt.problem import ResolvedProblem
from bregopt.testing.outcomes import fail, not_applicable, number, snippet
from bregopt.testing.search.random_points import RandomPoints

BEFORE, AFTER = 6, 10
"""The iterations before a state is saved, and those that are compared after it."""
DIGITS = 1e-9
"""Of the size of Φ, to which a state has to tell it."""
AGAIN = "print(bo.testing.check(part).table())"


def told(method: Method, draw: RandomPoints) -> None:
    """The iterations of a run are counted from 0, and each state tells Φ at its own Y, or an upper bound."""
    problem, start = _problem(method, draw)
    for k, (state, _) in enumerate(itertools.islice(_states(problem, method, start), BEFORE + 1)):
        if state.iteration != k:
            fail(f"State {k} calls itself state {state.iteration}", snippet(AGAIN))
        evaluation = problem.oracle.evaluate(state.Y)
        H = problem.regularizer.value(state.Y)
        phi, room = evaluation.value + H, DIGITS * (evaluation.scale + abs(H))
        if state.objective < phi - room or (state.exact and state.objective > phi + room):
            says = "objective is" if state.exact else "bound of the objective is"
            fail(f"State {k}: its {says} {number(state.objective)}, and Φ(Y) is {number(phi)}", snippet(AGAIN))


def saved(method: Method, draw: RandomPoints) -> None:
    """Every state of a run is made of what can be saved."""
    problem, start = _problem(method, draw)
    for state, iteration in itertools.islice(_states(problem, method, start), BEFORE + 1):
        _saved(iteration, method, state)


def same_after_loading(method: Method, draw: RandomPoints) -> None:
    """Ten states after a loaded one, in every field and in what was counted."""
    problem, start = _problem(method, draw)
    states = _states(problem, method, start)
    state, iteration = next(itertools.islice(states, BEFORE, None))
    text, arrays = _saved(iteration, method, state)
    other = Iteration(problem, method, None)
    places = Places(other.problem, method)
    content = json.loads(text)
    loader = Loader(lambda number: arrays[number].copy(), content["objects"], places.packages, places)
    moment: Moment = loader.load(content["moment"])
    other.go_on_from(moment)
    for _ in range(AFTER):
        (expected, _), found = next(states), next(other)
        for name in (it.name for it in fields(State) if it.name != "inner"):
            then, now = getattr(expected, name), getattr(found, name)
            if not (np.array_equal(then.flat, now.flat) if name == "Y" else then == now):
                told = (
                    f"State {expected.iteration} has another {name} after state {state.iteration} was saved and loaded"
                )
                fail(f"{told}: something that the method goes on with is not in State.inner", snippet(AGAIN))


def _saved(iteration: Iteration, method: Method, state: State) -> tuple[str, list[Any]]:
    """Where the iteration stands, as JSON and arrays."""
    saver = Saver(Places(iteration.problem, method))
    try:
        moment = saver.save(iteration.moment(), "state")
    except IncompatibleError as error:
        fail(f"State {state.iteration}: {error}", snippet(AGAIN))
    return json.dumps({"moment": moment, "objects": saver.objects}), [array.copy() for array in saver.arrays]


def _states(problem: ResolvedProblem, method: Method, start: Any) -> Iterator[tuple[State, Iteration]]:
    iteration = Iteration(problem, method, start)
    for state in iteration:
        yield state, iteration


def _problem(method: Method, draw: RandomPoints) -> tuple[ResolvedProblem, Any]:
    """A small problem that the method takes, with a start: the core's default one, or an example of a plugin."""
    faults = ["there is none"]
    for problem, start in _problems(draw):
        try:
            ready = prepare(problem, method, start, 0)
            Y, _ = feasible(ready.problem, ready.Y)
            check_domain(ready.problem, method, Y)
            next(Iteration(ready.problem, method, Y))
            return ready.problem, Y
        except BregoptError as error:
            faults.append(str(error))
    return not_applicable(f"It takes no problem that is at hand: {faults[-1]}")


def _problems(draw: RandomPoints) -> Iterator[tuple[Any, Any]]:
    M = np.maximum(0.0, draw.gauss((14, 11)))
    for H in (*(H for _, H in examples("regularizer") if isinstance(H, Regularizer)), Zero()):
        try:
            yield compose(defaults.PROBLEM, M, rank=3, U=H, V=H), None
        except BregoptError:
            continue
    for _, example in examples("problem"):
        yield example
