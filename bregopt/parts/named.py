"""Parts that a problem is given by name: they stand in for the real ones until the problem is resolved."""

from typing import NoReturn, final

from attrs import frozen

from bregopt.blocks import Array
from bregopt.errors import IncompatibleError
from bregopt.parts.kernel import Kernel, KernelPolicy, Norms
from bregopt.parts.regularizer import Regularizer


def _unresolved(kind: str, spec: str) -> NoReturn:
    raise IncompatibleError(
        f"The {kind} '{spec}' is a name so far: bregopt.solve looks it up, or bregopt.make('{kind}', '{spec}')."
    )


@final
@frozen
class NamedKernel(KernelPolicy):
    """The kernel of this spec."""

    spec: str

    def at(self, norms: Norms) -> Kernel:
        _unresolved("kernel", self.spec)

    def sample(self) -> Kernel:
        _unresolved("kernel", self.spec)


@final
@frozen
class NamedRegularizer(Regularizer):
    """The regularizer of this spec."""

    spec: str

    def value(self, X: Array) -> float:
        _unresolved("regularizer", self.spec)

    def prox(self, X: Array, step: float) -> Array:
        _unresolved("regularizer", self.spec)
