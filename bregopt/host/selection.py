"""What is decided before a run: the method, the start, and the kernels that the method and its members bring."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.first_results import check_claims
from bregopt.engine.method import Method, Selector
from bregopt.engine.solve import feasible
from bregopt.host.compose import make, resolve, with_kernels
from bregopt.host.start import Given, first_point
from bregopt.part_errors import part_errors
from bregopt.part_results import instance, pair
from bregopt.parts.kernel import KernelPolicy
from bregopt.problem import Problem, ResolvedProblem


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
    start: Given,
    seed: int | np.random.Generator,
) -> Prepared:
    """Resolve the problem, make the start, let a selector choose, and resolve the kernels that the method brings."""
    chosen: Method | Selector = make("method", method)
    resolved = resolve(problem, chosen.kernel if isinstance(chosen, Method) else None)
    Y = first_point(resolved, start, seed)
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
