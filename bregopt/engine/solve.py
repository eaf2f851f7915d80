"""Run a method on a problem until a rule says stop."""

import math
import time
from collections.abc import Callable, Sequence

from attrs import evolve

from bregopt.blocks import Blocks
from bregopt.engine.certificate import CertificateBuilder
from bregopt.engine.first_results import check_kernel, check_parts
from bregopt.engine.history import Recorder
from bregopt.engine.iterate import Iteration
from bregopt.engine.method import Method
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.state import State
from bregopt.errors import DataError, OverflowedError
from bregopt.part_errors import part_errors
from bregopt.problem import ProblemParts, ResolvedProblem
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

EXCESS, PATIENCE = 1e3, 10
"""An objective above that many times its first value, for that many iterations, is taken for divergence."""
TINY_STEP = 1e-12
"""The step of the proximal map that makes an infeasible start feasible: a projection, for an indicator."""


def run(
    problem: ResolvedProblem,
    method: Method,
    Y: Blocks,
    stop: StopRule,
    observers: Sequence[Observer] = (),
    notes: tuple[str, ...] = (),
) -> Result:
    """The run on objects: what ``bregopt.solve`` does once every spec is resolved. The notes go into the result."""
    with part_errors, problem.oracle.working():
        return _run(problem, method, Y, stop, observers, notes)


def _run(
    problem: ResolvedProblem,
    method: Method,
    Y: Blocks,
    stop: StopRule,
    observers: Sequence[Observer],
    notes: tuple[str, ...],
) -> Result:
    Y, moved = feasible(problem, Y)
    check_domain(problem, method, Y)
    notes += moved + _unused_kernel(problem, method)
    recorder, builder = Recorder(), CertificateBuilder(method)
    iteration = Iteration(problem, method, Y)
    begin = time.perf_counter()

    state = best = next(iteration)
    verdict = None
    while verdict is None:
        seconds = time.perf_counter() - begin
        recorder.see(state, seconds)
        builder.see(state)
        for observer in observers:
            observer.see(state)
        if state.objective < best.objective:
            best = state
        verdict = _overflow(state) or _divergence(recorder)
        verdict = verdict or stop.verdict(_progress(iteration, state, seconds, recorder))
        if verdict is None:
            try:
                state = next(iteration)
            except OverflowedError as error:
                verdict = Verdict(Status.NOT_FINITE, f"After iteration {state.iteration}: {error}")

    end = best if verdict.status in (Status.NOT_FINITE, Status.DIVERGED, Status.INTERRUPTED) else state
    if not end.exact:
        evaluation = iteration.evaluate(end.Y)
        objective = evaluation.value + problem.regularizer.value(end.Y)
        end = evolve(end, objective=objective, metrics=evaluation.metrics, exact=True)
    A = iteration.subgradient(end)
    if not end.Y.flat.any():
        notes += ("Every block is zero, a stationary point that no step leaves: the weights of H are too large.",)
    result = Result(
        Y=end.Y,
        W=problem.block.argmin(problem.smooth, end.Y),
        objective=end.objective,
        metrics=end.metrics,
        status=verdict.status,
        reason=verdict.reason,
        iterations=state.iteration,
        seconds=time.perf_counter() - begin,
        certificate=builder.certificate(end, A, notes),
        counts=iteration.counts,
        history=recorder.arrays(),
        method=method,
    )
    for observer in observers:
        observer.end(result)
    return result


def feasible(problem: ProblemParts, Y: Blocks) -> tuple[Blocks, tuple[str, ...]]:
    """Y, or its proximal map where H(Y) is infinite, and a note that says so."""
    if not math.isfinite(Y.norm()):
        raise DataError("The start holds nan or inf; every entry must be finite.")
    problem.block.check(Y)
    check_parts(problem, Y)
    notes: tuple[str, ...] = ()
    if not math.isfinite(problem.regularizer.value(Y)):
        Y, notes = (
            problem.regularizer.prox(Y, TINY_STEP),
            ("The start was infeasible for H; its proximal map was taken.",),
        )
    return Y, notes


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


def _divergence(recorder: Recorder) -> Verdict | None:
    """Ten iterations in a row above a thousand times the objective at the start."""
    objectives = recorder.columns["objective"]
    bound = EXCESS * abs(objectives[0])
    if len(objectives) <= PATIENCE or not bound or min(objectives[-PATIENCE:]) <= bound:
        return None
    told = f"For {PATIENCE} iterations the objective has been above {EXCESS:g} times its first value"
    return Verdict(Status.DIVERGED, f"{told}; it is {objectives[-1]:.3g}.")


def _progress(iteration: Iteration, state: State, seconds: float, recorder: Recorder) -> Progress:
    return Progress(
        iteration=state.iteration,
        seconds=seconds,
        products=state.counts.products,
        objective=state.objective,
        metrics=state.metrics,
        stationarity=state.stationarity,
        history=recorder.columns,
        subgradient=_relative_subgradient(iteration, state),
    )


def _relative_subgradient(iteration: Iteration, state: State) -> Callable[[], float | None]:
    def compute() -> float | None:
        A = iteration.subgradient(state)
        return None if A is None else A.relative

    return compute
