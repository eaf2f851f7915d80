"""The l1 norm, with one weight or with one for each entry."""

from numbers import Real
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Regularizer, ScalarPenalty, Trait, validate
from bregopt.errors import parameter
from bregopt_regularizers.precision import match


def soft(X: Array, threshold: float | Array) -> Array:
    """Soft thresholding: ``sign(x)·max(|x| − threshold, 0)``, with one temporary."""
    threshold = match(threshold, X)
    shrunk: Array = X.clip(-threshold, threshold)
    return np.subtract(X, shrunk, out=shrunk)


def _own(value: Any) -> Any:
    """An array as a read-only copy, anything else as it is."""
    if isinstance(value, Real | str) or value is None:
        return value
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return value
    array.flags.writeable = False
    return array


def _not_negative(instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, np.ndarray):
        validate.number(at_least=0)(instance, attribute, value)
    elif not np.all(good := (value >= 0) & np.isfinite(value)):
        rule = "a finite number >= 0 or an array of such"
        raise parameter(attribute.name, type(instance).__name__, rule, float(value[~good][0]))


@final
@frozen(eq=False)
class L1(Regularizer):
    """``H(X) = η Σ |x_ij|``.

    An array η that broadcasts against X gives each entry its own weight: ``H(X) = Σ η_ij |x_ij|``.
    """

    eta: float | Array = field(default=1.0, converter=_own, validator=_not_negative)
    paper = "case (iii)"
    traits: Trait = field(init=False, repr=False)

    @traits.default
    def _traits(self) -> Trait:
        by_row = isinstance(self.eta, np.ndarray) and self.eta.ndim > 1 and self.eta.shape[0] > 1
        alike = Trait.NONE if by_row else Trait.ROW_WISE
        return Trait.CONVEX | Trait.SEPARABLE | Trait.HOMOGENEOUS | alike

    def value(self, X: Array) -> float:
        if not isinstance(self.eta, np.ndarray):
            return float(self.eta) * float(np.add.reduce(np.abs(X), axis=None))
        self._fits(X)
        return float((np.abs(X) * self.eta).sum())

    def prox(self, X: Array, step: float) -> Array:
        self._fits(X)
        return soft(X, step * self.eta)

    def prox_on_orthant(self, X: Array, step: float) -> Array:
        """``max(x − step·η, 0)``, the prox on the non-negative orthant: ``prox(max(X, 0))`` with one array less."""
        self._fits(X)
        moved: Array = X - match(step * self.eta, X)
        return np.maximum(moved, 0.0, out=moved)

    def scalar(self) -> ScalarPenalty | None:
        return None if isinstance(self.eta, np.ndarray) else ScalarPenalty(l1=self.eta)

    def _fits(self, X: Array) -> None:
        if not isinstance(self.eta, np.ndarray):
            return
        shape = self.eta.shape
        ends = zip(shape[::-1], X.shape[::-1], strict=False)
        if len(shape) > X.ndim or any(own not in (1, given) for own, given in ends):
            raise parameter("eta", "L1", f"an array that broadcasts against the shape {X.shape}", shape)
