"""The group lasso."""

from typing import final

from attrs import field, frozen

from bregopt import Array, Regularizer, Trait, validate
from bregopt_regularizers.groups import Per, check_per, labels, norms, shrink
from bregopt_regularizers.lines import by_row


@final
@frozen(eq=False)
class L21(Regularizer):
    """``H(X) = η Σ_g ‖x_g‖``, the groups g being the rows, the columns or the entries of one label."""

    eta: float = field(default=1.0, validator=validate.number(at_least=0))
    per: Per = field(default="row", converter=labels, validator=check_per)
    traits: Trait = field(init=False, repr=False)

    @traits.default
    def _traits(self) -> Trait:
        return Trait.CONVEX | Trait.HOMOGENEOUS | by_row(self.per)

    def value(self, X: Array) -> float:
        return float(self.eta) * float(norms(X, self.per).sum())

    def prox(self, X: Array, step: float) -> Array:
        return shrink(X, float(step * self.eta), self.per)
