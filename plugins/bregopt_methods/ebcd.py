"""eBCD-NMD: a turn over U and V from an extrapolated W, taken only if the residual falls."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Evaluation, Method, Problem, State, Subgradient, oracle_of, validate
from bregopt.errors import OverflowedError
from bregopt_methods.bare import bare_subgradient, check_bare, check_factors

NAME = "ebcd-nmd"
SINGULAR = 1e-13
"""Share of ‖VVᵀ‖ below which a direction of V counts as zero."""


@final
@frozen(eq=False)
class Ahead:
    """An evaluation at Y^k, and the Y that a turn from there with this α makes."""

    alpha: float
    mu: float
    evaluation: Evaluation
    Y: Blocks


@final
@frozen
class EBCD(Method):
    """Extrapolated block coordinate descent for ReLU-NMD without H: U⁺ = orth(W_α Vᵀ), V⁺ = U⁺ᵀW_α.

    With ``W_α = αW(UV) + (1 − α)UV``. A turn is taken if ``S = ‖W(UV) − UV‖`` falls, else Y stays and α = 1. Where S⁺
    is above ``ratio``·S, μ becomes max(μ, (α − 1)/4) and α grows by μ; at ``alpha_max`` it begins again with 1. One
    sweep shows S and makes the next turn: three products, and three more where α turns out to be another than that one.
    """

    alpha: float = field(default=1.0, validator=validate.number(at_least=1))
    mu: float = field(default=0.3, validator=validate.number(above=0))
    alpha_max: float = field(default=4.0, validator=validate.number(above=1))
    ratio: float = field(default=0.8, validator=validate.number(above=0, at_most=1))

    def check(self, problem: Problem) -> None:
        check_bare(problem, NAME)

    def start(self, problem: Problem, Y: Blocks) -> State:
        check_factors(problem, Y, NAME)
        ahead = turn(problem, Y, self.alpha, self.mu)
        return State.at(ahead.evaluation, 0.0, inner=ahead)

    def advance(self, problem: Problem, state: State) -> State:
        here: Ahead = state.inner
        there = turn(problem, here.Y, *self._longer(here))
        if there.evaluation.value < here.evaluation.value:
            if math.sqrt(there.evaluation.value / here.evaluation.value) <= self.ratio:
                there = turn(problem, here.Y, here.alpha, here.mu)
        else:
            there = here if here.alpha == 1 else turn(problem, state.Y, 1.0, here.mu)
        return State.at(there.evaluation, 0.0, iteration=state.iteration + 1, inner=there)

    def _longer(self, here: Ahead) -> tuple[float, float]:
        """α and μ where the residual falls, though slowly."""
        mu = max(here.mu, 0.25 * (here.alpha - 1.0))
        alpha = here.alpha + mu
        return (1.0 if alpha >= self.alpha_max else alpha), mu

    def subgradient(self, problem: Problem, state: State) -> Subgradient:
        return bare_subgradient(problem, state.Y)

    @property
    def assumptions(self) -> Mapping[str, str]:
        return {"descent": "a turn is taken only where the residual falls"}


def turn(problem: Problem, Y: Blocks, alpha: float, mu: float) -> Ahead:
    """The range of W_α Vᵀ is that of ``A = W_α V⁺ = U − αSV⁺`` with S = UV − W, which is made row by row."""
    first, second = Y.names
    U, V = Y[first], Y[second]
    pull = alpha * np.linalg.pinv(V @ V.T, rcond=SINGULAR, hermitian=True)

    def update(rows: slice, SVt: Array) -> Array:
        return np.asarray(U[rows] - SVt @ pull)

    swept = oracle_of(problem).sweep(Y, Y, update, row_wise=True)
    A = swept.first
    if not math.isfinite(np.vdot(A, A)):
        raise OverflowedError("A factor left the range of finite numbers.")
    AtS = swept.gradient - (A.T @ (A - U)) @ V  # the gradient is Aᵀ(AV − W) = Aᵀ(A − U)V + AᵀS
    Q, R = np.linalg.qr(A)
    V_new = np.linalg.lstsq(R.T, (A.T @ U) @ V - alpha * AtS)[0]  # Rᵀ QᵀW_α = AᵀW_α
    return Ahead(alpha, mu, swept.evaluation, Blocks(**{first: Q, second: V_new}))
