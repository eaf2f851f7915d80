"""A regularizer on some of the columns."""

import operator
from typing import Any, cast, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ConvexParts, Regularizer, Trait, WrappedRegularizer, make
from bregopt.errors import parameter


def _indices(columns: Any) -> tuple[int, ...]:
    try:
        found = tuple(map(operator.index, np.atleast_1d(columns).tolist()))
    except (TypeError, ValueError):
        found = ()
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise parameter("columns", "OnColumns", "one or more whole numbers >= 0, none of them twice", columns)
    return found


@final
@frozen
class OnColumns(WrappedRegularizer):
    """``H(X_C)`` for the columns C of X, counted from 0; the other columns are free."""

    columns: tuple[int, ...] = field(converter=_indices)
    kept = ~Trait.CONSTANT_NORM  # the norm is free elsewhere

    def value(self, X: Array) -> float:
        return self.H.value(self._part(X))

    def prox(self, X: Array, step: float) -> Array:
        part = self._part(X)
        if np.ndim(step):
            step = cast(float, np.broadcast_to(step, X.shape)[:, self.columns])
        Z = X.copy()
        Z[:, self.columns] = self.H.prox(part, step)
        return Z

    def split(self) -> tuple[Regularizer, float] | None:
        """Only without a ridge: one on these columns is none on X."""
        parts = super().split()
        return parts if parts is not None and parts[1] == 0 else None

    def convex_parts(self) -> ConvexParts | None:
        parts = self.H.convex_parts()
        if parts is None:
            return None

        def subgradient(X: Array) -> Array:
            xi = np.zeros_like(X)
            xi[:, self.columns] = parts.subgradient(self._part(X))
            return xi

        return ConvexParts(self.around(parts.first), subgradient)

    def _part(self, X: Array) -> Array:
        if X.ndim != 2 or X.shape[1] <= max(self.columns):
            raise parameter("columns", "OnColumns", f"columns of a block of shape {X.shape}", self.columns)
        return X[:, self.columns]


def on_columns(H: Regularizer | str, columns: Any) -> Regularizer:
    """``H(X_C)`` for the columns C of X, counted from 0; the other columns are free."""
    return OnColumns(make("regularizer", H), columns)
