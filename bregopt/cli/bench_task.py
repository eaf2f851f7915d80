"""What the benchmarks run: the paper's model and method, and a pass over M as a task to be timed."""

from typing import TYPE_CHECKING, Any

from bregopt.cli.timing import Task

if TYPE_CHECKING:
    from bregopt.blocks import Blocks
    from bregopt.problem import ResolvedProblem

BETA = 0.6
METHOD = f"aapb(beta={BETA}, step=1)"


def problem_of(M: Any, rank: int, **options: Any) -> "ResolvedProblem":
    """The paper's model of M."""
    import bregopt

    parts = {"U": "l1(0.01)", "V": "l1(0.015)", "kernel": "paper"}
    problem: ResolvedProblem = bregopt.compose("relu-nmd", M, rank=rank, **parts, **options)
    return problem


def look(problem: "ResolvedProblem", Y: "Blocks", at: "Blocks | None" = None) -> Task:
    """A look at Y with the gradient, there or at another point."""
    oracle = problem.oracle
    return lambda: lambda: oracle.evaluate(Y, at=Y if at is None else at)


def first_look(problem: "ResolvedProblem") -> Task:
    """A look at the start of the problem."""
    import bregopt

    return look(problem, next(bregopt.iterate(problem, method=METHOD)).Y)
