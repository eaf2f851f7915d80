"""A regularizer made of another one: a multiple of it, its sum with a ridge, its restriction to a set."""

from typing import Any, ClassVar

from attrs import evolve, field, frozen

from bregopt.errors import IncompatibleError, brief
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.traits import Trait


def _regularizer(H: Any) -> Regularizer:
    if not isinstance(H, Regularizer):
        raise IncompatibleError(f"A regularizer can only be made of a Regularizer. Got {brief(H)} instead.")
    return H


@frozen
class WrappedRegularizer(Regularizer):
    """``T(H)``, made of another regularizer H. What is not overridden is as for H itself.

    ``T(H₀ + (η/2)‖X‖²) = T(H₀) + (ridge(η)/2)‖X‖²``, and T(H₀) is homogeneous where H₀ is: a subclass for which this
    does not hold overrides ``split`` and ``weak_convexity``.
    """

    H: Regularizer = field(converter=_regularizer)
    traits: Trait = field(init=False, repr=False, eq=False)
    kept: ClassVar[Trait] = ~Trait.NONE
    """the traits of H that T(H) has too"""

    @traits.default
    def _traits(self) -> Trait:
        return self.H.traits & self.kept

    def ridge(self, eta: float) -> float:
        """η' such that T(H) has the term (η'/2)‖X‖² where H has (η/2)‖X‖²; η may be negative."""
        return eta

    def around(self, H: Regularizer) -> Regularizer:
        """T of another H."""
        return self if H is self.H else evolve(self, H=H)

    @property
    def weak_convexity(self) -> float | None:
        modulus = self.H.weak_convexity
        return None if modulus is None else max(-self.ridge(-modulus), 0.0)

    @property
    def step_limit(self) -> float:
        return self.H.step_limit

    def split(self) -> tuple[Regularizer, float] | None:
        parts = self.H.split()
        return None if parts is None else (self.around(parts[0]), self.ridge(parts[1]))
