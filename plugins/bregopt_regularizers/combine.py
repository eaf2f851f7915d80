"""Regularizers made of others, each given as an object or by its spec."""

from typing import Any

from bregopt import Regularizer, make
from bregopt_regularizers.box import Box
from bregopt_regularizers.l1_nonneg import L1NonNegative
from bregopt_regularizers.l21_nonneg import L21NonNegative
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.on_columns import OnColumns
from bregopt_regularizers.scaled import Scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.with_nonneg import WithNonNegative
from bregopt_regularizers.with_ridge import WithRidge

ON_ORTHANT = (NonNegative, L1NonNegative, L21NonNegative, Simplex, WithNonNegative)
"""Functions that are infinite off the orthant already."""


def scaled(H: Regularizer | str, weight: float) -> Regularizer:
    """``weight · H(X)``, weight > 0."""
    return Scaled(make("regularizer", H), weight)


def with_ridge(H: Regularizer | str, eta: float) -> Regularizer:
    """``H(X) + (η/2)‖X‖²``."""
    return WithRidge(make("regularizer", H), eta)


def with_nonneg(H: Regularizer | str) -> Regularizer:
    """``H(X) if X ≥ 0, else ∞``, where the proximal map is known in closed form."""
    part: Regularizer = make("regularizer", H)
    if isinstance(part, ON_ORTHANT):
        return part
    if isinstance(part, Box) and part.high >= 0:
        return Box(max(part.low, 0.0), part.high)
    return WithNonNegative(part)


def on_columns(H: Regularizer | str, columns: Any) -> Regularizer:
    """``H(X_C)`` for the columns C of X, counted from 0; the other columns are free."""
    return OnColumns(make("regularizer", H), columns)
