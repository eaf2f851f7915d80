"""Turns from Nesterov's point, guarded by the bound of Φ that a turn brings along."""

from collections.abc import Callable, Mapping
from typing import final

from attrs import evolve, frozen

from bregopt import Blocks, Problem, State, Subgradient, balanced, gradient_of, nesterov, oracle_of
from bregopt_methods.turn import Turn, check_blocks

BOUND = "F(Y^k, W(y)) + H(Y^k), a bound of Φ(Y^k),"
DESCENT: Mapping[str, str] = {"descent": "a turn without extrapolation lowers the bound, as exact minimisers make it"}


@final
@frozen(eq=False)
class Past:
    """What an iteration leaves to the next."""

    Y_prev: Blocks
    theta: float
    xi: Blocks | None
    """an element of ∂H(Y^k), where the step to Y^k gave one"""


def begin(problem: Problem, Y: Blocks) -> State:
    """State 0, by an evaluation."""
    check_blocks(problem, Y)
    return State.at(oracle_of(problem).evaluate(Y), problem.regularizer.value(Y), inner=Past(Y, 1.0, None))


def proceed(state: State, turn_from: Callable[[Blocks], Turn]) -> State:
    """A turn from y = Y^k + β_k(Y^k − Y^{k−1}); if its bound is above the last one, a turn from Y^k instead.

    The latter cannot be: it starts at F(Y^k, W(Y^k)) + H(Y^k), the least of the bounds of Φ(Y^k), and lowers that.
    """
    Y, past = state.Y, state.inner
    beta, theta = nesterov(past.theta)
    made = turn_from(Y if beta == 0 else Y.plus(beta, Y - past.Y_prev))
    if beta > 0 and not made.bound <= state.lyapunov:
        beta, theta = nesterov(1.0)
        made = turn_from(Y)
    rounding = made.evaluation.rounding * max(made.scale, state.scale)
    return State(
        iteration=state.iteration + 1,
        Y=made.Y,
        objective=made.bound,
        metrics=made.evaluation.metrics,
        lyapunov=made.bound,
        scale=made.scale,
        rounding=made.evaluation.rounding,
        beta=beta,
        stationarity=made.residual,
        assumptions={"descent": made.bound <= state.lyapunov + rounding},
        exact=False,
        inner=Past(Y, theta, made.xi),
    )


def rebalanced(problem: Problem, state: State) -> State:
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
        inner=Past(Y_prev, past.theta, xi),
    )


def subgradient(problem: Problem, Y: Blocks, xi: Blocks | None) -> Subgradient | None:
    """``A = ∇F(Y, W(Y)) + ξ``, by an evaluation."""
    if xi is None:
        return None
    slope = gradient_of(oracle_of(problem).evaluate(Y, at=Y))
    return Subgradient(slope + xi, slope.norm())
