"""How long a step is: the λ of the Bregman proximal step."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np
from attrs import frozen

from bregopt.errors import OverflowedError
from bregopt.part_errors import instance, number, pair


@final
@frozen
class Trial:
    """A step that was taken: accepted if ``D_F ≤ D_ψ/λ``."""

    step: float
    D_F: float
    """f(Y⁺) − F(Ȳ, W) − G(W) − ⟨∇F(Ȳ, W), Y⁺ − Ȳ⟩"""
    D_psi: float
    """D_ψ(Y⁺, Ȳ)"""
    noise: float
    """differences below this are rounding"""

    @property
    def holds(self) -> bool:
        """The upper test, up to rounding."""
        return self.D_psi / self.step + self.noise >= self.D_F


class StepRule(ABC):
    """A rule for λ_k."""

    tests: ClassVar[bool] = False
    """Whether ``judge`` is to be asked: it costs the value at each new point before the step is accepted."""

    @abstractmethod
    def propose(self, carried: float | None, limit: float | None) -> float:
        """λ for the coming step, from the step carried over (``None`` at first) and 1/L (``None`` if unknown or
        not needed)."""

    def needs_limit(self, carried: float | None) -> bool:
        """Whether ``propose`` reads 1/L, which may cost something to know."""
        return True

    def judge(self, trial: Trial) -> tuple[bool, float]:
        """Whether the step is accepted, and the step to carry on with: a shorter one where it is not."""
        return True, trial.step

    @final
    def proposal(self, carried: float | None, limit: float | None) -> float:
        """``propose``, with its answer checked: what methods ask."""
        return number(self, "propose", self.propose(carried, limit), above=0.0, finite=True)

    @final
    def judgement(self, trial: Trial) -> tuple[bool, float]:
        """``judge``, with its answer checked: what methods ask."""
        accepted, step = pair(self, "judge", self.judge(trial), "accepted, λ")
        instance(self, "judge", accepted, (bool, np.bool_), "True or False, and λ")
        if isinstance(step, float) and not (step > 0 or math.isfinite(trial.D_F + trial.D_psi)):
            raise OverflowedError("No step is short enough to stay among the finite numbers.")
        return bool(accepted), number(self, "judge", step, above=0.0, finite=True)
