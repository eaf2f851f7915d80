"""Extrapolated least squares."""

from collections.abc import Mapping
from functools import partial
from typing import final

from attrs import field, frozen

from bregopt import Blocks, Method, Problem, State, Subgradient, validate
from bregopt_methods.least_squares import check_tikhonov, least_squares
from bregopt_methods.momentum import BOUND, DESCENT, begin, proceed, rebalanced, subgradient
from bregopt_methods.turn import turn


@final
@frozen
class ELS(Method):
    """Extrapolated least squares, for H = 0 or Tikhonov: W at Nesterov's point, then U and V by least squares.

    With y = Y^k + β_k(Y^k − Y^{k−1}), β_k = (θ_{k−1} − 1)/θ_k, and W = W(y)::

        U^{k+1} = argmin_U  F((U, V_y), W) + H(U) + (τ/2)‖U − U_y‖²,         τ = damping·tr(V_y V_yᵀ)/r
        V^{k+1} = argmin_V  F((U^{k+1}, V), W) + H(V) + (τ'/2)‖V − V_y‖²,    τ' alike

    The objective of a state is the bound F(Y^k, W) + H(Y^k) of Φ(Y^k), its metrics are those at y: both cost nothing.
    Where the bound would rise, θ starts anew and the step is made from Y^k. Three products an iteration, six where
    the step is made twice. A little damping tames the directions that a rank above the one of the data leaves open.
    With ``balance`` each iteration ends with the factors of the same product UV that have the least H.
    """

    damping: float = field(default=1e-3, validator=validate.number(at_least=0))
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: Problem) -> None:
        check_tikhonov(problem, "els")

    def start(self, problem: Problem, Y: Blocks) -> State:
        return begin(problem, Y)

    def advance(self, problem: Problem, state: State) -> State:
        solver = partial(least_squares, damping=self.damping)
        state = proceed(state, lambda y: turn(problem, y, solver, row_wise=True))
        return rebalanced(problem, state) if self.balance else state

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        return subgradient(problem, state.Y, state.inner.xi)

    @property
    def lyapunov(self) -> str:
        return BOUND

    @property
    def assumptions(self) -> Mapping[str, str]:
        return DESCENT
