"""Anderson's mixing: the point where a linear model of the residual of a fixed-point map is smallest."""

from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks

REGULARIZATION = 1e-10
"""Of the trace of the Gram matrix of the differences."""


@final
@frozen(eq=False)
class Mixing:
    """The image T(y) and the residual R = T(y) − y of the last point y, and how both changed from point to point."""

    memory: int
    """the most changes that are kept"""
    image: Blocks
    residual: Blocks
    changes: tuple[tuple[Blocks, Blocks], ...] = ()
    """(ΔT, ΔR), the latest last"""
    gram: Array = field(factory=lambda: np.zeros((0, 0)))
    """of the ΔR"""

    def seen(self, y: Blocks, image: Blocks) -> "Mixing":
        """With one more point."""
        residual = image - y
        dT, dR = image - self.image, residual - self.residual
        kept = self.changes[-self.memory + 1 :] if self.memory > 1 else ()
        changes, old = (*kept, (dT, dR)), len(self.changes) - len(kept)
        gram = np.empty((len(changes), len(changes)))
        gram[:-1, :-1] = self.gram[old:, old:]
        gram[-1] = gram[:, -1] = [dR.dot(other) for _, other in changes]
        return Mixing(self.memory, image, residual, changes, gram)

    def anew(self) -> "Mixing":
        """Without the changes."""
        return evolve(self, changes=(), gram=np.zeros((0, 0)))

    def point(self) -> Blocks:
        """``T(y) − Σ γ_i ΔT_i`` with the γ of ``min |R − Σ γ_i ΔR_i|²``, regularised."""
        damped = self.gram + REGULARIZATION * np.trace(self.gram) * np.eye(len(self.gram))
        gamma = np.linalg.lstsq(damped, [dR.dot(self.residual) for _, dR in self.changes])[0]
        flat = self.image.flat.copy()
        for weight, (dT, _) in zip(gamma, self.changes, strict=True):
            flat -= weight * dT.flat
        return self.image.like(flat)
