"""The W block and the oracle: W(Y) is the best W, its claims hold, and a special oracle sees as the plain one."""

import math
from collections.abc import Iterator
from typing import Any, Literal, final

import numpy as np
from attrs import field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.host.compose import resolve_oracle
from bregopt.parts.oracle import Evaluation, Oracle, PlainOracle, Sweep
from bregopt.problem import Problem, ResolvedProblem
from bregopt.testing.checks.smooth import HEAD, ProblemAt, domain_of, nearby
from bregopt.testing.outcomes import fail, not_applicable, number, snippet
from bregopt.testing.search.random_points import RandomPoints

DISTANCES = (1e-4, 1e-2, 0.1, 1.0)
NORMS: dict[str, Literal["fro"] | float] = {"frobenius": "fro", "spectral": 2}
"""Names of norms whose meaning is known, as numpy calls them."""
ORACLES = (
    "problem = part[0]",
    "oracle = problem.oracle or bo.host.compose.resolve_oracle(problem)",
    "plain = bo.PlainOracle(problem.smooth, problem.block, problem.metrics)",
)
DIRECTIONS = {True: "G", False: "(G - G.mean(axis=0))"}
"""The direction of an update for a gradient G: row by row, and not so."""


def optimal(part: ProblemAt, draw: RandomPoints) -> None:
    """``F(Y, W(Y')) + G(W(Y')) ≥ F(Y, W(Y)) + G(W(Y))``."""
    problem, start = part
    F, G = problem.smooth, problem.block
    for Y in (start, nearby(problem, start, draw, 1.0)):
        W = G.argmin(F, Y)
        best = F.value(Y, W) + G.value(W)
        for rival in filter(domain_of(problem).contains, _others(problem, Y, draw)):
            W_rival = G.argmin(F, rival)
            value = F.value(Y, W_rival) + G.value(W_rival)
            if not value >= best - 1e-11 * (abs(best) + abs(value)):
                show = "print([F.value(Y, W) + G.value(W) for W in (G.argmin(F, Y), G.argmin(F, Y_rival))])"
                told = f"F + G = {number(best)} at W(Y), but {number(value)} at W of another point"
                fail(told, snippet(HEAD, show, Y=Y, Y_rival=rival))


def _others(problem: Problem, Y: Blocks, draw: RandomPoints) -> Iterator[Blocks]:
    """Multiples of Y, and points around it."""
    for t in (0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, -1.0):
        yield Y * t
    for distance in DISTANCES:
        for _ in range(4):
            other = nearby(problem, Y, draw, distance)
            yield from (other, Y * 2.0 - other)


def bounds(part: ProblemAt, draw: RandomPoints) -> None:
    """``norms`` bound W where their names are known, and ``bound_norms`` bounds the norms at another point."""
    problem, Y = part
    F, G = problem.smooth, problem.block
    now = G.norms(G.argmin(F, Y))
    if not now:
        not_applicable("It knows no norms of W.")
    for distance in (*DISTANCES, 10.0):
        for _ in range(4):
            there = nearby(problem, Y, draw, distance)
            W = G.argmin(F, there)
            norms, bounded = G.norms(W), G.bound_norms(now, there, Y)
            head = (HEAD, "W = G.argmin(F, there)")
            for name, norm in norms.items():
                if not bounded[name] >= norm * (1 - 1e-12):
                    show = "print(G.norms(W), G.bound_norms(G.norms(G.argmin(F, part[1])), there, part[1]))"
                    told = f"bound_norms promises {name} ≤ {number(bounded[name])}, but it is {number(norm)}"
                    fail(told, snippet(*head, show, there=there))
            dense = _matrix(W)
            if dense is None:
                continue
            for name, order in NORMS.items():
                exact = float(np.linalg.norm(dense, order))
                if not norms.get(name, exact) >= exact * (1 - 1e-12):
                    show = f"print(G.norms(W)[{name!r}], np.linalg.norm(np.asarray(W), {order!r}))"
                    told = f"norms say {name} ≤ {number(norms[name])}, but it is {number(exact)}"
                    fail(told, snippet(*head, show, there=there))


def affine(part: ProblemAt, draw: RandomPoints) -> None:
    """``W`` half-way between two points that differ in one block is half-way between their W, where that is claimed."""
    problem, Y = part
    F, G = problem.smooth, problem.block
    if not G.affine():
        not_applicable("It does not say that W is affine in each block.")
    for name in Y.names:
        for distance in (*DISTANCES, 10.0):
            there = Y.replaced(**{name: nearby(problem, Y, draw, distance)[name]})
            here, middle, end = (_matrix(G.argmin(F, point)) for point in (Y, (Y + there) * 0.5, there))
            if here is None or middle is None or end is None:
                not_applicable("W is no matrix.")
            off = float(np.abs(2.0 * middle - here - end).max())
            if not off <= 1e-12 * max(float(np.abs(W).max()) for W in (here, middle, end)):
                show = "print([np.asarray(G.argmin(F, point)) for point in (part[1], (part[1] + there) * 0.5, there)])"
                told = f"W is not affine in {name}: half-way between two points it is off by {number(0.5 * off)}"
                fail(told, snippet(HEAD, show, there=there))


def _matrix(W: Any) -> Array | None:
    """W as a matrix of real numbers, where it is one; it may be any object."""
    try:
        dense = np.asarray(W)
    except (TypeError, ValueError):  # several arrays of different shapes
        return None
    return dense if dense.ndim == 2 and dense.dtype.kind == "f" else None


def _oracles(problem: Problem | ResolvedProblem) -> tuple[Oracle, PlainOracle]:
    """The problem's own oracle, where it is a special one, and the plain one."""
    oracle = problem.oracle or resolve_oracle(problem)
    if isinstance(oracle, PlainOracle):
        not_applicable("It is seen through the plain oracle.")
    return oracle, PlainOracle(problem.smooth, problem.block, problem.metrics)


def equals_plain(part: ProblemAt, draw: RandomPoints) -> None:
    """Values, gradient, norms and metrics of every kind of evaluation."""
    problem, start = part
    oracle, plain = _oracles(problem)
    for Y in (start, nearby(problem, start, draw, 1.0)):
        for at in (None, Y, nearby(problem, Y, draw, 0.3)):
            for value_at in (False, True):
                one, two = oracle.evaluate(Y, at, value_at=value_at), plain.evaluate(Y, at, value_at=value_at)
                found = _difference_of_evaluations(one, two, value_at and at is not None)
                if found:
                    place = "None" if at is None else "Y" if at is Y else "at"
                    show = f"for o in (oracle, plain): print(o.evaluate(Y, {place}, value_at={value_at}))"
                    given: dict[str, Blocks] = {"Y": Y} if at is None else {"Y": Y, "at": at}
                    fail(f"{found} of an evaluation with at={place}", snippet(*ORACLES, show, **given))


def _difference_of_evaluations(one: Evaluation, two: Evaluation, value_at: bool = False) -> str | None:
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
        slack = 1e-10 * np.abs(two.gradient.flat).max() + 1e-14 * abs(two.value) / (two.Y.norm() or 1.0)
        if not one.has_gradient or not np.abs(one.gradient.flat - two.gradient.flat).max() <= slack:
            return "the gradient is another"
    if one.Y is not two.Y or one.has_gradient is not two.has_gradient or (two.has_gradient and one.at is not two.at):
        return "Y or at is another"
    return None


def sweep_equals_plain(part: ProblemAt, draw: RandomPoints) -> None:
    """The new blocks, the gradient for the last and the evaluation are the same; each row is asked for once."""
    problem, start = part
    oracle, plain = _oracles(problem)
    for Y in (start, nearby(problem, start, draw, 1.0)):
        step = _step(problem, plain, Y)
        for at in (Y, nearby(problem, Y, draw, 0.3)):
            for row_wise in DIRECTIONS:
                update = RecordedUpdate(at, step, row_wise)
                one = oracle.sweep(Y, at, update, row_wise=row_wise)
                missed = update.missed()
                two = Oracle.sweep(plain, Y, at, update, row_wise=row_wise)
                between = two.Y.replaced(**{Y.names[-1]: at[Y.names[-1]]})
                inside = domain_of(problem).contains(between)
                found = missed or (_difference_of_sweeps(one, two) if inside else None)
                if found:
                    place = "Y" if at is Y else "at"
                    told = f"{found} in a sweep with at={place}, row_wise={row_wise}"
                    fail(told, _code(Y, at, place, step, row_wise))


@final
@frozen(eq=False)
class RecordedUpdate:
    """``X̄ − step·G``, or with the mean over all rows taken off G; it notes the rows it was asked for."""

    at: Blocks
    step: float
    row_wise: bool
    asked: list[tuple[str, slice]] = field(factory=list)

    def __call__(self, name: str, rows: slice, G: Array) -> Array:
        self.asked.append((name, rows))
        return self.at[name][rows] - self.step * (G if self.row_wise else G - G.mean(axis=0))

    def missed(self) -> str | None:
        """A row that it was not asked for once."""
        for name in self.at.names[:-1]:
            times = np.zeros(len(self.at[name]), dtype=int)
            for block, rows in self.asked:
                times[rows] += block == name
            row = int(np.argmax(times != 1))
            if times[row] != 1:
                return f"the update is asked {times[row]} times for row {row} of {name}, not once,"
        return None


def _step(problem: Problem | ResolvedProblem, plain: PlainOracle, Y: Blocks) -> float:
    """A step of about a third of the first block, or shorter where the domain ends."""
    name, gradient = Y.names[0], plain.evaluate(Y, at=Y).gradient
    X, G = Y[name], gradient[name]
    down = gradient.map(lambda block, slope: -slope if block == name else 0.0 * slope)
    longest = 0.3 * float(np.linalg.norm(X) or 1.0) / float(np.linalg.norm(G) or 1.0)
    return float(f"{min(longest, 0.5 * domain_of(problem).longest(Y, down)):.3g}")


def _difference_of_sweeps(one: Sweep, two: Sweep) -> str | None:
    """What differs between two sweeps."""
    if one.Y.layout != two.Y.layout:
        return "the blocks have other names or shapes"
    pairs = [(f"the new block {name}", one.Y[name], two.Y[name]) for name in two.Y.names[:-1]]
    for called, mine, plain in (*pairs, ("the gradient for the last block", one.gradient, two.gradient)):
        if np.shape(mine) != plain.shape or not np.abs(mine - plain).max() <= 1e-10 * np.abs(plain).max():
            return f"{called} is another"
    return _difference_of_evaluations(one.evaluation, two.evaluation)


def _code(Y: Blocks, at: Blocks, place: str, step: float, row_wise: bool) -> str:
    """Python that sweeps with both oracles, and shows the rows that the first one asked for."""
    step_to = f"{place}[name][rows] - step * {DIRECTIONS[row_wise]}"
    update = f"update = lambda name, rows, G: asked.append((name, rows)) or {step_to}"
    lines = (
        "asked = []",
        update,
        f"one = oracle.sweep(Y, {place}, update, row_wise={row_wise})",
        "print(asked)",
        f"two = bo.Oracle.sweep(plain, Y, {place}, update, row_wise={row_wise})",
        "for swept in (one, two): print(*swept.Y, swept.gradient, swept.evaluation)",
    )
    given = {"Y": Y} if at is Y else {"Y": Y, "at": at}
    return snippet(*ORACLES, *lines, step=step, **given)
