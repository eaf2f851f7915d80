"""A kernel outside of the radial family: an elementwise quartic, with its proximal map for H = 0."""

SUMMARY = "ψ(Y) = Σ ¼y⁴ + (b/2)y² over the entries y, with its Bregman proximal map for H = 0."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=6, kernel="$name(b=48)")
print(bo.solve(problem, method="aapb(step=monotone)", max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve --kernel '$name(b=48)' --method 'aapb(step=monotone)' --max-iterations 100"

CODE = '''\
"""The kernel '$name' for bregopt."""

import math
from typing import final

import attrs
import bregopt as bo
import numpy as np


@final
@attrs.frozen
class $class_name(bo.Kernel):
    """``ψ(Y) = Σ ¼y⁴ + (b/2)y²`` over the entries y of Y."""

    b: float = attrs.field(default=1.0, validator=bo.validate.number(above=0))

    def value(self, Y: bo.Blocks) -> float:
        square = Y.flat**2
        return float(np.sum(square * (0.25 * square + 0.5 * self.b)))

    def gradient(self, Y: bo.Blocks) -> bo.Blocks:
        return Y.like(Y.flat * (Y.flat**2 + self.b))

    def divergence(self, Y: bo.Blocks, Z: bo.Blocks) -> float:
        """No difference of values: ``y⁴ − z⁴ − 4z³(y − z) = (y − z)²((y + z)² + 2z²)``."""
        y, z = Y.flat, Z.flat
        return float(np.sum((y - z) ** 2 * (0.25 * (y + z) ** 2 + 0.5 * z**2 + 0.5 * self.b)))

    @property
    def strong_convexity(self) -> float:
        return float(self.b)

    def along(self, Y: bo.Blocks, D: bo.Blocks) -> bo.Array:
        """The coefficients of ``ψ(Y + βD)`` in β; leave it out where ψ is no polynomial along a line."""
        y, d = Y.flat, D.flat
        yy, yd, dd = y * y, y * d, d * d
        terms = [
            yy * (0.25 * yy + 0.5 * self.b),
            yd * (yy + self.b),
            dd * (1.5 * yy + 0.5 * self.b),
            yd * dd,
            0.25 * dd * dd,
        ]
        return np.array([term.sum() for term in terms])


def prox(P: bo.Blocks, step: float, kernel: bo.Kernel) -> bo.Blocks:
    """``argmin_Y ⟨P, Y⟩ + ψ(Y)``: in every entry the one real root of y³ + by + p = 0."""
    third = math.sqrt(kernel.strong_convexity / 3.0)
    return P.like(-2.0 * third * np.sinh(np.arcsinh(P.flat / (2.0 * third**3)) / 3.0))


@bo.hookimpl
def bregopt_resolve_prox(kernel: bo.Kernel, regularizer: bo.Separable) -> bo.BregmanProx | None:
    """The proximal map for H = 0; for every other H the answer is left to other plugins."""
    return prox if isinstance(kernel, $class_name) and regularizer.is_zero else None


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Kernel, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name()), ("$name(b=48)", $class_name(48.0))] if kind == "kernel" else []
'''
