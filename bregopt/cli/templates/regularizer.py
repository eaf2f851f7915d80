"""A regularizer: the group lasso over rows."""

SUMMARY = "H(X) = η Σ_i ‖x_i‖ over the rows x_i, the group lasso."

USAGE = """\
```python
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
problem = bo.compose("relu-nmd", M, rank=8, U="ridge(1)", V="$name(2)")
print(bo.solve(problem, max_iterations=200).certificate.summary())
```
"""

TRY = "bregopt solve -V '$name(0.1)' --max-iterations 100"

CODE = '''\
"""The regularizer '$name' for bregopt."""

from typing import final

import attrs
import bregopt as bo
import numpy as np


@final
@attrs.frozen
class $class_name(bo.Regularizer):
    """``H(X) = η Σ_i ‖x_i‖`` over the rows x_i."""

    eta: float = attrs.field(default=1.0, validator=bo.validate.number(at_least=0))
    # Claim only what is true: these enter the certificate and choose the proximal map.
    traits = bo.Trait.CONVEX | bo.Trait.HOMOGENEOUS | bo.Trait.ROW_WISE

    def value(self, X: bo.Array) -> float:
        return float(self.eta) * float(lengths(X).sum())

    def prox(self, X: bo.Array, step: float) -> bo.Array:
        """``argmin_Z  H(Z) + ‖Z − X‖²/(2·step)``, in a fresh array: every row becomes shorter by step·η."""
        length = lengths(X)
        left = np.maximum(length - float(step * self.eta), 0.0)
        return np.asarray(X * np.divide(left, length, out=np.zeros_like(length), where=length > 0))


def lengths(X: bo.Array) -> bo.Array:
    """``‖x_i‖`` of every row, in a shape that broadcasts against X."""
    return np.asarray(np.sqrt(np.square(X).sum(axis=tuple(range(1, X.ndim)), keepdims=True)))


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Regularizer, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    if kind != "regularizer":
        return []
    return [("$name(0.5)", $class_name(0.5)), ("$name(3)", $class_name(3.0))]
'''
