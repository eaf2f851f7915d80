"""What PALM-type methods share: W exactly, then a proximal gradient step on each of two blocks."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import final

import numpy as np

from bregopt import Blocks, Method, Problem, Regularizer, SmoothPart, State, Subgradient, gradient_of, oracle_of
from bregopt.errors import IncompatibleError
from bregopt_methods.palm_turn import PalmTurn, palm_turn


class PalmMethod(Method):
    """W, then U, then V, for k = 1, 2, … with Δ = Y − Y_prev, which is zero at first::

        W  = argmin_W  F(U, V, W) + G(W)
        U⁺ = prox_{H₁/c}(U + α_k Δ_U − ∇_U F(U + β_k Δ_U, V, W)/c)
        V⁺ = prox_{H₂/d}(V + α_k Δ_V − ∇_V F(U⁺, V + β_k Δ_V, W)/d)

    U and V stand for the two blocks of the problem, in their order. State k holds Y^k with the turn that leaves it, so
    the one sweep of an iteration also shows Φ(Y^k, W(Y^k)). The step of a state is the shorter one of 1/c and 1/d.
    """

    @property
    @abstractmethod
    def moves(self) -> bool:
        """Whether there is inertia."""

    @abstractmethod
    def inertia(self, k: int) -> tuple[float, float]:
        """α_k and β_k."""

    @abstractmethod
    def modulus(self, H: Regularizer, L: float) -> float:
        """c for a block with this H and an L-Lipschitz gradient; an H that the rule has no c for is refused."""

    @final
    def check(self, problem: Problem) -> None:
        F = type(problem.smooth)
        if F.gram is SmoothPart.gram and F.block_lipschitz is SmoothPart.block_lipschitz:
            raise IncompatibleError(
                f"A PALM-type method needs Lipschitz constants of ∇F, and {F.__name__} knows none: "
                "implement its method gram or block_lipschitz, or use the method aapb, which needs none."
            )
        for H in problem.regularizer.distinct():
            self.modulus(H, 1.0)

    @final
    def start(self, problem: Problem, Y: Blocks) -> State:
        if len(Y.names) != 2:
            raise IncompatibleError(
                f"A PALM-type method needs two blocks. Got {', '.join(Y.names)} instead: "
                "use the method aapb, which takes any number."
            )
        ahead = palm_turn(problem, Y, Y, self.inertia(1), self.modulus, weights=(math.inf, math.inf))
        return State.at(ahead.evaluation, problem.regularizer.value(Y), inner=(None, ahead))

    @final
    def advance(self, problem: Problem, state: State) -> State:
        made: PalmTurn = state.inner[1]
        k, Y = state.iteration + 1, made.Y
        ahead = palm_turn(problem, Y, state.Y, self.inertia(k + 1), self.modulus, made.weights)

        return State.at(
            ahead.evaluation,
            problem.regularizer.value(Y),
            iteration=k,
            lag=_lag(made, state.Y) if self.moves else 0.0,
            step=1.0 / max(step.c for step in made.steps),
            beta=made.steps[0].beta,
            stationarity=made.residual,
            assumptions={name: made.assumptions[name] for name in self.assumptions},
            inner=(made, ahead),
        )

    @final
    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """A = ∇F(Y, W(Y)) + ξ, with ξ ∈ ∂H(Y) from the steps that made Y; it costs an evaluation."""
        made: PalmTurn | None = state.inner[0]
        if made is None:
            return None
        slope = gradient_of(oracle_of(problem).evaluate(state.Y, at=state.Y))
        return Subgradient(slope + made.xi, slope.norm())

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + ½Σδ|Y^k − Y^{k−1}|², a δ for each block" if self.moves else "Φ(Y^k)"

    @property
    def assumptions(self) -> Mapping[str, str]:
        step = {"step": "c ≥ L in both blocks; where H is ρ-weakly convex 2c ≥ L + ρ will do"}
        kept = "c allows for the inertia and for the growth of L: A − κ²/δ ≥ 0 in both blocks"
        return step | {"extrapolation": kept} if self.moves else step


def _lag(made: PalmTurn, Y_prev: Blocks) -> float:
    """``½Σδ‖Y − Y_prev‖²``."""
    pairs = zip(Y_prev.names, made.weights, strict=True)
    return 0.5 * sum(delta * float(np.linalg.norm(made.Y[name] - Y_prev[name])) ** 2 for name, delta in pairs)
