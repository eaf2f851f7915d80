"""What is decided before a run: the method, the start, and the kernels that the method and its members bring."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.checkpoint import saved_point
from bregopt.engine.first_results import check_claims
from bregopt.engine.method import Method, Selector
from bregopt.engine.solve import feasible
from bregopt.errors import parameter
from bregopt.host.compose import make, resolve, with_kernels
from bregopt.part_errors import part_errors
from bregopt.part_results import instance, pair
from bregopt.parts.kernel import KernelPolicy
from bregopt.problem import Problem, ResolvedProblem, Start


@final
@frozen(eq=False)
class Prepared:
    """A run that can begin."""

    problem: ResolvedProblem
    method: Method
    Y: Blocks
    notes: tuple[str, ...] = ()
    """which method a selector chose, and why"""


@part_errors
def prepare(
    problem: Problem | ResolvedProblem,
    method: Any,
    start: Blocks | Start | str | Path | None,
    seed: int | np.random.Generator,
) -> Prepared:
    """Resolve the problem, make the start, let a selector choose, and resolve the kernels that the method brings."""
    chosen: Method | Selector = make("method", method)
    resolved = resolve(problem, chosen.kernel if isinstance(chosen, Method) else None)
    Y = _first_point(resolved, start, seed)
    if isinstance(chosen, Method):
        return Prepared(with_method_kernels(resolved, chosen), chosen, Y)
    choice = pair(chosen, "select", chosen.select(resolved, feasible(resolved, Y)[0]), "Method, sentence")
    picked: Method = instance(chosen, "select", choice[0], Method, "a Method and a sentence")
    check_claims(picked)
    why: str = instance(chosen, "select", choice[1], str, "a Method and a sentence")
    return Prepared(with_method_kernels(resolved, picked), picked, Y, (why,))


def with_method_kernels(problem: ResolvedProblem, method: Method) -> ResolvedProblem:
    """The problem with the proximal maps of the kernels that the method and its members bring."""
    return with_kernels(problem, _kernels(method))


def _kernels(method: Method) -> Iterator[KernelPolicy]:
    if method.kernel is not None:
        yield method.kernel
    for member in method.members:
        yield from _kernels(member)


def _first_point(
    problem: ResolvedProblem, start: Blocks | Start | str | Path | None, seed: int | np.random.Generator
) -> Blocks:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer, np.random.Generator)):
        raise parameter("seed", "solve", "a whole number or a numpy Generator", seed)
    if not isinstance(seed, np.random.Generator) and seed < 0:
        raise parameter("seed", "solve", "a whole number >= 0", seed)
    return problem.first_point(_start(start), np.random.default_rng(seed))


def _start(start: Blocks | Start | str | Path | None) -> Blocks | Start | None:
    """A start from its spec, or the point that a run has saved."""
    if isinstance(start, Path) or (isinstance(start, str) and (os.sep in start or Path(start).exists())):
        return saved_point(start)
    if isinstance(start, str):
        made: Start = make("start", start)
        return made
    return start
