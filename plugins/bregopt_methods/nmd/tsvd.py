"""TSVD: the best matrix of rank r for M itself, as the answer."""

from typing import final

import numpy as np
from attrs import evolve, frozen

from bregopt import Blocks, Method, ResolvedProblem, Start, State, Subgradient, make
from bregopt_methods.nmd.unregularized import check_factors, check_unregularized, unregularized_subgradient

NAME = "tsvd"
ENDED = "The truncated SVD of M is the answer: there are no iterations."


@final
@frozen
class TSVD(Method[None]):
    """The truncated SVD of M, without H: UV is the best approximation of rank r of M itself, missing entries as 0.

    A baseline that makes no iterations: state 0 is the answer, wherever the run is to start, and every state after it
    is the same. It is stationary for ``least-squares``, and for other losses it need not be. The SVD itself is not made
    of products, and so not counted: compare it by the clock.
    """

    uses_kernel = False

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[None]:
        check_factors(problem, Y, NAME)
        start: Start = make("start", NAME)
        return State.at(problem.oracle.evaluate(start.point(problem, np.random.default_rng(0))), 0.0, ended=ENDED)

    def advance(self, problem: ResolvedProblem, state: State[None]) -> State[None]:
        return evolve(state, iteration=state.iteration + 1)

    def subgradient(self, problem: ResolvedProblem, state: State[None]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)

    @property
    def safeguard(self) -> str:
        return "the first answer stays"
