"""What the methods for non-negative factors share: the H they take, their states, and why Φ does not rise."""

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import (
    Assumption,
    Blocks,
    Evaluation,
    Method,
    ResolvedProblem,
    ScalarPenalty,
    State,
    Subgradient,
    assumptions_met,
)
from bregopt.errors import IncompatibleError

LAST_DIGITS = 8.0 * float(np.finfo(np.float64).eps)


@final
@frozen(eq=False)
class PlannedUpdate:
    """The update that leaves Y^k, both blocks with W = W(Y^k)."""

    Y: Blocks
    """Y^{k+1}"""
    rise: float
    """F(Y^{k+1}, W) + G(W) + H(Y^{k+1}) − Φ(Y^k)"""
    rounding: float
    """what rounding may add to it"""
    residual: float
    """how far the gradients that the update took are from stationary ones"""
    step: float

    @property
    def falls(self) -> bool:
        return self.rise <= self.rounding


DESCENT = Assumption(
    "update",
    "F(Y^k, W) + H(Y^k) with W = W(Y^{k−1}), which is a bound of Φ(Y^k), is at most Φ(Y^{k−1})",
    attrgetter("falls"),
    attrgetter("rounding"),
)
"""What descent rests on. It is tested from the gradients that the update took, for nothing."""


def penalties(problem: ResolvedProblem, names: Iterable[str], method: str) -> dict[str, ScalarPenalty]:
    """h on the blocks of these names, each on the non-negative half line; another H is refused."""
    found = {}
    for name in names:
        H = problem.regularizer[name]
        h = H.scalar()
        if h is None or h.low != 0 or h.high != math.inf:
            raise IncompatibleError(
                f"The method {method} is for non-negative factors: it can take nonneg, l1-nonneg, and a ridge or an "
                f"elastic net with nonneg, on both blocks. Got {H!r} instead; ecd takes every separable H, aapb every "
                "H with a Bregman proximal map."
            )
        found[name] = h
    return found


def check_penalties(problem: ResolvedProblem, method: str) -> None:
    """Refuse another H before the names of all blocks are known."""
    penalties(problem, problem.regularizer.named or [""], method)


def next_state(
    method: Method, problem: ResolvedProblem, last: State, made: PlannedUpdate, seen: Evaluation, inner: Any
) -> State:
    """The state that an update from the last one made, with what was seen there."""
    return State.at(
        seen,
        problem.regularizer.value(seen.Y),
        iteration=last.iteration + 1,
        step=made.step,
        stationarity=made.residual,
        assumptions=assumptions_met(method.assumptions, made),
        inner=inner,
    ).forgiven(last, method.assumptions, made)


def least_subgradient(problem: ResolvedProblem, Y: Blocks, method: str) -> Subgradient:
    """The element of ∂Φ(Y) of least norm, the projected gradient, by an evaluation."""
    h, seen = penalties(problem, Y.names, method), problem.oracle.evaluate(Y, at=Y)
    A = Y.map(lambda name, X: h[name].steepest(X, seen.gradient[name]))
    rounding = seen.gradient_rounding + LAST_DIGITS * (A - seen.gradient).norm()
    return Subgradient(A, seen.gradient.norm(), rounding)
