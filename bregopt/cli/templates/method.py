"""A method: the forward-backward iteration, with a step that is halved until a quadratic lies above f."""

SUMMARY = "Y^{k+1} = prox_{λH}(Y^k − λ∇f(Y^k)), the forward-backward iteration for f = min_W F + G."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=6, U="l1(0.1)", V="l1(0.1)")
print(bo.solve(problem, method="$name", max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve --method $name --max-iterations 100"

CODE = '''\
"""The method '$name' for bregopt."""

from typing import final

import attrs
import bregopt as bo


@final
@attrs.frozen
class Carried:
    """What the next iteration needs: only this is saved with a state, so nothing may be kept elsewhere."""

    seen: bo.Evaluation
    """F and its gradient at Y^k"""
    step: float
    """λ to begin with"""


@final
@attrs.frozen
class $class_name(bo.Method[Carried]):
    """``Y^{k+1} = prox_{λH}(Y^k − λ∇f(Y^k))``, with λ halved until a quadratic with 1/λ lies above f."""

    longest: float = attrs.field(default=1.0, validator=bo.validate.number(above=0))

    @property
    def uses_kernel(self) -> bool:
        return False

    @property
    def assumptions(self) -> tuple[bo.Assumption, ...]:
        """What the descent theorem asks of each step; the certificate says at which ones it failed."""
        statement = "f(Y^{k+1}) ≤ f(Y^k) + ⟨∇f(Y^k), E⟩ + |E|²/(2λ), E = Y^{k+1} − Y^k"
        return (bo.Assumption("step", statement, lambda step: lies_above(*step)),)

    def start(self, problem: bo.ResolvedProblem, Y: bo.Blocks) -> bo.State[Carried]:
        seen = problem.oracle.evaluate(Y, at=Y)
        return bo.State.at(seen, problem.regularizer.value(Y), inner=Carried(seen, self.longest))

    def advance(self, problem: bo.ResolvedProblem, state: bo.State[Carried]) -> bo.State[Carried]:
        before, step, H = state.inner.seen, 2.0 * state.inner.step, problem.regularizer
        while True:
            step *= 0.5
            Y = H.prox(state.Y.plus(-step, before.gradient), step)
            seen, E = problem.oracle.evaluate(Y, at=Y), Y - state.Y
            if lies_above(before, seen, E, step) or step < 1e-12:
                break
        return bo.State.at(
            seen,
            H.value(Y),
            iteration=state.iteration + 1,
            step=step,
            stationarity=E.norm() / step,
            assumptions=bo.assumptions_met(self.assumptions, (before, seen, E, step)),
            inner=Carried(seen, min(2.0 * step, self.longest)),
        )


def lies_above(before: bo.Evaluation, seen: bo.Evaluation, E: bo.Blocks, step: float) -> bool:
    """Whether the quadratic with 1/λ, made at Y^k, is above f at Y^{k+1} = Y^k + E, up to rounding."""
    noise = seen.rounding * (before.scale + seen.scale)
    return seen.value <= before.value + before.gradient.dot(E) + E.dot(E) / (2.0 * step) + noise


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Method, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(0.1)", $class_name(0.1))] if kind == "method" else []
'''
