"""A model: a product of two factors and one number for each column, such as a mean that is learnt."""

SUMMARY = "A(U, V, b) = UV + 1bᵀ, a product of two factors with an offset for each column."

USAGE = """\
```python
import numpy as np
import bregopt as bo

rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50)) + 5.0 * rng.standard_normal(50)
result = bo.solve(bo.compose("low-rank", M, rank=3, model="$name"), max_iterations=200)
print(result.Y, result.metrics)
```
"""

TRY = "bregopt solve --problem 'low-rank(model=$name)' --max-iterations 100"

CODE = '''\
"""The model '$name' for bregopt."""

from collections.abc import Mapping
from typing import final

import attrs
import bregopt as bo
import bregopt_lowrank as lowrank
import numpy as np

Sides = tuple[tuple[str, ...], tuple[str, ...]]


@final
@attrs.frozen
class $class_name(lowrank.Sided):
    """``A(U, V, b) = UV + 1bᵀ = LR`` with ``L = (U, 1)`` and R made of V and b."""

    def shapes(self, shape: tuple[int, int], rank: int) -> Mapping[str, tuple[int, ...]]:
        """The blocks, and their shapes for an M of this shape."""
        return {"U": (shape[0], rank), "V": (rank, shape[1]), "b": (1, shape[1])}

    @property
    def sides(self) -> Sides:
        """The blocks of L, and those of R."""
        return ("U",), ("V", "b")

    def left(self, Y: bo.Blocks) -> bo.Array:
        return np.concatenate([Y.U, np.ones((len(Y.U), 1))], axis=1)

    def right(self, Y: bo.Blocks) -> bo.Array:
        return np.concatenate([Y.V, Y.b], axis=0)

    def part(self, Y: bo.Blocks, name: str, on_factor: bo.Array) -> bo.Array:
        """The gradient for one block, from that for the factor it is in."""
        r = len(Y.V)
        return on_factor[:, :r] if name == "U" else on_factor[:r] if name == "V" else on_factor[r:]

    def lift(self, a: float, b: float, shape: tuple[int, int], leading: str = "psi1") -> bo.Kernel:
        """The kernel of every loss with 0 ≤ e'' ≤ a and ‖E'(0)‖₂ ≤ b: the ones in L add m to |L|² + |R|²."""
        return lowrank.quartic(a, b + a * shape[0], leading)

    def gram(self, Y: bo.Blocks, name: str) -> bo.Array:
        """What ‖A(Y + E) − A(Y)‖² is made of for an E in one block; leave it out where there is no such matrix."""
        if name == "b":
            return np.array([[float(len(Y.U))]])
        return np.asarray(Y.V @ Y.V.T if name == "U" else Y.U.T @ Y.U)

    def by_columns(self, name: str) -> bool:
        """Whether that matrix stands on the left of the block."""
        return name != "U"


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(lowrank.Model, "$name", $class_name)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    return [("$name", $class_name())] if kind == "model" else []
'''
