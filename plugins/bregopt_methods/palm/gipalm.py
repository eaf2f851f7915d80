"""GiPALM: inertia of Gauss-Seidel type, with which each block sees the other one extrapolated."""

from abc import abstractmethod
from typing import final

from attrs import field, frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
    Method,
    Regularizer,
    ResolvedProblem,
    State,
    Subgradient,
    assumptions_met,
    validate,
)
from bregopt_methods.palm.iteration import STEP, PalmUpdate, check_constants, palm_update


@final
@frozen(eq=False)
class Carried:
    """The update that made Y^k, the point Ỹ^k ahead of it, and the update that leaves from there."""

    made: PalmUpdate | None
    ahead: Blocks
    following: PalmUpdate


@frozen
class GaussSeidelInertia(Method[Carried]):
    """W, then U, then V, for k = 1, 2, … with Ỹ = Y at first::

        W  = argmin_W  F(Ũ, Ṽ, W) + G(W)
        U⁺ = prox_{H₁/c}(Û − ∇_U F(Û, Ṽ, W)/c)        Ũ⁺ = U⁺ + α(U⁺ − Ũ)
        V⁺ = prox_{H₂/d}(V̂ − ∇_V F(Ũ⁺, V̂, W)/d)       Ṽ⁺ = V⁺ + β(V⁺ − Ṽ)

    with a (Û, V̂) for each method, c = scale·L(Ṽ) and d = scale·L(Ũ⁺). Of more than two blocks the last has β, and all
    others have α. W is the exact minimiser at Ỹ, where the method stands: one sweep then gives all gradients, for three
    products of a factorisation, or four where H on U does not go by rows. Φ(Y) costs one more. State k holds Y^k with
    the update that leaves it. With α, β > 0 there is no theorem behind it here; without them the steps are those of a
    PALM-type method, at its price.
    """

    alpha: float = field(validator=validate.number(at_least=0, below=1))
    beta: float = field(validator=validate.number(at_least=0, below=1))
    scale: float = field(default=1.0, validator=validate.number(above=0), kw_only=True)
    uses_kernel = False

    @property
    @abstractmethod
    def moves(self) -> bool:
        """Whether there is inertia of any sort."""

    @abstractmethod
    def centre(self, k: int, Y: Blocks, Y_prev: Blocks, ahead: Blocks) -> Blocks:
        """(Û, V̂) of iteration k."""

    @final
    def check(self, problem: ResolvedProblem) -> None:
        check_constants(problem)

    @final
    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Carried]:
        following = self._update(problem, 1, Y, Y, Y, None)
        return State.at(following.evaluation, problem.regularizer.value(Y), inner=Carried(None, Y, following))

    @final
    def advance(self, problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
        made, k = state.inner.following, state.iteration + 1
        Y, ahead = made.Y, self._ahead(made.Y, state.inner.ahead)
        following = self._update(problem, k + 1, Y, state.Y, ahead, made)
        return State.at(
            following.evaluation if ahead is Y else problem.oracle.evaluate(Y),
            problem.regularizer.value(Y),
            iteration=k,
            step=1.0 / max(step.c for step in made.steps),
            beta=self.alpha,
            stationarity=made.residual,
            assumptions=assumptions_met(self.assumptions, made),
            inner=Carried(made, ahead, following),
        )

    def _ahead(self, Y: Blocks, ahead: Blocks) -> Blocks:
        """Ỹ⁺ = (U⁺ + α(U⁺ − Ũ), V⁺ + β(V⁺ − Ṽ))."""
        if self.alpha == self.beta == 0:
            return Y
        last = Y.names[-1]
        return Y.map(lambda name, X: X + (self.beta if name == last else self.alpha) * (X - ahead[name]))

    def _update(
        self, problem: ResolvedProblem, k: int, Y: Blocks, Y_prev: Blocks, ahead: Blocks, last: PalmUpdate | None
    ) -> PalmUpdate:
        centre = self.centre(k, Y, Y_prev, ahead)

        def seen(name: str, rows: slice, X: Array) -> Array:
            return X + self.alpha * (X - ahead[name][rows])

        return palm_update(
            problem, ahead, centre, centre, (0.0, 0.0), self._modulus, last, seen if self.alpha else None
        )

    def _modulus(self, H: Regularizer, L: float) -> float:
        return self.scale * L

    @final
    def subgradient(self, problem: ResolvedProblem, state: State[Carried]) -> Subgradient | None:
        made = state.inner.made
        return None if made is None else made.subgradient(problem)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return () if self.moves else (STEP,)


@final
@frozen
class GiPALM(GaussSeidelInertia):
    """Gauss-Seidel inertial PALM: each step is taken from a point ahead, and sees the other block ahead too.

    After Gao, Cai and Han: (Û, V̂) = (Ũ, Ṽ).
    """

    alpha: float = field(default=0.2, validator=validate.number(at_least=0, below=1))
    beta: float = field(default=0.2, validator=validate.number(at_least=0, below=1))

    @property
    def moves(self) -> bool:
        return self.alpha > 0 or self.beta > 0

    def centre(self, k: int, Y: Blocks, Y_prev: Blocks, ahead: Blocks) -> Blocks:
        return ahead
