"""Kernels for (c/2)‖W − A(Y)‖² that depend on W."""

from functools import cached_property
from typing import final

from attrs import field, frozen

from bregopt import Kernel, KernelPolicy, Norms
from bregopt.errors import IncompatibleError
from bregopt_lowrank.models import Model, Product, Shape, quartic


@final
@frozen
class NormPolicy(KernelPolicy):
    """``ψ = c(a·ψ1 + ‖W‖·ψ2)`` of the factors for one of the norms known of W, or with another leading term."""

    a: float
    norm: str
    leading: str = "psi1"
    curvature: float = 1.0
    """c"""
    model: Model = field(factory=Product)
    shape: Shape = (0, 0)
    """of M"""

    def at(self, norms: Norms) -> Kernel:
        if self.norm not in norms:
            raise IncompatibleError(
                f"This kernel needs the {self.norm} norm of W, and the W block does not tell it: implement "
                "ClosedFormBlock.norms, or use the method aapb with the problem's own kernel."
            )
        return self._lift(norms[self.norm])

    def sample(self) -> Kernel:
        return self._sample

    @cached_property
    def _sample(self) -> Kernel:
        return self._lift(1.0)

    def _lift(self, norm: float) -> Kernel:
        c = self.curvature
        return self.model.lift(c * self.a, c * norm, self.shape, self.leading)


def paper() -> NormPolicy:
    """``3ψ1 + ‖W‖_F ψ2``, the paper's kernel."""
    return NormPolicy(3.0, "frobenius")


def tight() -> NormPolicy:
    """``ψ1 + w ψ2`` with ``‖W‖₂ ≤ w = min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``, which no product is needed for."""
    return NormPolicy(1.0, "spectral")


def s4() -> NormPolicy:
    """``¼‖UᵀU + VVᵀ‖² + w ψ2`` with w as for ``tight``: longer steps, for H = 0 or one ridge on both factors."""
    return NormPolicy(1.0, "spectral", "schatten4")


def fixed(norm: float) -> Kernel:
    """``ψ1 + norm·ψ2``: with norm ≥ ‖E'(0)‖₂, for gradients that take W at their own point."""
    return quartic(1.0, norm)
