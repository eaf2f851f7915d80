"""A-NMD: truncated SVDs of W with momentum on both, which a refused step cuts."""

import math
from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Blocks, Method, ResolvedProblem, State, Subgradient, validate
from bregopt_methods.nmd.unregularized import check_factors, check_unregularized, curvature, unregularized_subgradient

NAME = "a-nmd"
SETTLED = 2
"""Iterations whose step is taken in any case, with the first β."""


@final
@frozen(eq=False)
class Momentum:
    """What an iteration leaves to the next."""

    here: Blocks
    """the factors of T, extrapolated"""
    there: Blocks
    """those that the last W was taken at"""
    beta: float
    bound: float
    """β̄ ≥ β"""
    good: float
    """the last β whose step was taken"""


@final
@frozen
class ANMD(Method[Momentum]):
    """A-NMD, without H: ``Z = W(T̄) + β(W(T̄) − W_prev)``, ``T⁺ = TSVD_r(Z)``, ``T̄⁺ = T⁺ + β(T⁺ − T)``.

    From the third on, a step is taken if the objective falls: then β grows to min(β̄, γβ), and β̄ to min(1, γ̄β); else T
    stays, β becomes ηβ, and β̄ the last β that did well. Its authors carry the extrapolated Z and T over to the next
    differences, so that Z has a share in every W so far, and the rank of T̄ grows; here W_prev is the last W itself, and
    T̄ has the factors of T⁺ extrapolated: two W, each at a matrix of rank r, and nothing of the size of M. The SVD is
    that of Z on the tangent space at T̄, ``steps`` times over, which leads to the exact one; six products a step.
    """

    uses_kernel = False
    beta: float = field(default=0.7, validator=validate.number(at_least=0, at_most=1))
    eta: float = field(default=0.4, validator=validate.number(above=0, below=1))
    gamma: float = field(default=1.1, validator=validate.number(at_least=1))
    gamma_bar: float = field(default=1.05, validator=validate.number(at_least=1))
    steps: int = field(default=2, validator=validate.whole(at_least=1))

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Momentum]:
        check_factors(problem, Y, NAME)
        return State.at(problem.oracle.evaluate(Y), 0.0, inner=Momentum(Y, Y, self.beta, 1.0, self.beta))

    def advance(self, problem: ResolvedProblem, state: State[Momentum]) -> State[Momentum]:
        past = state.inner
        k, beta = state.iteration + 1, past.beta
        Y = self._truncated(problem, past)
        seen = problem.oracle.evaluate(Y)
        if k > SETTLED and not seen.value < state.objective:
            rest = Momentum(state.Y, past.there, self.eta * beta, past.good, past.good)
            return evolve(state, iteration=k, beta=beta, inner=rest)
        bound, following = past.bound, beta
        if k > SETTLED:
            following = min(past.bound, self.gamma * beta)
            bound = min(1.0, self.gamma_bar * following)
        onward = Momentum(extrapolated(Y, state.Y, beta), past.here, following, bound, beta)
        return State.at(seen, 0.0, iteration=k, beta=beta, inner=onward)

    def _truncated(self, problem: ResolvedProblem, past: Momentum) -> Blocks:
        """TSVD_r of Z: as its weights add up to one, they make ∇½‖Z − UV‖² of the gradients for the single W."""
        Y, c = past.here, curvature(problem, past.here)
        for _ in range(self.steps):
            Q, size = bases(Y), root_size(Y)
            at = size * Q
            G = problem.oracle.evaluate(past.here, at=at).gradient
            if past.there is not past.here and past.beta > 0:
                G = G.plus(past.beta, G - problem.oracle.evaluate(past.there, at=at).gradient)
            Y = truncated(Q, size, G if c == 1 else G * (1.0 / c))
        return Y

    def subgradient(self, problem: ResolvedProblem, state: State[Momentum]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)


def bases(Y: Blocks) -> Blocks:
    """Orthonormal bases of the columns of U and the rows of V."""
    return Y.map(lambda name, X: np.linalg.qr(X)[0] if name == Y.names[0] else np.linalg.qr(X.T)[0].T)


def root_size(Y: Blocks) -> float:
    """``√(|U||V|)`` up to a factor of two, as a power of two: what is multiplied by it keeps its digits."""
    U, V = (math.frexp(float(np.linalg.norm(Y[name]))) for name in Y.names)
    return math.ldexp(1.0, (U[1] + V[1]) // 2)


def truncated(bases: Blocks, size: float, gradient: Blocks) -> Blocks:
    """Balanced factors of the best rank-r approximation of ``PZ + ZQ − PZQ``, P = UUᵀ and Q = VᵀV for bases (U, V).

    Z is known by the gradient of ½‖Z − UV‖² at t·(U, V), which is (t³U − tZVᵀ, t³V − tUᵀZ). The ``size`` t makes t²UV
    as large as Z: next to a larger one Z would lose its digits.
    """
    first, second = bases.names
    U, V, r = bases[first], bases[second], bases[second].shape[0]
    ZVt, UtZ = (size**2 * bases[name] - gradient[name] / size for name in bases.names)
    C = U.T @ ZVt
    left, L = np.linalg.qr(ZVt - U @ C)
    right, R = np.linalg.qr((UtZ - C @ V).T)
    P, s, Qt = np.linalg.svd(np.block([[C, R.T], [L, np.zeros_like(C)]]))
    root = np.sqrt(s[:r])
    new_U = (U @ P[:r, :r] + left @ P[r:, :r]) * root
    new_V = root[:, None] * (Qt[:r, :r] @ V + Qt[:r, r:] @ right.T)
    return Blocks(**{first: new_U, second: new_V})


def extrapolated(Y: Blocks, Y_prev: Blocks, beta: float) -> Blocks:
    """``Y + β(Y − Y_prev)``, with the factors of Y_prev rotated, (UG, GᵀV), to lie as near to those of Y as can be."""
    first, second = Y.names
    P, _, Qt = np.linalg.svd(Y_prev[first].T @ Y[first] + Y_prev[second] @ Y[second].T)
    G = P @ Qt
    rotated = Blocks(**{first: Y_prev[first] @ G, second: G.T @ Y_prev[second]})
    return Y.plus(beta, Y - rotated)
