"""Kernels for ½‖W − UV‖² that depend on W."""

from functools import cache
from typing import final

from attrs import frozen

from bregopt import Kernel, KernelPolicy, Norms, make


@cache
def _psi(number: int) -> Kernel:
    kernel: Kernel = make("kernel", f"psi{number}")
    return kernel


def quartic(a: float, b: float) -> Kernel:
    """``a·ψ1 + b·ψ2``."""
    return a * _psi(1) + b * _psi(2)


@final
@frozen
class NormPolicy(KernelPolicy):
    """``ψ = a·ψ1 + ‖W‖·ψ2`` for one of the norms known of W."""

    a: float
    norm: str

    def at(self, norms: Norms) -> Kernel:
        return quartic(self.a, norms[self.norm])

    def sample(self) -> Kernel:
        return quartic(self.a, 1.0)


def paper() -> NormPolicy:
    """``3ψ1 + ‖W‖_F ψ2``, the paper's kernel."""
    return NormPolicy(3.0, "frobenius")


def tight() -> NormPolicy:
    """``ψ1 + w ψ2`` with ``‖W‖₂ ≤ w = min(‖W‖_F, ‖UV‖₂ + ‖W − UV‖_F)``, which no product is needed for."""
    return NormPolicy(1.0, "spectral")


def fixed(norm: float) -> Kernel:
    """``ψ1 + norm·ψ2``: with norm ≥ ‖M‖₂ for gradients that take W at their own point."""
    return quartic(1.0, norm)
