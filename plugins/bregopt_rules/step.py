"""Step rules: a constant step, and one that only falls."""

from typing import ClassVar, final

from attrs import field, frozen

from bregopt import StepRule, Trial, validate
from bregopt.errors import IncompatibleError

SHORTEST = 1e-30


@final
@frozen
class ConstantStep(StepRule):
    """``λ_k = λ``; without a value λ_k = 1/L, the longest step that needs no test."""

    step: float | None = field(default=None, validator=validate.number(above=0, optional=True))

    def propose(self, carried: float | None, limit: float | None) -> float:
        if self.step is not None:
            return self.step
        if limit is None:
            raise IncompatibleError(
                "No constant L is known for this smooth part and kernel, so there is no default step: "
                "implement SmoothPart.smad, or use step='monotone' or a number."
            )
        return limit


@final
@frozen
class Monotone(StepRule):
    """``λ_k ≤ λ_{k−1}``: from ``start/L``, shortened until ``D_F(Y⁺, Ȳ) ≤ D_ψ(Y⁺, Ȳ)/λ_k``."""

    start: float = field(default=10.0, validator=validate.number(above=0))
    shrink: float = field(default=0.5, validator=validate.number(above=0, below=1))
    tests: ClassVar[bool] = True

    def propose(self, carried: float | None, limit: float | None) -> float:
        return carried if carried is not None else self.start * (limit or 1.0)

    def judge(self, trial: Trial) -> tuple[bool, float]:
        if trial.holds or trial.D_psi / trial.step <= trial.noise or trial.step <= SHORTEST:
            return True, trial.step
        return False, self.shrink * trial.step
