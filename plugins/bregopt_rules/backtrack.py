"""A step found by backtracking, as in BPG-WB: L goes up until the upper test holds."""

from typing import ClassVar, final

from attrs import field, frozen

from bregopt import StepRule, Trial, validate
from bregopt_rules.step import SHORTEST


@final
@frozen
class Backtrack(StepRule):
    """``λ_k = 1/L_k ≤ λ_{k−1}``: L_k from ``L`` upward by the factor ``grow`` until ``D_F(Y⁺, Ȳ) ≤ L_k·D_ψ(Y⁺, Ȳ)``."""

    L: float = field(default=0.01, validator=validate.number(above=0))
    grow: float = field(default=1.1, validator=validate.number(above=1))
    tests: ClassVar[bool] = True

    def needs_limit(self, carried: float | None) -> bool:
        return False

    def propose(self, carried: float | None, limit: float | None) -> float:
        return carried if carried is not None else 1.0 / self.L

    def judge(self, trial: Trial) -> tuple[bool, float]:
        if trial.holds or trial.D_psi / trial.step <= trial.noise or trial.step <= SHORTEST:
            return True, trial.step
        return False, trial.step / self.grow
