"""Kernels for ½‖W − UV‖² that depend on W."""

from typing import final

from attrs import frozen
from bregopt_lowrank import quartic

from bregopt import Kernel, KernelPolicy, Norms


@final
@frozen
class NormPolicy(KernelPolicy):
    """``ψ = a·ψ1 + ‖W‖·ψ2`` for one of the norms known of W, or with another leading term."""

    a: float
    norm: str
    leading: str = "psi1"

    def at(self, norms: Norms) -> Kernel:
        return quartic(self.a, norms[self.norm], self.leading)

    def sample(self) -> Kernel:
        return quartic(self.a, 1.0, self.leading)


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
    """``ψ1 + norm·ψ2``: with norm ≥ ‖M‖₂ for gradients that take W at their own point."""
    return quartic(1.0, norm)
