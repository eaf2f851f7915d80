"""Regularizers that go line by line: X as one line, its rows or its columns."""

import math
from abc import abstractmethod
from typing import Any, TypeVar, final

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, Trait, validate
from bregopt.errors import parameter
from bregopt_regularizers.precision import slack

Number = TypeVar("Number", bound=np.generic)
PER = validate.one_of("all", "row", "column")


def and_by_row(traits: Trait) -> Any:
    """The default of a field ``traits``: these, and ROW_WISE where ``per`` is "row"; it may be an array of labels."""

    def chosen(H: Any) -> Trait:
        return traits | (Trait.ROW_WISE if isinstance(H.per, str) and H.per == "row" else Trait.NONE)

    return Factory(chosen, takes_self=True)


def lines(X: Array, per: str, owner: str) -> Array:
    """X as a matrix with one line in each row; a view where that is possible."""
    if per == "all":
        return X.reshape(1, -1)
    if X.ndim != 2:
        raise parameter("per", owner, f"'all' for a block of {X.ndim} dimensions", per)
    return X.T if per == "column" else X


def block(rows: NDArray[Number], X: Array, per: str) -> NDArray[Number]:
    """What ``lines`` took apart, in X's shape again."""
    return rows.T if per == "column" else rows.reshape(X.shape)


@frozen
class LineConstraint(Regularizer):
    """``H(X) = 0 if every line of X lies in a convex set of the given radius, else ∞``."""

    radius: float = field(default=1.0, validator=validate.number(above=0))
    per: str = field(default="all", validator=PER)
    traits: Trait = field(default=and_by_row(Trait.CONVEX), init=False, repr=False, eq=False)

    @abstractmethod
    def contains(self, rows: Array, rounding: float) -> bool:
        """Whether every row lies in the set, within this rounding relative to the radius."""

    @abstractmethod
    def project(self, rows: Array) -> Array:
        """The nearest point of the set to each row, in a fresh floating array."""

    @final
    def value(self, X: Array) -> float:
        return 0.0 if self.contains(self._lines(X), slack(X)) else math.inf

    @final
    def prox(self, X: Array, step: float) -> Array:
        return block(self.project(self._lines(X)), X, self.per)

    def _lines(self, X: Array) -> Array:
        return lines(X, self.per, type(self).__name__)
