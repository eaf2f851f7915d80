"""Total variation along the columns or along the rows."""

import itertools
import math
from collections import deque
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.per_line import and_by_row, block, lines
from bregopt_regularizers.precision import floating


def fuse(y: list[float], weight: float) -> list[float]:
    """``argmin_z  ½ Σ (z_k − y_k)² + weight Σ |z_{k+1} − z_k|``, by dynamic programming (Johnson 2013), in O(n).

    The least cost of z_1 … z_k has a rising, piecewise linear derivative in z_k. It is kept as knots
    (place, jump of slope, jump of intercept) and cut to ±weight after each entry; z_k lies between the two cuts.
    From max_k |Σ_{i≤k} (y_i − mean)| on, a weight makes every z_k the mean: next to it the entries would be rounding.
    """
    mean = math.fsum(y) / len(y)
    if weight >= max(map(abs, itertools.accumulate(entry - mean for entry in y))):
        return [mean] * len(y)
    knots = deque([(-math.inf, 0.0, weight), (math.inf, 0.0, weight)])
    cuts = []
    for entry in y[:-1]:
        slope, intercept = 1.0, -weight - entry
        while knots and slope * knots[0][0] + intercept <= -weight:
            _, more, higher = knots.popleft()
            slope += more
            intercept += higher
        low = (-weight - intercept) / slope
        first = (low, slope, intercept + weight)
        slope, intercept = 1.0, weight - entry
        while knots and slope * knots[-1][0] + intercept >= weight:
            _, more, higher = knots.pop()
            slope -= more
            intercept -= higher
        high = (weight - intercept) / slope
        knots.appendleft(first)
        knots.append((high, -slope, weight - intercept))
        cuts.append((low, high))
    slope, intercept = 1.0, -weight - y[-1]
    for place, more, higher in knots:
        if slope * place + intercept > 0:
            break
        slope += more
        intercept += higher
    z = -intercept / slope
    fused = [z]
    for low, high in reversed(cuts):
        z = low if z < low else high if z > high else z
        fused.append(z)
    return fused[::-1]


@final
@frozen
class TV(Regularizer):
    """``H(X) = η Σ |x_{i+1,j} − x_ij|`` along every column, or ``η Σ |x_{i,j+1} − x_ij|`` along every row."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    per: str = field(default="column", validator=validate.one_of("row", "column"))
    traits: Trait = field(default=and_by_row(Trait.CONVEX | Trait.HOMOGENEOUS), init=False, repr=False, eq=False)

    def value(self, X: Array) -> float:
        return float(self.eta) * float(np.abs(np.diff(lines(X, self.per, "TV"), axis=1)).sum())

    def prox(self, X: Array, step: float) -> Array:
        rows, weight = lines(X, self.per, "TV"), float(step * self.eta)
        if weight == 0 or X.size == 0:
            return X.copy()
        fused = np.array([fuse(row, weight) for row in rows.tolist()], dtype=floating(X))
        return block(fused, X, self.per)
