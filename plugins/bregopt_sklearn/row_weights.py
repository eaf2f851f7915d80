"""H for rows that count several times."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, WrappedRegularizer


@final
@frozen(eq=False)
class RowWeighted(WrappedRegularizer):
    """``Σ s_i h(x_i / a_i)`` over the rows, for an ``H(X) = Σ h(x_i)``, with s > 0 and a > 0.

    With a = √s it is H in the variable √s·U, where U counts s times: the prox then is that of H, row by row. Another a
    needs an H that is a sum over entries.
    """

    weights: Array = field(repr=False)
    """s, one number a row"""
    scale: Array = field(repr=False)
    """a"""
    kept = ~(Trait.ROW_WISE | Trait.CONSTANT_NORM)

    @property
    def _ratio(self) -> Array | None:
        """s/a², by which the steps of the rows differ; ``None`` where they do not."""
        ratio: Array = self.weights / np.square(self.scale)
        return None if np.allclose(ratio, 1.0, rtol=1e-12) else ratio

    def value(self, X: Array) -> float:
        rows, h = X / self.scale[:, None], self.H.scalar()
        if Trait.HOMOGENEOUS in self.traits:
            return self.H.value(self.weights[:, None] * rows)
        if not math.isfinite(self.H.value(rows)):
            return math.inf
        if h is not None:
            return float(self.weights @ h.values(rows).sum(axis=1))
        return sum(float(s) * self.H.value(rows[self.weights == s]) for s in np.unique(self.weights))

    def prox(self, X: Array, step: float) -> Array:
        ratio, a = self._ratio, self.scale[:, None]
        steps: float = step if ratio is None else step * ratio[:, None]  # type: ignore[assignment]  # H is separable
        return np.asarray(a * self.H.prox(X / a, steps))

    @property
    def weak_convexity(self) -> float | None:
        rho, ratio = self.H.weak_convexity, self._ratio
        return rho if rho is None or ratio is None else rho * float(ratio.max())

    @property
    def step_limit(self) -> float:
        ratio = self._ratio
        return self.H.step_limit if ratio is None else self.H.step_limit / float(ratio.max())

    def split(self) -> tuple[Regularizer, float] | None:
        parts = self.H.split()
        if parts is None or (parts[1] and self._ratio is not None):
            return None
        return self.around(parts[0]), parts[1]


def row_weighted(H: Regularizer, weights: Array, scale: Array) -> Regularizer:
    """``Σ s_i h(x_i/a_i)``; it is H itself where h has no l1, bounds at 0 only, and no ridge unless a = √s."""
    h = H.scalar()
    alike = h is not None and h.l1 == 0 and {h.low, h.high} <= {0.0, math.inf, -math.inf}
    if h is not None and alike and (h.ridge == 0 or np.allclose(weights, np.square(scale), rtol=1e-12)):
        return H
    return RowWeighted(H, weights, scale)
