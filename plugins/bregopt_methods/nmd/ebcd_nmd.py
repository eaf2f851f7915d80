"""eBCD-NMD: an update of U and V from an extrapolated W, taken only if the residual falls."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Evaluation, Method, ResolvedProblem, State, Subgradient, validate
from bregopt.errors import OverflowedError
from bregopt_methods.nmd.unregularized import check_factors, check_unregularized, curvature, unregularized_subgradient

NAME = "ebcd-nmd"
SINGULAR = 1e-13
"""Share of ‖VVᵀ‖ below which a direction of V counts as zero."""


@final
@frozen(eq=False)
class Update:
    """An evaluation at Y^k, and the Y that an update from there with this α makes."""

    alpha: float
    mu: float
    evaluation: Evaluation
    Y: Blocks


@final
@frozen
class EBCD(Method[Update]):
    """Extrapolated block coordinate descent for ReLU-NMD without H: U⁺ = orth(W_α Vᵀ), V⁺ = U⁺ᵀW_α.

    With ``W_α = αW(UV) + (1 − α)UV``; a power of two then brings both to one size. An update is taken if
    ``S = ‖W(UV) − UV‖`` falls, else Y stays and α = 1. Where S⁺ is above ``ratio``·S, μ becomes max(μ, (α − 1)/4) and α
    grows by μ; at ``alpha_max`` it begins again with 1. One sweep shows S and makes the next update for the α that is
    expected: three products. Three more are needed where α is another.
    """

    uses_kernel = False
    alpha: float = field(default=1.0, validator=validate.number(at_least=1))
    mu: float = field(default=0.3, validator=validate.number(above=0))
    alpha_max: float = field(default=4.0, validator=validate.number(above=1))
    ratio: float = field(default=0.8, validator=validate.number(above=0, at_most=1))

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Update]:
        check_factors(problem, Y, NAME)
        following = update(problem, Y, self.alpha, self.mu)
        return State.at(following.evaluation, 0.0, inner=following)

    def advance(self, problem: ResolvedProblem, state: State[Update]) -> State[Update]:
        here = state.inner
        there = update(problem, here.Y, *self._longer(here))
        if there.evaluation.value < here.evaluation.value:
            if math.sqrt(there.evaluation.value / here.evaluation.value) <= self.ratio:
                there = update(problem, here.Y, here.alpha, here.mu)
        else:
            there = here if here.alpha == 1 else update(problem, state.Y, 1.0, here.mu)
        return State.at(there.evaluation, 0.0, iteration=state.iteration + 1, inner=there)

    def _longer(self, here: Update) -> tuple[float, float]:
        """α and μ where the residual falls, though slowly."""
        mu = max(here.mu, 0.25 * (here.alpha - 1.0))
        alpha = here.alpha + mu
        return (1.0 if alpha >= self.alpha_max else alpha), mu

    def subgradient(self, problem: ResolvedProblem, state: State[Update]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)

    @property
    def safeguard(self) -> str:
        return "an update is taken only where the residual falls"


def update(problem: ResolvedProblem, Y: Blocks, alpha: float, mu: float) -> Update:
    """The range of W_α Vᵀ is that of ``A = W_α V⁺ = U − αSV⁺`` with S = UV − W, which is made row by row."""
    first, second = Y.names
    U, V = Y[first], Y[second]
    c = curvature(problem, Y)
    pull = (alpha / c) * np.linalg.pinv(V @ V.T, rcond=SINGULAR, hermitian=True)

    def pulled(name: str, rows: slice, SVt: Array) -> Array:
        return np.asarray(U[rows] - SVt @ pull)

    sweep = problem.oracle.sweep(Y, Y, pulled, row_wise=True)
    A = sweep.Y[first]
    if not math.isfinite(np.vdot(A, A)):
        raise OverflowedError("A factor left the range of finite numbers.")
    AtS = sweep.gradient / c - (A.T @ (A - U)) @ V  # the gradient is cAᵀ(AV − W) = cAᵀ(A − U)V + cAᵀS
    Q, R = np.linalg.qr(A)
    V_new = np.linalg.lstsq(R.T, (A.T @ U) @ V - alpha * AtS)[0]  # Rᵀ QᵀW_α = AᵀW_α
    size = _balance(Q, V_new)
    return Update(alpha, mu, sweep.evaluation, Blocks(**{first: size * Q, second: V_new / size}))


def _balance(U: Array, V: Array) -> float:
    """The power of two c that brings ‖cU‖ and ‖V/c‖ close to each other: it changes no digit of cU and V/c.

    An orthonormal U would have no unit, and a gradient of parts in different units says nothing.
    """
    norms = float(np.linalg.norm(U)), float(np.linalg.norm(V))
    return 2.0 ** round(0.5 * math.log2(norms[1] / norms[0])) if min(norms) > 0 else 1.0
