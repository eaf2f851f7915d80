"""A run as an endless iterator of states, with everything it asks counted."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, final

import numpy as np
from attrs import astuple, define, evolve, frozen

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
    products: float = 0.0
    evaluations: int = 0
    gradients: int = 0
    proxes: int = 0
    recent: tuple[Evaluation, ...] = ()
    """the evaluations used last, the latest first"""

    def measured(self, problem: ResolvedProblem) -> ResolvedProblem:
        """The problem with everything it is asked counted here."""
        others = tuple(evolve(other, prox=self._counted(other.prox)) for other in problem.others)
        return evolve(problem, oracle=self, prox=self._counted(problem.prox), others=others)

    def working(self) -> AbstractContextManager[Any]:
        return self.oracle.working()

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        evaluation = self.known(Y, at, value_at=value_at)
        if evaluation is None:
            evaluation = self._new(Y, at, value_at)
            self.recent = (evaluation, *self.recent[: REMEMBERED - 1])
        elif evaluation is not self.recent[0]:
            self.recent = (evaluation, *(it for it in self.recent if it is not evaluation))
        return evaluation

    def known(self, Y: Blocks, at: Blocks | None, *, value_at: bool = False) -> Evaluation | None:
        """An evaluation that is still there and answers this question too."""
        for known in self.recent:
            if _same(known.Y, Y) and (at is None or _has(known, at, value_at)):
                return known
        return None

    def _new(self, Y: Blocks, at: Blocks | None, value_at: bool) -> Evaluation:
        evaluation = self.oracle.evaluate(Y, at, value_at=value_at)
        if not self.evaluations:
            check_evaluation(self.oracle, evaluation, Y, at)
        self._count(evaluation, gradients=0 if at is None else 1)
        return evaluation

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        sweep = self.oracle.sweep(Y, at, update, row_wise=row_wise)
        if not self.evaluations:
            check_sweep(self.oracle, sweep, Y)
        self._count(sweep.evaluation, gradients=1)
        return sweep

    @property
    def spent(self) -> float:
        return self.products

    def charge(self, products: float) -> None:
        self.products += products

    @property
    def counts(self) -> Counts:
        """What was asked so far."""
        return Counts(self.products, self.evaluations, self.gradients, self.proxes)

    def go_on_from(self, counts: Counts, recent: tuple[Evaluation, ...]) -> None:
        """Count on from there."""
        self.products, self.evaluations, self.gradients, self.proxes = astuple(counts)
        self.recent = recent

    def _count(self, evaluation: Evaluation, gradients: int) -> None:
        self.products += evaluation.products
        self.evaluations += 1
        self.gradients += gradients

    def _counted(self, prox: BregmanProx) -> BregmanProx:
        def counted(P: Blocks, step: float, kernel: Kernel) -> Blocks:
            self.proxes += 1
            Y = prox(P, step, kernel)
            if self.proxes == 1:
                check_prox(prox, Y, P)
            return Y

        return counted


def _has(known: Evaluation, at: Blocks, value_at: bool) -> bool:
    """Whether an evaluation has the gradient there, and the value where that is asked for."""
    return known.has_gradient and _same(known.at, at) and (known.value_at is not None or not value_at)


def _same(X: Blocks, Y: Blocks) -> bool:
    """Whether two points are equal; most that are not differ in their first entry."""
    if X is Y:
        return True
    x, y = X.flat, Y.flat
    if x.size != y.size or (x.size and x.item(0) != y.item(0)):
        return False
    return X.layout == Y.layout and np.array_equal(x, y)


@final
@frozen(eq=False)
class Moment:
    """Where an iteration stands: all that it needs in order to go on from a state."""

    state: State
    counts: Counts
    """what was asked so far, by stop rules too"""
    recent: tuple[Evaluation, ...]
    """what its meter remembers"""
    first: float | None
    """the size that stationarity is relative to, as far as it is known"""
    Y0: Blocks | None
    """the start, as long as ``first`` may have to be found there"""


@final
class Iteration(Iterator[State]):
    """States 0, 1, 2, … of a method on a problem; stop by leaving the loop."""

    def __init__(self, problem: ResolvedProblem, method: Method, Y: Blocks | None) -> None:
        """From Y, or from a moment of an earlier run, which ``go_on_from`` then has to give."""
        problem = problem.using(method.kernel)
        method.check(problem)
        self._meter = Meter(problem.oracle)
        self.problem = self._meter.measured(problem)
        """with everything it is asked counted"""
        self._method = method
        self._Y0 = Y
        self._state: State | None = None
        self._first: float | None = None
        self._context: Callable[[], AbstractContextManager[Any]] = self._at_work
        """of an iteration by itself"""

    @contextmanager
    def working(self) -> Iterator[None]:
        """The context of many iterations, which then need none of their own."""
        with self._at_work():
            self._context = nullcontext
            try:
                yield
            finally:
                self._context = self._at_work

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        quiet = np.errstate(over="ignore", invalid="ignore")  # what is not finite is reported, not warned of
        with quiet, self._meter.working():
            yield

    def __next__(self) -> State:
        try:
            with self._context():
                state = self._started() if self._state is None else self._method.advance(self.problem, self._state)
        except (Exception, SystemExit) as error:
            raise_named(error)
            raise
        if self._state is not None and self._state.iteration == 0:
            check_state(self._method, "advance", state, self._state.Y)
        if state.iteration == 1 and state.stationarity is not None:
            self._first = max(self._first or 0.0, state.stationarity)
        self._state = state.counted(self.counts)
        return self._state

    def _started(self) -> State:
        Y = self._start
        state = self._method.start(self.problem, Y)
        check_state(self._method, "start", state, Y)
        evaluation = self._meter.known(Y, Y)
        self._first = None if evaluation is None else evaluation.gradient.norm()
        return state

    @property
    def _start(self) -> Blocks:
        if self._Y0 is None:
            raise RuntimeError("The start is kept until it is not needed any more.")
        return self._Y0

    @property
    def counts(self) -> Counts:
        """What was asked so far."""
        return self._meter.counts

    def moment(self) -> Moment:
        """Where it stands now, at its last state."""
        if self._state is None:
            raise RuntimeError("An iteration that has not begun stands nowhere.")
        Y0 = self._Y0 if self._first is None else None
        return Moment(self._state, self.counts, self._meter.recent, self._first, Y0)

    def go_on_from(self, moment: Moment) -> None:
        """Let the next state be the one that followed that moment."""
        self._state, self._first, self._Y0 = moment.state, moment.first, moment.Y0
        self._meter.go_on_from(moment.counts, moment.recent)

    def evaluate(self, Y: Blocks) -> Evaluation:
        """A counted evaluation of the value at Y."""
        return self._meter.evaluate(Y)

    def subgradient(self, state: State) -> Subgradient | None:
        """An element of ∂Φ at the state, counted."""
        return self._method.subgradient(self.problem, state)

    @property
    def first(self) -> float | None:
        """What stationarity is relative to: the free residual of the first step, or |∇F(Y⁰)| where that is larger.

        Where a method evaluates neither it is ``None``, until ``relative`` has evaluated |∇F(Y⁰)|.
        """
        return self._first

    def relative(self, A: Subgradient) -> float:
        """``|A| / max(first, |∇F|)``."""
        if self._first is None:
            self._first = self._meter.evaluate(self._start, at=self._start).gradient.norm()
        return A.relative_to(self._first)
