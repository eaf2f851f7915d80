"""How long a step is: the λ of the Bregman proximal step."""

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from attrs import frozen

from bregopt.errors import OverflowedError
from bregopt.part_errors import wrong_result

SHORTEST = 1e-60
"""No shorter step is tried."""


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

    @property
    def forgiven(self) -> float:
        """What the test misses, which is rounding where it holds."""
        return max(self.D_F - self.D_psi / self.step, 0.0)


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
        step = self.propose(carried, limit)
        if not (isinstance(step, (float, Real)) and 0 < step < math.inf):
            raise wrong_result(self, "propose", "a finite number > 0", step)
        return float(step)

    @final
    def judgement(self, trial: Trial) -> tuple[bool, float]:
        """``judge``, with its answer checked: what methods ask."""
        found: Any = self.judge(trial)
        match found:
            case (bool() | np.bool_(), Real()) if 0 < found[1] < math.inf:
                accepted, step = bool(found[0]), float(found[1])
            case _:
                raise wrong_result(self, "judge", "a pair (accepted, λ), True or False and a finite number > 0", found)
        if not accepted and step < SHORTEST:
            raise OverflowedError(
                f"No step passes the upper test, not even one of {trial.step:.0e}: D_F is {trial.D_F:.3g} there, and "
                f"D_ψ/λ {trial.D_psi / trial.step:.3g}. The gradient of F or the kernel may be wrong (bregopt check)."
            )
        return accepted, step
