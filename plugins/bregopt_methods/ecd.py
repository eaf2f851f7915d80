"""Extrapolated coordinate descent."""

from collections.abc import Mapping
from functools import partial
from typing import final

from attrs import field, frozen

from bregopt import Blocks, Method, Problem, State, Subgradient, Trait, validate
from bregopt.errors import IncompatibleError
from bregopt_methods.coordinates import coordinates
from bregopt_methods.momentum import BOUND, DESCENT, begin, proceed, rebalanced, subgradient
from bregopt_methods.turn import turn


@final
@frozen
class ECD(Method):
    """Extrapolated coordinate descent, for a separable H: W at Nesterov's point, then coordinates one by one.

    With y = Y^k + β_k(Y^k − Y^{k−1}), β_k = (θ_{k−1} − 1)/θ_k, and W = W(y) an iteration makes ``sweeps`` times::

        for p = 1 … r:   U_ip ← argmin over this entry of F((U, V_y), W) + H(U),   for all rows i at once

    and then the same for V with U^{k+1}. The objective of a state is the bound F(Y^k, W) + H(Y^k) of Φ(Y^k), its
    metrics are those at y: both cost nothing. Where the bound would rise, θ starts anew and the step is made from Y^k.
    Three products an iteration, six where the step is made twice; four and eight where H on U is not row-wise.
    With ``balance`` each iteration ends with the multiples of columns of U and rows of V, of the same product UV, that
    have the least H; for Tikhonov's H these are the factors that have it.
    """

    sweeps: int = field(default=2, validator=validate.whole(at_least=1))
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: Problem) -> None:
        for H in problem.regularizer.distinct():
            if Trait.SEPARABLE not in H.traits:
                raise IncompatibleError(
                    f"The method ecd sets the entries of a block one by one: it can take a separable H, such as none, "
                    f"l1, nonneg, ridge or mcp. Got {H!r} instead; aapb takes every H with a Bregman proximal map."
                )

    def start(self, problem: Problem, Y: Blocks) -> State:
        return begin(problem, Y)

    def advance(self, problem: Problem, state: State) -> State:
        solver = partial(coordinates, sweeps=self.sweeps)
        row_wise = Trait.ROW_WISE in problem.regularizer[state.Y.names[0]].traits
        state = proceed(state, lambda y: turn(problem, y, solver, row_wise=row_wise))
        return rebalanced(problem, state) if self.balance else state

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        return subgradient(problem, state.Y, state.inner.xi)

    @property
    def lyapunov(self) -> str:
        return BOUND

    @property
    def assumptions(self) -> Mapping[str, str]:
        return DESCENT
