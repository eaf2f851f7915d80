"""Step rules: a constant step, two that only fall, and one that follows the curvature seen."""

import math
from typing import ClassVar, final

from attrs import field, frozen

from bregopt import StepRule, Trial, validate
from bregopt.errors import IncompatibleError

SLOWER = 0.8
"""A step that passed the test is followed by one of at least that part of it: momentum suffers from jumps."""
ROOM = 10.0
"""How far an estimate of the noise may be off."""


def _lost_in_noise(trial: Trial) -> bool:
    """Whether both sides of the test are rounding, so that it says nothing."""
    return trial.D_psi / trial.step <= trial.noise and ROOM * trial.noise >= trial.D_F


@final
@frozen
class ConstantStep(StepRule):
    """``λ_k = λ``; without a value λ_k = scale/L, where 1/L is the longest step that needs no test."""

    step: float | None = field(default=None, validator=validate.number(above=0, optional=True))
    scale: float = field(default=1.0, validator=validate.number(above=0))

    def needs_limit(self, carried: float | None) -> bool:
        return self.step is None

    def propose(self, carried: float | None, limit: float | None) -> float:
        if self.step is not None:
            return self.step
        if limit is None:
            raise IncompatibleError(
                "No constant L is known for this smooth part and kernel, so there is no default step: "
                "implement SmoothPart.smad, or use step='monotone', step='backtrack' or a number."
            )
        return self.scale * limit


@final
@frozen
class Monotone(StepRule):
    """``λ_k ≤ λ_{k−1}``: from ``start/L``, shortened until ``D_F(Y⁺, Ȳ) ≤ D_ψ(Y⁺, Ȳ)/λ_k``."""

    start: float = field(default=10.0, validator=validate.number(above=0))
    shrink: float = field(default=0.5, validator=validate.number(above=0, below=1))
    tests: ClassVar[bool] = True

    def needs_limit(self, carried: float | None) -> bool:
        return carried is None

    def propose(self, carried: float | None, limit: float | None) -> float:
        return carried if carried is not None else self.start * (limit or 1.0)

    def judge(self, trial: Trial) -> tuple[bool, float]:
        if trial.holds or _lost_in_noise(trial):
            return True, trial.step
        return False, self.shrink * trial.step


@final
@frozen
class Backtrack(StepRule):
    """``λ_k = 1/L_k ≤ λ_{k−1}``: L_k from ``L`` upward by the factor ``grow`` until ``D_F(Y⁺, Ȳ) ≤ L_k·D_ψ(Y⁺, Ȳ)``.

    It is the backtracking of BPG-WB.
    """

    L: float = field(default=0.01, validator=validate.number(above=0))
    grow: float = field(default=1.1, validator=validate.number(above=1))
    tests: ClassVar[bool] = True

    def needs_limit(self, carried: float | None) -> bool:
        return False

    def propose(self, carried: float | None, limit: float | None) -> float:
        return carried if carried is not None else 1.0 / self.L

    def judge(self, trial: Trial) -> tuple[bool, float]:
        if trial.holds or _lost_in_noise(trial):
            return True, trial.step
        return False, trial.step / self.grow


@final
@frozen
class Predicted(StepRule):
    """``λ = target/L`` for the curvature ``L = D_F/D_ψ`` of the last step, within 0.8λ and 2λ, by the upper test.

    A step that fails the test is taken again with ``min(λ/2, 0.9/L)``. The first is 1/L of the theory, or 1.
    """

    target: float = field(default=0.6, validator=validate.number(above=0, below=1))
    tests: ClassVar[bool] = True

    def needs_limit(self, carried: float | None) -> bool:
        return carried is None

    def propose(self, carried: float | None, limit: float | None) -> float:
        return carried if carried is not None else limit or 1.0

    def judge(self, trial: Trial) -> tuple[bool, float]:
        step = trial.step
        if _lost_in_noise(trial):
            return True, step
        curvature = max(trial.D_F, 0.0) / trial.D_psi
        if not trial.holds:
            return False, min(0.5 * step, 0.9 / curvature) if math.isfinite(curvature) else 0.25 * step
        wanted = self.target / curvature if curvature > 0 else math.inf
        return True, min(max(wanted, SLOWER * step), 2.0 * step)
