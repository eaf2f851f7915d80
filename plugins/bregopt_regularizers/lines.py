"""The lines of a block: all of it as one, its rows or its columns."""

from typing import Any

from bregopt import Array, Trait, validate
from bregopt.errors import parameter

PER = validate.one_of("all", "row", "column")


def by_row(per: Any) -> Trait:
    """ROW_WISE where the lines are the rows; ``per`` may be an array of labels."""
    return Trait.ROW_WISE if isinstance(per, str) and per == "row" else Trait.NONE


def lines(X: Array, per: str, owner: str) -> Array:
    """X as a matrix with one line in each row; a view where that is possible."""
    if per == "all":
        return X.reshape(1, -1)
    if X.ndim != 2:
        raise parameter("per", owner, f"'all' for a block of {X.ndim} dimensions", per)
    return X.T if per == "column" else X


def block(rows: Array, X: Array, per: str) -> Array:
    """What ``lines`` took apart, in X's shape again."""
    return rows.T if per == "column" else rows.reshape(X.shape)
