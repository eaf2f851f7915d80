"""A loss: the pseudo-Huber loss, which is quadratic near zero and linear far from it."""

SUMMARY = "e(x; m) = d²(√(1 + z²/d²) − 1) at z = x − m, a smooth loss for data with outliers."

USAGE = """\
```python
import numpy as np
import bregopt as bo

rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
M[rng.random(M.shape) < 0.05] += 20.0
M[rng.random(M.shape) < 0.2] = np.nan
problem = bo.compose("low-rank", M, rank=3, loss="$name(0.5)", U="ridge(0.01)", V="ridge(0.01)")
print(bo.solve(problem, method="aapb", max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve --problem 'low-rank(loss=$name(0.5))' --max-iterations 100"

CODE = '''\
"""The loss '$name' for bregopt."""

import math
from typing import final

import attrs
import bregopt as bo
import bregopt_lowrank as lowrank
import numpy as np


@final
@attrs.frozen
class $class_name(lowrank.EntrywiseLoss):
    """``e(x; m) = d²(√(1 + z²/d²) − 1)`` at z = x − m."""

    # At most four numbers, which entry gets after x and m.
    d: float = attrs.field(default=1.0, validator=bo.validate.number(above=0))

    @staticmethod
    def entry(x: float, m: float, d: float) -> tuple[float, float, float]:
        """``(e, e', e'')`` at x, in arithmetic that numba compiles; e without a difference of values that cancel."""
        z = x - m
        root = math.sqrt(1.0 + z * z / (d * d))
        return z * z / (1.0 + root), z / root, 1.0 / (root * root * root)

    @property
    def bound(self) -> float:
        """The least L with e'' ≤ L, which the length of a step depends on."""
        return 1.0

    # Say more where the defaults of EntrywiseLoss are not right: zero, data and fits, sample_data, error and metric.

    def arrays(
        self, X: bo.Array, M: bo.Array, upper: bo.Array | None = None
    ) -> tuple[bo.Array, bo.Array, bo.Array, bo.Array]:
        """``(e, e', e'', error)`` of many entries. You may leave it out: small matrices then take compiled loops."""
        Z = X - M
        root = np.sqrt(1.0 + np.square(Z / self.d))
        return Z * Z / (1.0 + root), Z / root, root**-3, Z * Z


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(lowrank.EntrywiseLoss, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name(0.5)", $class_name(0.5)), ("$name(3)", $class_name(3.0))] if kind == "loss" else []
'''
