"""The group lasso, and the groups of entries it is made of: the rows, the columns, or the entries of one label."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt import Array, Regularizer, Trait, validate
from bregopt.errors import parameter
from bregopt_regularizers.per_line import and_by_row
from bregopt_regularizers.precision import floating

Per = str | NDArray[np.intp]
"""``"row"``, ``"column"``, or integer labels: one for each entry of X, or one for each of its rows."""


def labels(value: Any) -> Any:
    """Integer labels as a read-only array of 0, 1, 2, …; anything else as it is."""
    try:
        given = np.asarray(value)
    except ValueError:
        return value
    if given.dtype.kind not in "iu" or given.ndim == 0:
        return value
    numbered: NDArray[np.intp] = np.unique(given, return_inverse=True)[1].reshape(given.shape)
    numbered.flags.writeable = False
    return numbered


def check_per(instance: Any, attribute: Any, value: Any) -> None:
    """An attrs validator for ``Per``, after ``labels``."""
    given = isinstance(value, np.ndarray) and value.dtype == np.intp
    if not given and not (isinstance(value, str) and value in ("row", "column")):
        rule = "'row', 'column' or an array of integer labels"
        raise parameter(attribute.name, type(instance).__name__, rule, value)


def norms(X: Array, per: Per) -> Array:
    """``‖x_g‖`` of every group g, in double precision."""
    squares: Array = np.square(X, dtype=np.float64)
    if isinstance(per, str):
        if X.ndim != 2:
            raise parameter("per", "a group norm", f"an array of labels for a block of {X.ndim} dimensions", per)
        return np.asarray(np.sqrt(squares.sum(axis=1 if per == "row" else 0, keepdims=True)))
    if per.shape not in (X.shape, X.shape[:1]):
        rule = f"labels for each entry or each row of a block of shape {X.shape}"
        raise parameter("per", "a group norm", rule, per)
    parts = squares.sum(axis=tuple(range(per.ndim, X.ndim)))
    return np.sqrt(np.bincount(per.ravel(), parts.ravel()))


def shrink(X: Array, threshold: float, per: Per) -> Array:
    """Every group shortened by the threshold: ``x_g · max(‖x_g‖ − threshold, 0)/‖x_g‖``."""
    length = norms(X, per)
    left = np.maximum(length - threshold, 0.0)
    factor = np.divide(left, length, out=left, where=length > 0).astype(floating(X))
    if not isinstance(per, str):
        factor = factor[per].reshape(per.shape + (1,) * (X.ndim - per.ndim))
    return np.asarray(X * factor)


def group(groups: Sequence[int] | Per, eta: float = 1.0) -> "L21":
    """``H(X) = η Σ_g ‖x_g‖`` over groups of rows, given by a label for each row: ``group([0, 0, 1], 0.1)``."""
    return L21(eta, groups)


@final
@frozen(eq=False)
class L21(Regularizer):
    """``H(X) = η Σ_g ‖x_g‖``, the groups g being the rows, the columns or the entries of one label."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    per: Per = field(default="row", converter=labels, validator=check_per)
    traits: Trait = field(default=and_by_row(Trait.CONVEX | Trait.HOMOGENEOUS), init=False, repr=False)

    def value(self, X: Array) -> float:
        return float(self.eta) * float(norms(X, self.per).sum())

    def prox(self, X: Array, step: float) -> Array:
        return shrink(X, float(step * self.eta), self.per)
