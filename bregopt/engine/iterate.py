"""A run as an endless iterator of states, with everything it asks counted."""

from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import define, evolve, field

from bregopt.blocks import Blocks
from bregopt.engine.first_results import check_evaluation, check_prox, check_state, check_sweep
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.state import Counts, State
from bregopt.part_errors import raise_named
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import Evaluation, Oracle, Sweep, Update
from bregopt.parts.prox import BregmanProx
from bregopt.problem import ResolvedProblem

REMEMBERED = 3
"""Evaluations that are kept: that of a planned step, that of its start, and that of the point it leads to."""


@final
@define(eq=False)
class Meter(Oracle):
    """Counts what passes through an oracle and its proximal maps; what was evaluated just now costs nothing."""

    oracle: Oracle
    counts: Counts = field(factory=Counts)
    _recent: list[Evaluation] = field(factory=list)
    """the evaluations used last, the latest first"""

    def measured(self, problem: ResolvedProblem) -> ResolvedProblem:
        """The problem with everything it is asked counted here."""
        others = tuple(evolve(other, prox=self._counted(other.prox)) for other in problem.others)
        return evolve(problem, oracle=self, prox=self._counted(problem.prox), others=others)

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        known = (it for it in self._recent if _serves(it, Y, at, value_at))
        evaluation = next(known, None) or self._new(Y, at, value_at)
        others = [it for it in self._recent if it is not evaluation]
        self._recent = [evaluation, *others][:REMEMBERED]
        return evaluation

    def _new(self, Y: Blocks, at: Blocks | None, value_at: bool) -> Evaluation:
        evaluation = self.oracle.evaluate(Y, at, value_at=value_at)
        if not self.counts.evaluations:
            check_evaluation(self.oracle, evaluation, Y, at)
        self._count(evaluation, gradients=0 if at is None else 1)
        return evaluation

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        sweep = self.oracle.sweep(Y, at, update, row_wise=row_wise)
        if not self.counts.evaluations:
            check_sweep(self.oracle, sweep, Y)
        self._count(sweep.evaluation, gradients=1)
        return sweep

    def charge(self, products: float) -> None:
        self.counts = evolve(self.counts, products=self.counts.products + products)

    def _count(self, evaluation: Evaluation, gradients: int) -> None:
        self.counts = evolve(
            self.counts,
            products=self.counts.products + evaluation.products,
            evaluations=self.counts.evaluations + 1,
            gradients=self.counts.gradients + gradients,
        )

    def _counted(self, prox: BregmanProx) -> BregmanProx:
        def counted(P: Blocks, step: float, kernel: Kernel) -> Blocks:
            self.counts = evolve(self.counts, proxes=self.counts.proxes + 1)
            Y = prox(P, step, kernel)
            if self.counts.proxes == 1:
                check_prox(prox, Y, P)
            return Y

        return counted


def _serves(known: Evaluation, Y: Blocks, at: Blocks | None, value_at: bool) -> bool:
    """Whether an evaluation answers this question too."""
    if at is None:
        return _same(known.Y, Y)
    there = known.has_gradient and _same(known.at, at) and _same(known.Y, Y)
    return there and (known.value_at is not None or not value_at)


def _same(X: Blocks, Y: Blocks) -> bool:
    """Whether two points are equal; most that are not differ in their first entry."""
    if X is Y or X.layout != Y.layout:
        return X is Y
    return not (X.flat.size and X.flat[0] != Y.flat[0]) and np.array_equal(X.flat, Y.flat)


@final
class Iteration(Iterator[State]):
    """States 0, 1, 2, … of a method on a problem; stop by leaving the loop."""

    def __init__(self, problem: ResolvedProblem, method: Method, Y: Blocks) -> None:
        problem = problem.using(method.kernel)
        method.check(problem)
        self._meter = Meter(problem.oracle)
        self._problem = self._meter.measured(problem)
        self._method = method
        self._Y = Y
        self._state: State | None = None

    def __next__(self) -> State:
        quiet = np.errstate(over="ignore", invalid="ignore")  # what is not finite is reported, not warned of
        try:
            with quiet, self._meter.oracle.working():
                if self._state is None:
                    state = self._method.start(self._problem, self._Y)
                else:
                    state = self._method.advance(self._problem, self._state)
        except (Exception, SystemExit) as error:
            raise_named(error)
            raise
        if self._state is None or self._state.iteration == 0:
            check_state(self._method, "start" if self._state is None else "advance", state, self._Y)
        self._state = evolve(state, counts=self.counts)
        return self._state

    @property
    def counts(self) -> Counts:
        """What was asked so far."""
        return self._meter.counts

    def evaluate(self, Y: Blocks) -> Evaluation:
        """A counted evaluation of the value at Y."""
        return self._meter.evaluate(Y)

    def subgradient(self, state: State) -> Subgradient | None:
        """An element of ∂Φ at the state, counted."""
        return self._method.subgradient(self._problem, state)
