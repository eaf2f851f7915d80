"""NMD-TM: Tikhonov's H, and momentum on W, on UV and on the factors."""

from typing import final

from attrs import field, frozen

from bregopt import Blocks, Method, ResolvedProblem, State, Subgradient, tikhonov, validate
from bregopt_methods.blockwise.els import check_tikhonov
from bregopt_methods.blockwise.extrapolated import subgradient
from bregopt_methods.nmd.bcd_nmd import RESTARTED, Momentum, three_block_step
from bregopt_methods.nmd.unregularized import check_factors

NAME = "nmd-tm"
TRIED = 0.7
"""The largest β with which the published form converged on random data."""
DIVERGED = "the published form, which has no such test, diverged on random data with β = 0.95"


@final
@frozen
class NMDTM(Method[Momentum]):
    """NMD-TM, for H = 0 or Tikhonov: ``3b-nmd`` with ``(η/2)‖·‖²`` on U and on V, and each averaged with the last one.

    ``U⁺ = argmin F((U, V), Z) + H(U)``, U⁺ ← U⁺ + β₂(U⁺ − U) with β₂ = ``average`` ≤ 0, and V⁺ alike. η is that of the
    problem, ``ridge(η)`` on each block: its authors take 1e-4. Z and T̄ are as in ``3b-nmd``. Its authors' β is 0.95.
    The published form diverged with it on random data, and converged with 0.5 to 0.7. With ``guard``, which it does not
    have, a step that would raise Φ is made again without momentum from Y^k. That one does not raise it: each block goes
    towards the minimiser of a convex function. Thirteen products an iteration, seven more where it is made again.
    """

    uses_kernel = False
    beta: float = field(default=0.7, validator=validate.number(at_least=0, below=1))
    average: float = field(default=-0.05, validator=validate.number(above=-1, at_most=0))
    guard: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        check_tikhonov(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Momentum]:
        check_factors(problem, Y, NAME)
        return State.at(problem.oracle.evaluate(Y), problem.regularizer.value(Y), inner=Momentum(Y, Y))

    def advance(self, problem: ResolvedProblem, state: State[Momentum]) -> State[Momentum]:
        return three_block_step(problem, state, self.beta, self.average, guard=self.guard)

    def subgradient(self, problem: ResolvedProblem, state: State[Momentum]) -> Subgradient | None:
        """``A = ∇F(Y, W(Y)) + ηY``."""
        xi = state.Y.map(lambda name, X: (tikhonov(problem.regularizer[name]) or 0.0) * X)
        return subgradient(problem, state.Y, xi)

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k)" if self.guard or self.beta <= TRIED else f"Φ(Y^k) ({DIVERGED})"

    @property
    def safeguard(self) -> str:
        if not self.guard:
            return ""
        return RESTARTED if self.beta <= TRIED else f"{RESTARTED}; {DIVERGED}"
