"""A special oracle sees what the plain one sees."""

import math

import numpy as np

from bregopt.blocks import Blocks
from bregopt.host.compose import resolve_oracle
from bregopt.parts.oracle import Evaluation, Oracle, PlainOracle
from bregopt.problem import Problem, ResolvedProblem
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import Pair, nearby

HEAD = (
    "problem = part[0]",
    "oracle = problem.oracle or bo.host.compose.resolve_oracle(problem)",
    "plain = bo.PlainOracle(problem.smooth, problem.block, problem.metrics)",
)


def oracles(problem: Problem | ResolvedProblem) -> tuple[Oracle, PlainOracle]:
    """The problem's own oracle, where it is a special one, and the plain one."""
    oracle = problem.oracle or resolve_oracle(problem)
    if isinstance(oracle, PlainOracle):
        skip("It is seen through the plain oracle.")
    return oracle, PlainOracle(problem.smooth, problem.block, problem.metrics)


def equals_plain(pair: Pair, draw: Draw) -> None:
    """Values, gradient, norms and metrics of every kind of evaluation."""
    problem, start = pair
    oracle, plain = oracles(problem)
    for Y in (start, nearby(start, draw, 1.0)):
        for at in (None, Y, nearby(Y, draw, 0.3)):
            for value_at in (False, True):
                one, two = oracle.evaluate(Y, at, value_at=value_at), plain.evaluate(Y, at, value_at=value_at)
                found = apart(one, two, value_at and at is not None)
                if found:
                    place = "None" if at is None else "Y" if at is Y else "at"
                    show = f"for o in (oracle, plain): print(o.evaluate(Y, {place}, value_at={value_at}))"
                    given: dict[str, Blocks] = {"Y": Y} if at is None else {"Y": Y, "at": at}
                    fail(f"{found} of an evaluation with at={place}", snippet(*HEAD, show, **given))


def apart(one: Evaluation, two: Evaluation, value_at: bool = False) -> str | None:
    """What differs between two evaluations."""
    figures = {"value": (one.value, two.value)}
    if value_at:
        figures["value_at"] = (math.nan if one.value_at is None else one.value_at, two.value_at or 0.0)
    for name in ("norms", "metrics"):
        mine, plain = getattr(one, name), getattr(two, name)
        figures |= {f"{name}[{key!r}]": (mine.get(key, math.nan), figure) for key, figure in plain.items()}
    for name, (mine, plain) in figures.items():
        if not abs(mine - plain) <= 1e-9 * abs(plain) + 1e-12 * abs(two.value):
            return f"{name} is {mine!r}, not {plain!r}"
    if two.has_gradient:
        room = 1e-10 * np.abs(two.gradient.flat).max()
        if not one.has_gradient or not np.abs(one.gradient.flat - two.gradient.flat).max() <= room:
            return "the gradient is another"
    if one.Y is not two.Y or one.has_gradient is not two.has_gradient or (two.has_gradient and one.at is not two.at):
        return "Y or at is another"
    return None
