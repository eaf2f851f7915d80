"""A step rule: one that only falls, with a shorter try after each refusal."""

SUMMARY = "λ_k ≤ λ_{k−1}, shortened by a factor until D_F ≤ D_ψ/λ."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=6)
print(bo.solve(problem, method="aapb(step=$name(0.7))", max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve --method 'aapb(step=$name(0.7))' --max-iterations 100"

CODE = '''\
"""The step rule '$name' for bregopt."""

from typing import ClassVar, final

import attrs
import bregopt as bo


@final
@attrs.frozen
class $class_name(bo.StepRule):
    """``λ_k ≤ λ_{k−1}``: from ten times 1/L, times ``shrink`` until ``D_F(Y⁺, Ȳ) ≤ D_ψ(Y⁺, Ȳ)/λ_k``."""

    shrink: float = attrs.field(default=0.5, validator=bo.validate.number(above=0, below=1))
    tests: ClassVar[bool] = True  # judge is asked after each step, which costs the value at the new point

    def propose(self, carried: float | None, limit: float | None) -> float:
        """λ for the coming step: ``carried`` is None at first, ``limit`` is 1/L, or None where no L is known."""
        return carried if carried is not None else 10.0 * (limit or 1.0)

    def needs_limit(self, carried: float | None) -> bool:
        """Whether propose reads 1/L, which may cost something to know."""
        return carried is None

    def judge(self, trial: bo.Trial) -> tuple[bool, float]:
        """Whether the step is accepted, and the step to carry on with: a shorter one where it is not."""
        return (True, trial.step) if trial.holds else (False, self.shrink * trial.step)


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.StepRule, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(0.9)", $class_name(0.9))] if kind == "step" else []
'''
