"""A stop rule: enough entries of the blocks are zero."""

SUMMARY = "stops when at least a share of the entries of the blocks is zero."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=6)
result = bo.solve(problem, stop="$name(0.5)", max_iterations=200)
print(result.status.value, "-", result.reason)
```

A stop rule sees a `bregopt.Progress`: iteration, Y, seconds, products, objective, metrics, stationarity, first,
subgradient() and history, whose columns are those of `result.history`. Rules compose: `rule | other`, `rule & other`.
"""

TRY = "bregopt solve --stop '$name(0.5)' --max-iterations 100"

CODE = '''\
"""The stop rule '$name' for bregopt."""

from typing import final

import attrs
import bregopt as bo
import numpy as np


@final
@attrs.frozen
class $class_name(bo.StopRule):
    """Stops when at least this share of the entries of Y is zero."""

    share: float = attrs.field(default=0.5, validator=bo.validate.number(at_least=0, at_most=1))
    # A rule that ends every run sooner or later, a limit rather than a goal, says so: certain = True

    def judge(self, progress: bo.Progress) -> bo.Verdict | None:
        """The verdict, or None to go on. What it needs of the past is in progress.history: keep nothing yourself."""
        zeros = 1.0 - np.count_nonzero(progress.Y.flat) / progress.Y.flat.size
        if zeros < self.share:
            return None
        return bo.Verdict(bo.Status.TARGET, f"{zeros:.0%} of the entries are zero, at least {self.share:.0%}.")


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.StopRule, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(0)", $class_name(0.0))] if kind == "stop" else []
'''
