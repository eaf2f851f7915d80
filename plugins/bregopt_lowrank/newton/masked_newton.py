"""masked-newton: damped Newton steps on min_W F, row by row for U and column by column for V."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import (
    Array,
    Blocks,
    Method,
    Momentum,
    ResolvedProblem,
    State,
    Subgradient,
    Trait,
    balanced,
    nesterov,
    validate,
)
from bregopt.errors import IncompatibleError
from bregopt_lowrank.factorization import Factorization, LowRankBlock
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.models import Frozen, Product
from bregopt_lowrank.newton.row_newton import RowSteps, row_newton

TINY_STEP = 1e-12
"""The step, times |Y|², of the proximal map that brings an extrapolated point back to where H is finite."""

FIRST, BY_TRIAL = 0.01, 0.0
"""δ of the first step where one factor is fixed, and f convex; with two factors each row tries which is right."""


@final
@frozen(eq=False)
class Carried:
    """What the next iteration needs of those before."""

    Y_prev: Blocks
    theta: float
    """of Nesterov's sequence"""
    delta_U: Array
    """of each row of U; zero before the first step, which chooses them"""
    delta_V: Array


@final
@frozen
class MaskedNewton(Method[Carried]):
    """Levenberg–Marquardt steps on f(U, V) = min_W F, row by row for U and column by column for V.

    With f separate over the rows of U, and over the columns of V, an iteration is::

        Ȳ = Y^k + β_k (Y^k − Y^{k−1})
        U⁺: from Ū with V̄, a damped Newton step for each row, kept where f + H₁ falls
        V⁺: from V̄ with U⁺, a damped Newton step for each column, kept where f + H₂ falls

    It is for losses ½‖W − UV‖² with a W that depends on UV entry by entry. Only the active entries of such a loss bend
    f: with a share d of all, an iteration costs 4 + (r + 3)d products, and the first one 2 more: there each row takes
    the damping, of two, with which f + H falls more. β follows Nesterov's sequence; where
    Φ(U⁺, V⁺) > Φ(Y^k) it begins anew, and the step is taken again with β_k = 0. With ``balance`` the factors of the
    same product that have the least H follow. Where one factor is fixed, β_k = 0: every row is a problem of its own,
    which Newton's steps solve whatever the other rows do.
    """

    uses_kernel = False
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        _data(problem)
        for name in _block(problem).model.shapes((1, 1), 1):
            H = problem.regularizer[name]
            if Trait.SEPARABLE not in H.traits:
                raise IncompatibleError(
                    f"masked-newton goes coordinate by coordinate, and {H!r} on {name} is not separable: "
                    "use aapb, or a separable regularizer such as l1, l1-nonneg, ridge or elastic-net."
                )

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Carried]:
        return self.take_over(problem, Y, Momentum(Y, 1.0))

    def momentum(self, state: State[Carried]) -> Momentum:
        return Momentum(state.inner.Y_prev, state.inner.theta)

    def take_over(self, problem: ResolvedProblem, Y: Blocks, momentum: Momentum) -> State[Carried]:
        M = _data(problem)
        first = BY_TRIAL if len(Y) > 1 else FIRST
        deltas = (np.full(size, first) for size in M.shape)
        rest = Carried(momentum.Y_prev, momentum.theta, *deltas)
        return State.at(problem.oracle.evaluate(Y), problem.regularizer.value(Y), inner=rest)

    def advance(self, problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
        past = state.inner
        beta, theta = nesterov(past.theta) if len(state.Y) > 1 else (0.0, past.theta)
        step = _step(problem, past, _ahead(problem, state.Y, past.Y_prev, beta))
        if beta > 0 and not step.objective <= state.objective:
            beta, theta = nesterov(1.0)
            step = _step(problem, past, state.Y)
        block, Y, H, Y_prev = _block(problem), step.Y, step.H, state.Y
        if self.balance:
            Y, Y_prev = balanced(problem.smooth, problem.regularizer, Y, Y_prev)
            H = problem.regularizer.value(Y)
        factors = block.model.factors(Y)
        return State(
            iteration=state.iteration + 1,
            Y=Y,
            objective=step.value + H,
            metrics=block.metrics(step.error, math.sqrt(2.0 * block.curvature * max(step.value, 0.0)), *factors),
            lyapunov=step.value + H,
            scale=block.scale(step.value, *factors) + abs(H),
            rounding=block.rounding,
            beta=beta,
            stationarity=math.sqrt(step.residual),
            inner=Carried(Y_prev, theta, step.delta_U, step.delta_V),
        )

    @property
    def safeguard(self) -> str:
        return "a row that would raise Φ is not moved, and a step that would raise it is taken again without β"

    def subgradient(self, problem: ResolvedProblem, state: State[Carried]) -> Subgradient | None:
        """The element of ∂Φ(Y) of least norm, where four numbers spell H."""
        Y = state.Y
        penalties = {name: problem.regularizer[name].scalar() for name in Y.names}
        if None in penalties.values():
            return None
        evaluation = problem.oracle.evaluate(Y, at=Y)
        gradient = evaluation.gradient
        A = {name: h.steepest(Y[name], gradient[name]) for name, h in penalties.items() if h is not None}
        return Subgradient(Blocks(**A), gradient.norm(), evaluation.gradient_rounding)


def _ahead(problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, beta: float) -> Blocks:
    """Ȳ, brought back to where H is finite."""
    if beta == 0:
        return Y
    Y_bar, H = Y.plus(beta, Y - Y_prev), problem.regularizer
    return Y_bar if math.isfinite(H.value(Y_bar)) else H.prox(Y_bar, TINY_STEP / (Y.dot(Y) or 1.0))


@final
@frozen(eq=False)
class _Step:
    """The steps on all blocks, one after the other, and what is true after them."""

    Y: Blocks
    value: float
    error: float
    H: float
    residual: float
    """the sum of ``RowSteps.residual``"""
    delta_U: Array
    delta_V: Array

    @property
    def objective(self) -> float:
        return self.value + self.H


def _step(problem: ResolvedProblem, past: Carried, Y: Blocks) -> _Step:
    """From Y: on the rows of U, and on the columns of V; a block that is fixed stays."""
    H, M, block = problem.regularizer, _data(problem), _block(problem)
    L, R = block.model.factors(Y)
    taken: list[RowSteps] = []
    delta_U, delta_V = past.delta_U, past.delta_V
    if "U" in Y.names:
        taken.append(row_newton(block.loss, M, L, R, delta_U, H["U"], curvature=block.curvature))
        L, delta_U = taken[-1].U, taken[-1].delta
    if "V" in Y.names:
        loss, turned = block.loss.transposed, M.transposed
        taken.append(row_newton(loss, turned, R.T, L.T, delta_V, H["V"], curvature=block.curvature, by_columns=True))
        R, delta_V = taken[-1].U.T, taken[-1].delta
    problem.oracle.charge(sum(steps.products for steps in taken))
    new = Y.map(lambda name, _: L if name == "U" else R)
    last, residual = taken[-1], sum(steps.residual for steps in taken)
    return _Step(new, last.value, last.error, H.value(new), residual, delta_U, delta_V)


def _block(problem: ResolvedProblem) -> LowRankBlock:
    F = problem.smooth
    model = F.model if isinstance(F, Factorization) else None
    whole = model.model if isinstance(model, Frozen) else model
    if not isinstance(problem.block, LowRankBlock) or not isinstance(whole, Product):
        raise IncompatibleError(
            "masked-newton is for F = ½‖W − UV‖² without a graph term, where W depends on UV entry by entry, "
            f"and the {problem.name} is another: use aapb."
        )
    return problem.block


def _data(problem: ResolvedProblem) -> LocalMatrix:
    """M, of a problem that the method can solve."""
    M = _block(problem).M
    if not isinstance(M, LocalMatrix) or not M.in_memory:
        raise IncompatibleError(
            "masked-newton goes over M by rows and by columns, so M must be in memory, dense or sparse. "
            f"Got {M!r} instead: load it, or use aapb."
        )
    return M
