"""A start: random blocks with entries of one size and without a sign."""

SUMMARY = "random entries between 0 and a largest one, for every block."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("nmf", M, rank=6)
print(bo.solve(problem, start="$name(0.5)", seed=1, max_iterations=200).objective)
```
"""

TRY = "bregopt solve --start '$name(0.5)' --max-iterations 100"

CODE = '''\
"""The start '$name' for bregopt."""

from typing import final

import attrs
import bregopt as bo
import numpy as np


@final
@attrs.frozen
class $class_name(bo.Start):
    """Entries that are uniform between 0 and ``largest``, in every block."""

    largest: float = attrs.field(default=1.0, validator=bo.validate.number(above=0))

    def point(self, problem: bo.ProblemParts, rng: np.random.Generator) -> bo.Blocks:
        """Y⁰. All randomness comes from rng, so that a seed gives one start."""
        own = problem.first_point(None, rng)  # the blocks and their shapes, as the problem itself would begin
        return own.like(rng.uniform(0.0, self.largest, own.flat.size))


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Start, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(0.1)", $class_name(0.1))] if kind == "start" else []
'''
