"""The l1 ball, for the whole block or in each row or column."""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array
from bregopt_regularizers.per_line import LineConstraint
from bregopt_regularizers.precision import floating
from bregopt_regularizers.simplex import onto_simplex


@final
@frozen
class L1Ball(LineConstraint):
    """``H(X) = 0 if Σ |x_ij| ≤ radius (in all, in each row or in each column), else ∞``."""

    def contains(self, rows: Array, rounding: float) -> bool:
        return bool(np.all(_norms(rows) <= self.radius * (1.0 + rounding)))

    def project(self, rows: Array) -> Array:
        nearest = np.array(rows, dtype=floating(rows))
        outside = _norms(rows) > self.radius
        nearest[outside] = np.copysign(onto_simplex(np.abs(rows[outside]), float(self.radius)), rows[outside])
        return nearest


def _norms(rows: Array) -> Array:
    return np.asarray(np.abs(rows).sum(axis=1, dtype=np.float64))
