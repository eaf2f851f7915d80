"""Run a method on a problem until a rule says stop."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
from attrs import evolve

from bregopt.blocks import Blocks
from bregopt.compile_clock import clock
from bregopt.engine.certificate import CertificateBuilder
from bregopt.engine.checkpoint import Checkpoint, Checkpoints, Snapshot
from bregopt.engine.first_results import check_kernel, check_parts
from bregopt.engine.history import Recorder
from bregopt.engine.iterate import Iteration
from bregopt.engine.method import Method
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.saving import Places
from bregopt.engine.state import State
from bregopt.errors import DataError, IncompatibleError, OverflowedError
from bregopt.part_errors import part_errors
from bregopt.problem import ProblemParts, ResolvedProblem
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

EXCESS, PATIENCE = 1e3, 10
"""An objective above that many times the scale of its first value, for that many iterations, is divergence."""
TINY_STEP = 1e-12
"""The step, over |Y|², of the proximal map that makes an infeasible start feasible: a projection, for an indicator."""


def run(
    problem: ResolvedProblem,
    method: Method,
    Y: Blocks,
    stop: StopRule,
    observers: Sequence[Observer] = (),
    notes: tuple[str, ...] = (),
    checkpoints: Checkpoints | None = None,
) -> Result:
    """The run on objects: what ``bregopt.solve`` does once every spec is resolved. The notes go into the result."""
    with part_errors:
        course = course_from(problem, method, Y, notes)
        with course.iteration.working():
            course.begin()
            return _to_the_end(course, course.judge(stop, observers), stop, observers, checkpoints)


def course_from(problem: ResolvedProblem, method: Method, Y: Blocks, notes: tuple[str, ...] = ()) -> "Course":
    """A run from Y that has not begun."""
    Y, moved = feasible(problem, Y)
    check_domain(problem, method, Y)
    notes += problem.notes + moved + _unused_kernel(problem, method)
    return Course(problem, method, Iteration(problem, method, Y), notes)


def go_on(
    problem: ResolvedProblem,
    method: Method,
    checkpoint: Checkpoint,
    stop: StopRule,
    observers: Sequence[Observer] = (),
    checkpoints: Checkpoints | None = None,
) -> Result:
    """The run that a checkpoint was made of, to its end; of a run that has ended the result."""
    with part_errors:
        course = Course(problem, method, Iteration(problem, method, None))
        with course.iteration.working():
            snapshot = checkpoint.snapshot(course.places)
            course.restore(snapshot)
            if snapshot.verdict is not None:
                return course.result(snapshot.verdict)
            return _to_the_end(course, None, stop, observers, checkpoints)


def _to_the_end(
    course: "Course",
    verdict: Verdict | None,
    stop: StopRule,
    observers: Sequence[Observer],
    checkpoints: Checkpoints | None,
) -> Result:
    while verdict is None:
        if checkpoints is not None:
            checkpoints.offer(course.snapshot, course.places)
        verdict = course.advance() or course.judge(stop, observers)
    if checkpoints is not None:
        ended = None if verdict.status is Status.INTERRUPTED else verdict
        checkpoints.save(course.snapshot(ended), course.places)
    result = course.result(verdict)
    for observer in observers:
        observer.end(result)
    return result


@final
class Course:
    """A run so far: its last state and its best one, its history, and what its certificate will say."""

    def __init__(
        self, problem: ResolvedProblem, method: Method, iteration: Iteration, notes: tuple[str, ...] = ()
    ) -> None:
        self.problem, self.method, self.iteration, self.notes = problem, method, iteration, notes
        self.recorder, self.builder = Recorder(), CertificateBuilder.of(method)
        self._begin = clock()

    def begin(self) -> None:
        """The first state."""
        self.best = next(self.iteration)
        self._take(self.best)

    @property
    def begun(self) -> bool:
        return bool(self.recorder.columns["iteration"])

    @cached_property
    def places(self) -> Places:
        """What a checkpoint finds in the problem and the method, and does not hold."""
        return Places(self.iteration.problem, self.method)

    @property
    def seconds(self) -> float:
        return clock() - self._begin

    def pass_over(self, seconds: float) -> None:
        """Leave time out in which the run was not at work."""
        self._begin += seconds

    def advance(self) -> Verdict | None:
        """Go on to the next state; the verdict where there is none."""
        try:
            self._take(next(self.iteration))
        except OverflowedError as error:
            return Verdict(Status.NOT_FINITE, f"After iteration {self.state.iteration}: {error}")
        return None

    def _take(self, state: State) -> None:
        self.state = state
        self.recorder.see(state, self.seconds)
        self.builder.see(state)
        if state.objective < self.best.objective:
            self.best = state

    def judge(self, stop: StopRule, observers: Sequence[Observer]) -> Verdict | None:
        """Show the state to the observers, and say whether it is the last one."""
        for observer in observers:
            observer.see(self.state)
        return (
            _overflow(self.state)
            or _divergence(self.recorder, EXCESS * self.builder.first_scale)
            or (Verdict(Status.STOPPED, self.state.ended) if self.state.ended else None)
            or stop.verdict(self._progress())
        )

    def _progress(self) -> Progress:
        state = self.state
        return Progress(
            iteration=state.iteration,
            Y=state.Y,
            seconds=self.recorder.columns["seconds"][-1],
            products=state.counts.products,
            objective=state.objective,
            metrics=state.metrics,
            stationarity=state.stationarity,
            history=self.recorder.columns,
            subgradient=self._relative_subgradient,
            first=self.iteration.first,
        )

    def _relative_subgradient(self) -> float | None:
        A = self.iteration.subgradient(self.state)
        return None if A is None else self.iteration.relative(A)

    def snapshot(self, verdict: Verdict | None = None) -> Snapshot:
        """The run as it is to be saved."""
        moment, columns = self.iteration.moment(), self.recorder.arrays()
        return Snapshot(moment, self.best, columns, self.builder, self.seconds, self.notes, verdict)

    def restore(self, snapshot: Snapshot) -> None:
        """The run as it was saved."""
        self.iteration.go_on_from(snapshot.moment)
        self.state, self.best, self.notes = snapshot.moment.state, snapshot.best, snapshot.notes
        self.recorder, self.builder = Recorder(snapshot.columns), snapshot.builder
        self._begin = clock() - snapshot.seconds

    def result(self, verdict: Verdict) -> Result:
        """Of the run that ends so: its last state, or its best one where that is better by more than rounding."""
        failed = verdict.status in (Status.NOT_FINITE, Status.DIVERGED, Status.INTERRUPTED)
        least = self.best.objective + self.state.rounding * self.state.scale
        worse = self.method.minimises_phi and not self.state.objective <= least
        end, notes = (self.best if failed or worse else self.state), self.notes
        if worse and not failed:
            notes += (f"The point of iteration {end.iteration} is returned, where Φ was lower than at the last.",)
        if not end.exact:
            evaluation = self.iteration.evaluate(end.Y)
            objective = evaluation.value + self.problem.regularizer.value(end.Y)
            end = evolve(end, objective=objective, metrics=evaluation.metrics, exact=True)
        notes += self.method.remarks(self.state)
        A = self.iteration.subgradient(end)
        A = A if A is not None and math.isfinite(A.norm) else None
        relative = None if A is None else self.iteration.relative(A)
        if not end.Y.flat.any():
            why = "" if self.problem.regularizer.is_zero else ": the weights of H are too large"
            notes += (f"Every block is zero, a stationary point that no step leaves{why}.",)
        return Result(
            Y=end.Y,
            W=self.problem.block.argmin(self.problem.smooth, end.Y),
            objective=end.objective,
            metrics=end.metrics,
            status=verdict.status,
            reason=verdict.reason,
            iterations=self.state.iteration,
            seconds=self.seconds,
            certificate=self.builder.certificate(self.method, end, A, relative, notes),
            counts=self.iteration.counts,
            history=self.recorder.arrays(),
            method=self.method,
            labels=self.problem.labels,
            problem=self.problem.name,
            data_model=self.problem.smooth.data_model(self.problem.block),
        )


def feasible(problem: ProblemParts, Y: Blocks) -> tuple[Blocks, tuple[str, ...]]:
    """Y, or its proximal map where H(Y) is infinite, and a note that says so."""
    if not math.isfinite(Y.norm()):
        raise DataError("The start holds nan or inf; every entry must be finite.")
    problem.block.check(Y)
    if unknown := [name for name in problem.regularizer.named if name not in Y.names]:
        raise IncompatibleError(
            f"H names the block '{unknown[0]}', and the {problem.name} has {', '.join(Y.names)} only: name one."
        )
    check_parts(problem, Y)
    with np.errstate(over="ignore", invalid="ignore"):  # the weight of H may be of any size
        if math.isfinite(problem.regularizer.value(Y)):
            return Y, ()
        Y = problem.regularizer.prox(Y, TINY_STEP / (Y.dot(Y) or 1.0))
    return Y, ("The start was infeasible for H; its proximal map was taken.",)


def check_domain(problem: ResolvedProblem, method: Method, Y: Blocks) -> None:
    """Refuse a start outside of the domain of a kernel that the method uses."""
    for part in (method, *method.members):
        kernel = (part.kernel or problem.kernel).sample()
        if not check_kernel(kernel, Y):
            raise DataError(f"The start lies outside of the domain of the kernel {kernel!r}.")


def _unused_kernel(problem: ResolvedProblem, method: Method) -> tuple[str, ...]:
    """A note where a kernel that was asked for is not the one at work."""
    if not problem.kernel_named or (method.uses_kernel and method.kernel is None):
        return ()
    why = "the method brings its own" if method.uses_kernel else "the method measures no step by a kernel"
    return (f"The kernel {problem.kernel.sample()!r} that was asked for is not used: {why}.",)


def _overflow(state: State) -> Verdict | None:
    if math.isfinite(state.objective) and math.isfinite(state.Y.norm()):
        return None
    return Verdict(Status.NOT_FINITE, f"The objective became {state.objective} at iteration {state.iteration}.")


def _divergence(recorder: Recorder, bound: float) -> Verdict | None:
    """Ten iterations in a row above a thousand times the scale of the first objective.

    That scale is the sum of its absolute terms; where the start meets the data, the least value that rounding leaves
    its digits.
    """
    objectives = recorder.columns["objective"]
    if len(objectives) <= PATIENCE or not bound or min(objectives[-PATIENCE:]) <= bound:
        return None
    told = f"For {PATIENCE} iterations the objective has been above {EXCESS:g} times its first value"
    return Verdict(Status.DIVERGED, f"{told}; it is {objectives[-1]:.3g}.")
