"""A run as an endless iterator of states, with everything it asks counted."""

from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import define, evolve, field

from bregopt.blocks import Blocks
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.plan import doors
from bregopt.engine.state import Counts, State
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import Evaluation, Oracle, Sweep, Update
from bregopt.parts.prox import BregmanProx
from bregopt.problem import Problem


@final
@define(eq=False)
class Meter(Oracle):
    """Counts what passes through an oracle and a proximal map."""

    oracle: Oracle
    proximal_map: BregmanProx
    counts: Counts = field(factory=Counts)

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        evaluation = self.oracle.evaluate(Y, at, value_at=value_at)
        self._count(evaluation, gradients=0 if at is None else 1)
        return evaluation

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        swept = self.oracle.sweep(Y, at, update, row_wise=row_wise)
        self._count(swept.evaluation, gradients=1)
        return swept

    def charge(self, products: float) -> None:
        self.counts = evolve(self.counts, products=self.counts.products + products)

    def _count(self, evaluation: Evaluation, gradients: int) -> None:
        self.counts = evolve(
            self.counts,
            products=self.counts.products + evaluation.products,
            evaluations=self.counts.evaluations + 1,
            gradients=self.counts.gradients + gradients,
        )

    def prox(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        self.counts = evolve(self.counts, proxes=self.counts.proxes + 1)
        return self.proximal_map(P, step, kernel)


@final
class Iteration(Iterator[State]):
    """States 0, 1, 2, … of a method on a problem; stop by leaving the loop."""

    def __init__(self, problem: Problem, method: Method, Y: Blocks) -> None:
        method.check(problem)
        self._meter = Meter(*doors(problem))
        self._problem = problem.seen_through(self._meter, self._meter.prox)
        self._method = method
        self._Y = Y
        self._state: State | None = None

    def __next__(self) -> State:
        quiet = np.errstate(over="ignore", invalid="ignore")  # what is not finite is reported, not warned of
        with quiet, self._meter.oracle.working():
            if self._state is None:
                state = self._method.start(self._problem, self._Y)
            else:
                state = self._method.advance(self._problem, self._state)
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
