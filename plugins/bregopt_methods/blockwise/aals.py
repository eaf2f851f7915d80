"""Anderson-accelerated least squares."""

from functools import partial
from typing import final

from attrs import field, frozen

from bregopt import Blocks, Method, ResolvedProblem, State, Subgradient, balanced, tikhonov, validate
from bregopt_methods.acceleration.anderson import Mixing
from bregopt_methods.blockwise.block_update import block_update, check_blocks
from bregopt_methods.blockwise.els import check_tikhonov, least_squares
from bregopt_methods.blockwise.extrapolated import subgradient


@final
@frozen
class AALS(Method[Mixing]):
    """Anderson-accelerated least squares, for H = 0 or Tikhonov: mixes the last updates of alternating least squares.

    T(Y) is W(Y), then U and V by least squares, as in els without extrapolation, and balanced as there. Y^{k+1} is
    Anderson's mixture of the images of the last points; where Φ would rise it is T(Y^k), and the memory starts anew.
    State k holds Y^k with T(Y^k), so its objective is exact. Three products an iteration, six where the mixture is
    refused.
    """

    uses_kernel = False
    memory: int = field(default=10, validator=validate.whole(at_least=1))
    damping: float = field(default=1e-3, validator=validate.number(at_least=0))
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        check_tikhonov(problem, "aals")

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Mixing]:
        check_blocks(problem, Y, "aals")
        return self._seen(problem, Y, None, None)

    def advance(self, problem: ResolvedProblem, state: State[Mixing]) -> State[Mixing]:
        past = state.inner
        if past.changes:
            mixed = self._seen(problem, past.point(), past, state)
            if mixed.objective <= state.objective:
                return mixed
        return self._seen(problem, past.image, past.anew(), state)

    def _seen(
        self, problem: ResolvedProblem, Y: Blocks, past: Mixing | None, last: State[Mixing] | None
    ) -> State[Mixing]:
        """Y with Φ(Y) and T(Y), after the last state."""
        made = block_update(problem, Y, partial(least_squares, damping=self.damping), row_wise=True)
        image = balanced(problem.smooth, problem.regularizer, made.Y)[0] if self.balance else made.Y
        objective, rounding = made.evaluation.value + problem.regularizer.value(Y), made.evaluation.rounding
        scale = max(made.scale, made.evaluation.scale + objective - made.evaluation.value)
        return State(
            iteration=0 if last is None else last.iteration + 1,
            Y=Y,
            objective=objective,
            metrics=made.evaluation.metrics,
            lyapunov=objective,
            scale=scale,
            rounding=rounding,
            stationarity=made.residual,
            inner=Mixing(self.memory, image, image - Y) if past is None else past.seen(Y, image),
        )

    def subgradient(self, problem: ResolvedProblem, state: State[Mixing]) -> Subgradient | None:
        """``A = ∇F(Y, W(Y)) + ηY``."""
        xi = state.Y.map(lambda name, X: (tikhonov(problem.regularizer[name]) or 0.0) * X)
        return subgradient(problem, state.Y, xi)

    @property
    def safeguard(self) -> str:
        return "a mixture that would raise Φ is replaced by the plain update"
