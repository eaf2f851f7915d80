"""One row of ``bregopt bench pass``: what the pass, its rivals and an iteration took."""

from collections.abc import Mapping
from typing import Any, final

from attrs import frozen

from bregopt.cli.bench_case import Case
from bregopt.cli.bench_task import BETA, METHOD, look, problem_of

WARM = 3
"""Iterations before one is timed: by then its vectors lie where those of the one before lay."""


@final
@frozen(kw_only=True)
class Row:
    """Seconds, the best of several; the obvious code is left out for large matrices."""

    case: Mapping[str, Any]
    bare: float
    seconds: float
    """of the pass"""
    obvious: float | None
    lagged: float
    """of the pass inside of an iteration, with the gradient at Ȳ"""
    iteration: float
    memory: int | None
    """bytes, at the peak of the pass"""

    @property
    def against_bare(self) -> float:
        return self.seconds / self.bare

    @property
    def gain(self) -> float | None:
        return None if self.obvious is None else self.obvious / self.seconds

    @property
    def overhead(self) -> float:
        return self.iteration / self.lagged

    def as_json(self) -> dict[str, Any]:
        return {
            **self.case,
            "bare_seconds": self.bare,
            "pass_seconds": self.seconds,
            "obvious_seconds": self.obvious,
            "lagged_pass_seconds": self.lagged,
            "iteration_seconds": self.iteration,
            "pass_over_bare": self.against_bare,
            "obvious_over_pass": self.gain,
            "iteration_over_pass": self.overhead,
            "memory_bytes": self.memory,
        }


def measure(case: Case, repeats: int) -> Row:
    """Everything at the first iterates of the paper's method, in one run."""
    import bregopt
    from bregopt.cli.bench_rivals import rivals
    from bregopt.cli.memory import grown
    from bregopt.cli.timing import best

    problem = problem_of(case.M, case.rank, dtype=case.dtype)
    run = bregopt.iterate(problem, method=METHOD)
    Y_prev, Y = next(run).Y, next(run).Y

    def iteration() -> Any:
        run = bregopt.iterate(problem, method=METHOD, start=Y_prev)  # anew: the residual thins out as a run goes on
        for _ in range(WARM):
            next(run)
        return run.__next__

    quiet = {"pass": look(problem, Y), "lagged": look(problem, Y, Y.plus(BETA, Y - Y_prev)), "iteration": iteration}
    seconds = best(quiet, rivals(case.M, Y, case.dtype), repeats=repeats)
    _, memory = grown(quiet["pass"](), lasting=0.1)
    return Row(
        case=case.facts,
        bare=seconds["bare"],
        seconds=seconds["pass"],
        obvious=seconds.get("obvious"),
        lagged=seconds["lagged"],
        iteration=seconds["iteration"],
        memory=memory,
    )
