"""The lines of a block: all of it as one, its rows or its columns."""

from bregopt import Array, validate
from bregopt.errors import parameter

PER = validate.one_of("all", "row", "column")


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
