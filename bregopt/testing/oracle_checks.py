"""A special oracle sees what the plain one sees."""

import math

import numpy as np

from bregopt.blocks import Blocks
from bregopt.host.compose import resolve_oracle
from bregopt.parts.oracle import Look, PlainOracle
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import Pair, nearby


def equals_plain(pair: Pair, draw: Draw) -> None:
    """Values, gradient, norms and metrics of every kind of look."""
    problem, start = pair
    oracle = problem.oracle or resolve_oracle(problem)
    plain = PlainOracle(problem.smooth, problem.block, problem.metrics)
    if isinstance(oracle, PlainOracle):
        skip("It is seen through the plain oracle.")
    for Y in (start, nearby(start, draw, 1.0)):
        for at in (None, Y, nearby(Y, draw, 0.3)):
            for value_at in (False, True):
                one, two = oracle.look(Y, at, value_at=value_at), plain.look(Y, at, value_at=value_at)
                apart = _apart(one, two, value_at and at is not None)
                if apart:
                    place = "None" if at is None else "Y" if at is Y else "at"
                    made = "oracle = problem.oracle or bo.host.compose.resolve_oracle(problem)"
                    plainly = "plain = bo.PlainOracle(problem.smooth, problem.block, problem.metrics)"
                    show = f"for o in (oracle, plain): print(o.look(Y, {place}, value_at={value_at}))"
                    given: dict[str, Blocks] = {"Y": Y} if at is None else {"Y": Y, "at": at}
                    code = snippet("problem = part[0]", made, plainly, show, **given)
                    fail(f"{apart} of a look with at={place}", code)


def _apart(one: Look, two: Look, value_at: bool) -> str | None:
    """What differs between two looks."""
    figures = {"value": (one.value, two.value)}
    if value_at:
        figures["value_at"] = (math.nan if one.value_at is None else one.value_at, two.value_at or 0.0)
    for name in ("norms", "metrics"):
        mine, plain = getattr(one, name), getattr(two, name)
        figures |= {f"{name}[{key!r}]": (mine.get(key, math.nan), figure) for key, figure in plain.items()}
    for name, (mine, plain) in figures.items():
        if not abs(mine - plain) <= 1e-9 * abs(plain) + 1e-12 * abs(two.value):
            return f"{name} is {mine!r}, not {plain!r}"
    if two.gradient is not None:
        room = 1e-10 * np.abs(two.gradient.flat).max()
        if one.gradient is None or not np.abs(one.gradient.flat - two.gradient.flat).max() <= room:
            return "the gradient is another"
    if one.Y is not two.Y or one.at is not two.at:
        return "Y or at is another"
    return None
