"""A β rule: one that grows, and begins again where the objective rose."""

SUMMARY = "β_k = top·j/(j + 10), where j counts the iterations since the objective last rose."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=6)
print(bo.solve(problem, method="aapb(beta=$name(0.9))", max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve --method 'aapb(beta=$name(0.9))' --max-iterations 100"

CODE = '''\
"""The β rule '$name' for bregopt."""

from typing import final

import attrs
import bregopt as bo


@final
@attrs.frozen
class $class_name(bo.Extrapolation):
    """``β_k = top·j/(j + 10)``, where j counts the iterations since the objective last rose."""

    top: float = attrs.field(default=0.9, validator=bo.validate.number(at_least=0, below=1))

    def begin(self) -> int:
        """The memory before the first choice. It is an argument and a return value: keep nothing in the rule."""
        return 0

    def choose(self, context: bo.ExtrapolationContext, memory: int) -> tuple[float, int]:
        """β ≥ 0, below context.longest, where the kernel's domain ends, and the memory for the next choice."""
        j = 0 if context.rise is not None and context.rise > 0 else memory
        return min(self.top * j / (j + 10), 0.99 * context.longest), j + 1


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Extrapolation, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(0.5)", $class_name(0.5))] if kind == "extrapolation" else []
'''
