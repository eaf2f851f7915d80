"""The cases of a race, each a problem with the points that every method starts from, and the runs on them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Blocks, Interrupt, Progress, ResolvedProblem, Start, Status, StopRule, Verdict, feasible
from bregopt.errors import UnknownNameError
from bregopt.matrices import BUILT_IN, built_in
from bregopt_bench.display import Show
from bregopt_bench.race.comparison import Comparison, headline
from bregopt_bench.race.curves import Curve, curve
from bregopt_bench.race.entrants import Entrants, entrants_of

PATIENCE = 20
"""Iterations without a product after which a run is at rest."""
OWN = "default"
"""What the start of a problem is called that has no name of its own."""


@final
@frozen(eq=False, kw_only=True)
class Case:
    """A problem, the start of every seed, and who takes part."""

    facts: Mapping[str, Any]
    """matrix, shape, density, problem, rank and start"""
    problem: ResolvedProblem
    points: Sequence[Blocks]
    entrants: Entrants


@final
@frozen
class AtRest(StopRule):
    """Ends a run whose last iterations took no product: it stays at its point, and would never use up a budget."""

    def judge(self, progress: Progress) -> Verdict | None:
        products = progress.history["products"]
        if len(products) <= PATIENCE or products[-1] > products[-1 - PATIENCE]:
            return None
        return Verdict(Status.STATIONARY, f"The last {PATIENCE} iterations took no product: the point does not move.")


@final
@frozen
class Budgets:
    """Products and seconds at which methods are compared, in rising order, and the limit on the seconds of a run."""

    products: Sequence[float]
    seconds: Sequence[float] = ()
    limit: float | None = None

    def rule(self) -> StopRule:
        """Every budget is used up, unless the limit comes first, or the run comes to rest."""
        rule: StopRule = bregopt.make("stop", "max-products", self.products[-1])
        if self.seconds:
            rule &= bregopt.make("stop", "max-seconds", self.seconds[-1])
        if self.limit is not None:
            rule |= bregopt.make("stop", "max-seconds", self.limit)
        return rule | AtRest()


def matrix(name: str, model: Any) -> Any:
    """The matrix of a built-in's spec, or what the problem takes from a file."""
    called = name.partition("(")[0].strip()
    if called in BUILT_IN:
        model.check_matrix(name)
        spec = bregopt.parse_spec(name)
        return built_in(spec.name, *spec.args, **spec.kwargs)
    path = Path(name)
    if not (path.suffix or path.exists()):
        known = " and ".join(BUILT_IN)
        raise UnknownNameError(f"There is no built-in matrix {called!r}, only {known}, and no file {name!r}.")
    return model.read(path)


def cases(
    matrices: Mapping[str, Any],
    model: Any,
    ranks: Sequence[int],
    starts: Mapping[str, Start],
    seeds: int,
    methods: Sequence[str],
) -> Iterator[Case]:
    """One for each matrix, rank and start, with every method tried on it.

    ``model`` is the problem as ``bregopt solve`` reads it from its options.
    """
    for name, M in matrices.items():
        for rank in dict.fromkeys(ranks) or [model.rank(M.shape)]:
            problem = model.compose(M, rank=rank)
            begun: Mapping[str, Start | None] = starts or {_own_start(problem): None}
            for start, first in begun.items():
                points = _points(problem, first, seeds)
                sizes = dict(zip(("rows", "columns"), M.shape, strict=True)) if len(M.shape) == 2 else {}
                shape = {"shape": list(M.shape), **sizes, "density": _density(M)}
                facts = {"matrix": name, **shape, "problem": model.spec, "rank": rank, "start": start}
                entrants = entrants_of(problem, points[0], methods)
                yield Case(facts=facts, problem=problem, points=points, entrants=entrants)


def _own_start(problem: ResolvedProblem) -> str:
    """How the start of a problem is called, where it is one that a spec can name."""
    named = (it.name for it in bregopt.catalog("start") if it.factory is type(problem.start))
    return next(named, OWN)


def _points(problem: ResolvedProblem, start: Start | None, seeds: int) -> list[Blocks]:
    """Y⁰ of every seed; a start that draws nothing has one only."""
    points: list[Blocks] = []
    for seed in range(seeds):
        Y, _ = feasible(problem, problem.first_point(start, np.random.default_rng(seed)))
        if points and np.array_equal(Y.flat, points[-1].flat):
            break
        points.append(Y)
    return points


def _density(M: Any) -> float:
    """The share of the entries that are neither zero nor nan."""
    values = M if isinstance(M, np.ndarray) else M.data
    return int(np.count_nonzero(np.nan_to_num(values))) / int(math.prod(M.shape))


def compare(cases: Sequence[Case], budgets: Budgets, show: Show) -> tuple[list[Comparison], bool]:
    """Run every entrant on every case from every start: what came of it, and whether Ctrl-C ended the race early."""
    interrupt = Interrupt()
    stop = interrupt | budgets.rule()
    tasks = [
        (case, seed, Y, entrant)
        for case in cases
        for seed, Y in enumerate(case.points)
        for entrant in case.entrants.methods
    ]
    runs: list[tuple[Case, str, Curve]] = []
    with interrupt.listening(lambda: show("stopping after this iteration (Ctrl-C again: at once)")):
        for number, (case, seed, Y, entrant) in enumerate(tasks, 1):
            show(f"run {number} of {len(tasks)}: {entrant.name} on {headline(case.facts)}, seed {seed}")
            run = curve(entrant.run(case.problem, Y, stop), seed)
            if run.status is Status.INTERRUPTED:
                break
            runs.append((case, entrant.name, run))
    grouped = [(case, _curves(case, [run[1:] for run in runs if run[0] is case])) for case in cases]
    return [_comparison(case, curves, budgets) for case, curves in grouped if curves], len(runs) < len(tasks)


def _curves(case: Case, runs: Sequence[tuple[str, Curve]]) -> dict[str, list[Curve]]:
    """By method; after Ctrl-C only the seeds that every method has run, unless there is none yet."""
    curves: dict[str, list[Curve]] = {}
    for name, run in runs:
        curves.setdefault(name, []).append(run)
    common = min((len(curves.get(entrant.name, ())) for entrant in case.entrants.methods), default=0)
    return {name: found[:common] if common else found for name, found in curves.items()}


def _comparison(case: Case, curves: dict[str, list[Curve]], budgets: Budgets) -> Comparison:
    return Comparison(
        facts=case.facts,
        curves=curves,
        skipped=case.entrants.skipped,
        notes=case.entrants.notes,
        products=budgets.products,
        given_seconds=budgets.seconds,
    )
