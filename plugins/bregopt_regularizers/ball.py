"""The Euclidean ball, for the whole block or in each row or column."""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_regularizers.per_line import LineConstraint
from bregopt_regularizers.precision import floating


@final
@frozen
class Ball(LineConstraint):
    """``H(X) = 0 if ‖x‖ ≤ radius for x = X (or for every row or column x of X), else ∞``."""

    def contains(self, rows: Array, rounding: float) -> bool:
        return bool(np.all(_norms(rows) <= self.radius * (1.0 + rounding)))

    def project(self, rows: Array) -> Array:
        factor = self.radius / np.maximum(_norms(rows), self.radius)  # 1 within the ball
        return np.asarray(rows * factor[:, None].astype(floating(rows)))


def _norms(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1)))
