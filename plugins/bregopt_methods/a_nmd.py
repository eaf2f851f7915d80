"""A-NMD: truncated SVDs of W with momentum on both, which a refused step cuts."""

from typing import final

from attrs import evolve, field, frozen

from bregopt import Blocks, Method, Problem, State, Subgradient, gradient_of, oracle_of, validate
from bregopt_methods.bare import bare_subgradient, check_bare, check_factors
from bregopt_methods.tangent import ahead, bases, truncated

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
class ANMD(Method):
    """A-NMD, without H: ``Z = W(T̄) + β(W(T̄) − W_prev)``, ``T⁺ = TSVD_r(Z)``, ``T̄⁺ = T⁺ + β(T⁺ − T)``.

    From the third on, a step is taken if the objective falls: then β grows to min(β̄, γβ), and β̄ to min(1, γ̄β); else T
    stays, β becomes ηβ, and β̄ the last β that did well. Its authors carry the extrapolated Z and T over to the next
    differences, so that Z has a share in every W so far, and the rank of T̄ grows; here W_prev is the last W itself, and
    T̄ has the factors of T⁺ extrapolated: two W, each at a matrix of rank r, and nothing of the size of M. The SVD is
    that of Z on the tangent space at T̄, ``steps`` times over, which leads to the exact one; six products a step.
    """

    beta: float = field(default=0.7, validator=validate.number(at_least=0, at_most=1))
    eta: float = field(default=0.4, validator=validate.number(above=0, below=1))
    gamma: float = field(default=1.1, validator=validate.number(at_least=1))
    gamma_bar: float = field(default=1.05, validator=validate.number(at_least=1))
    steps: int = field(default=2, validator=validate.whole(at_least=1))

    def check(self, problem: Problem) -> None:
        check_bare(problem, NAME)

    def start(self, problem: Problem, Y: Blocks) -> State:
        check_factors(problem, Y, NAME)
        return State.at(oracle_of(problem).evaluate(Y), 0.0, inner=Momentum(Y, Y, self.beta, 1.0, self.beta))

    def advance(self, problem: Problem, state: State) -> State:
        past: Momentum = state.inner
        k, beta = state.iteration + 1, past.beta
        Y = self._truncated(problem, past)
        seen = oracle_of(problem).evaluate(Y)
        if k > SETTLED and not seen.value < state.objective:
            rest = Momentum(state.Y, past.there, self.eta * beta, past.good, past.good)
            return evolve(state, iteration=k, beta=beta, inner=rest)
        bound, following = past.bound, beta
        if k > SETTLED:
            following = min(past.bound, self.gamma * beta)
            bound = min(1.0, self.gamma_bar * following)
        onward = Momentum(ahead(Y, state.Y, beta), past.here, following, bound, beta)
        return State.at(seen, 0.0, iteration=k, beta=beta, inner=onward)

    def _truncated(self, problem: Problem, past: Momentum) -> Blocks:
        """TSVD_r of Z: as its weights add up to one, they make ∇½‖Z − UV‖² of the gradients for the single W."""
        Y = past.here
        for _ in range(self.steps):
            at = bases(Y)
            G = gradient_of(oracle_of(problem).evaluate(past.here, at=at))
            if past.there is not past.here and past.beta > 0:
                G = G.plus(past.beta, G - gradient_of(oracle_of(problem).evaluate(past.there, at=at)))
            Y = truncated(at, G)
        return Y

    def subgradient(self, problem: Problem, state: State) -> Subgradient:
        return bare_subgradient(problem, state.Y)
