"""The iteration of ecd and els: W at Nesterov's point, then an update of all blocks by a solver of their models."""

import math
from abc import abstractmethod
from typing import final

import numpy as np
from attrs import evolve, frozen

from bregopt import Blocks, Method, Momentum, ResolvedProblem, State, Subgradient, balanced, nesterov
from bregopt_methods.blockwise.block_update import Solver, block_update, check_blocks, gram

BOUND = "F(Y^k, W(y)) + H(Y^k), a bound of Φ(Y^k),"


@final
@frozen(eq=False)
class Carried:
    """What an iteration leaves to the next."""

    Y_prev: Blocks
    theta: float
    xi: Blocks | None
    """an element of ∂H(Y^k), where the step to Y^k gave one"""


class ExtrapolatedBlocks(Method[Carried]):
    """An update of all blocks from y = Y^k + β_k(Y^k − Y^{k−1}), with W = W(y) and Nesterov's β_k.

    Where its bound of Φ is above the last one, it is made from Y^k instead. That one is not above: it starts at
    F(Y^k, W(Y^k)) + H(Y^k), the least of the bounds of Φ(Y^k), and lowers that. A column of U that adds nothing to UV
    is started anew first, where that does not change Φ.
    """

    uses_kernel = False
    balance: bool
    """whether each iteration ends with the factors of the same product that have the least H"""

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call the method."""

    @property
    @abstractmethod
    def solver(self) -> Solver: ...

    @abstractmethod
    def row_wise(self, problem: ResolvedProblem, name: str) -> bool:
        """Whether the solver treats each row of this block on its own."""

    @final
    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Carried]:
        return self.take_over(problem, Y, Momentum(Y, 1.0))

    @final
    def momentum(self, state: State[Carried]) -> Momentum:
        return Momentum(state.inner.Y_prev, state.inner.theta)

    @final
    def take_over(self, problem: ResolvedProblem, Y: Blocks, momentum: Momentum) -> State[Carried]:
        check_blocks(problem, Y, self.name)
        rest = Carried(momentum.Y_prev, momentum.theta, None)
        return State.at(problem.oracle.evaluate(Y), problem.regularizer.value(Y), inner=rest)

    @final
    def advance(self, problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
        past, row_wise = state.inner, self.row_wise(problem, state.Y.names[0])
        Y, Y_prev = revived(problem, state.Y, past.Y_prev, state.iteration)
        beta, theta = nesterov(past.theta)
        y = Y if beta == 0 else Y.plus(beta, Y - Y_prev)
        made = block_update(problem, y, self.solver, row_wise=row_wise)
        if beta > 0 and not made.bound <= state.lyapunov:
            beta, theta = nesterov(1.0)
            made = block_update(problem, Y, self.solver, row_wise=row_wise)
        following = State(
            iteration=state.iteration + 1,
            Y=buried(problem, made.Y),
            objective=made.bound,
            metrics=made.evaluation.metrics,
            lyapunov=made.bound,
            scale=made.scale,
            rounding=made.evaluation.rounding,
            beta=beta,
            stationarity=made.residual,
            exact=False,
            inner=Carried(Y, theta, made.xi),
        )
        return _rebalanced(problem, following) if self.balance else following

    @final
    def subgradient(self, problem: ResolvedProblem, state: State[Carried]) -> Subgradient | None:
        return subgradient(problem, state.Y, state.inner.xi)

    @property
    def lyapunov(self) -> str:
        return BOUND

    @property
    def safeguard(self) -> str:
        return "an update that would raise the bound is made again without extrapolation"


def revived(problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, iteration: int) -> tuple[Blocks, Blocks]:
    """Y with a new u_p ≥ 0 and v_p = 0 where u_p or v_p is zero, and Y_prev with the same; both as they are else.

    Where both are zero no coordinate step leaves zero, and where one is zero after a step, that was the best for the
    other one. UV stays as it is, and so does F; where H would rise, nothing is done. The exact steps on V that follow
    make v_p the best row for this u_p, which is an indicator of some rows: other ones for each p and each iteration.
    """
    if not problem.smooth.of_product or len(Y.names) != 2:
        return Y, Y_prev
    U, V = (Y[name] for name in Y.names)
    left, right = U.any(axis=0), V.any(axis=1)
    dead = np.flatnonzero(~(left & right) if iteration else ~(left | right))
    if not len(dead):
        return Y, Y_prev
    chosen = (np.arange(len(U))[:, None] + np.arange(len(dead)) + iteration) % (len(dead) + 1) == 0
    size = float(np.linalg.norm(U)) / math.sqrt(U.size) or 1.0

    def anew(point: Blocks) -> Blocks:
        U, V = (np.array(point[name]) for name in Y.names)
        U[:, dead], V[dead] = size * chosen, 0.0
        return point.replaced(**dict(zip(Y.names, (U, V), strict=True)))

    new, H = anew(Y), problem.regularizer
    return (new, anew(Y_prev)) if H.value(new) <= H.value(Y) else (Y, Y_prev)


def buried(problem: ResolvedProblem, Y: Blocks) -> Blocks:
    """Y with u_p = 0 where v_p = 0, where H stays as it is: what could not be revived leaves no trace."""
    if not problem.smooth.of_product or len(Y.names) != 2:
        return Y
    U, V = (Y[name] for name in Y.names)
    dead = U.any(axis=0) & ~V.any(axis=1)
    if not dead.any():
        return Y
    new, H = Y.replaced(**{Y.names[0]: np.where(dead, 0.0, U)}), problem.regularizer
    return new if H.value(new) == H.value(Y) else Y


def _rebalanced(problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
    """The state with the factors of the same product that have the least H; Y^{k−1} goes along, and so does ξ.

    A ridge moves ξ with Y, and nothing else does: a positive multiple of an entry keeps its sign.
    """
    F, H, past = problem.smooth, problem.regularizer, state.inner
    Y, Y_prev = balanced(F, H, state.Y, past.Y_prev)
    if Y is state.Y:
        return state
    fall = H.value(state.Y) - H.value(Y)
    ridges = {name: h.ridge for name in Y.names if (h := H[name].scalar()) is not None}
    xi = None if past.xi is None else past.xi + (Y - state.Y).map(lambda name, E: ridges[name] * E)
    return evolve(
        state,
        Y=Y,
        objective=state.objective - fall,
        lyapunov=state.lyapunov - fall,
        inner=Carried(Y_prev, past.theta, xi),
    )


def subgradient(problem: ResolvedProblem, Y: Blocks, xi: Blocks | None) -> Subgradient | None:
    """``A = ∇F(Y, W(Y)) + ξ``, by an evaluation."""
    if xi is None:
        return None
    scaled = (float(np.trace(gram(problem, Y, name))) * float(np.linalg.norm(Y[name])) for name in Y.names)
    return Subgradient.at(problem.oracle.evaluate(Y, at=Y), xi, xi.norm() + 2.0 * math.hypot(*scaled))
