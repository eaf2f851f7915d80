"""A start: points that a run can begin at, the same for the same seed."""

import math

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.first_results import check_kernel
from bregopt.engine.solve import feasible
from bregopt.errors import BregoptError, PartError
from bregopt.host.compose import examples, resolve
from bregopt.part_errors import shapes
from bregopt.problem import ResolvedProblem, Start
from bregopt.testing.outcomes import fail, not_applicable, snippet
from bregopt.testing.search.random_points import RandomPoints

SEEDS = (0, 1, 7)


def points(start: Start, draw: RandomPoints) -> None:
    """Finite Blocks with the names and shapes of the problem's own."""
    for number, problem, Y in _taken(start):
        for seed in SEEDS:
            found = start.point(problem, np.random.default_rng(seed))
            if not isinstance(found, Blocks):
                fail(f"point returned {type(found).__name__}, not Blocks", _code(number, seed))
            if found.layout != Y.layout:
                told = f"point returned Blocks of {shapes(found.layout)}, where the problem has {shapes(Y.layout)}"
                fail(told, _code(number, seed))
            if not np.isfinite(found.flat).all():
                fail("point returned nan or inf", _code(number, seed))


def seeded(start: Start, draw: RandomPoints) -> None:
    """The same seed gives the same point: all randomness is that of the generator."""
    for number, problem, _ in _taken(start):
        once, again = (start.point(problem, np.random.default_rng(3)) for _ in range(2))
        if not np.array_equal(once.flat, again.flat):
            fail("The same seed gives two points: draw from rng alone", _code(number, 3))


def runs(start: Start, draw: RandomPoints) -> None:
    """Φ is finite there, or at the feasible point beside it, unless that is outside of the kernel's domain."""
    for number, problem, _ in _taken(start):
        Y, _ = feasible(problem, start.point(problem, np.random.default_rng(0)))
        if not check_kernel(problem.kernel.sample(), Y):
            continue
        value = problem.oracle.evaluate(Y, at=Y).value + problem.regularizer.value(Y)
        if not math.isfinite(value):
            fail(f"Φ is {value} at the start", _code(number, 0))


def _taken(start: Start) -> list[tuple[int, ResolvedProblem, Blocks]]:
    """The problems at hand that it makes a point for, each with a point of its own."""
    found, refused = [], "there is none"
    for number, (_, (problem, Y)) in enumerate(examples("problem")):
        ready = resolve(problem)
        try:
            start.point(ready, np.random.default_rng(0))
            found.append((number, ready, Y))
        except PartError:
            raise
        except BregoptError as error:
            refused = str(error)
    return found or not_applicable(f"It takes no problem that is at hand: {refused}")


def _code(number: int, seed: int) -> str:
    lines = "from bregopt.host.compose import examples, resolve", f"problem, _ = examples('problem')[{number}][1]"
    return snippet(*lines, f"print(part.point(resolve(problem), np.random.default_rng({seed})))")
