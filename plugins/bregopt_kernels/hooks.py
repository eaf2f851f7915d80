"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

from bregopt import BregmanProx, Kernel, Registrar, Separable, hookimpl
from bregopt_kernels.entrywise import BoltzmannShannon, Burg, FermiDirac
from bregopt_kernels.entrywise_prox import resolve_entrywise
from bregopt_kernels.radial import block_quadratic, power, psi1, psi2
from bregopt_kernels.radial_prox import resolve
from bregopt_kernels.rescaled import balanced, resolve_rescaled
from bregopt_kernels.schatten4 import Schatten4, resolve_schatten4


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Kernel, "psi1", psi1)
    registry.add(Kernel, "psi2", psi2)
    registry.add(Kernel, "power", power)
    registry.add(Kernel, "block-quadratic", block_quadratic)
    registry.add(Kernel, "balanced", balanced)
    registry.add(Kernel, "schatten4", Schatten4)
    registry.add(Kernel, "boltzmann-shannon", BoltzmannShannon)
    registry.add(Kernel, "burg", Burg)
    registry.add(Kernel, "fermi-dirac", FermiDirac)


@hookimpl
def bregopt_resolve_prox(kernel: Kernel, regularizer: Separable) -> BregmanProx | None:
    for resolver in (resolve, resolve_rescaled, resolve_schatten4, resolve_entrywise):
        prox = resolver(kernel, regularizer)
        if prox is not None:
            return prox
    return None


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind != "kernel":
        return []
    return [
        ("psi1", psi1()),
        ("psi2", psi2()),
        ("3ψ1 + 2ψ2", 3.0 * psi1() + 2.0 * psi2()),
        ("block-quadratic + ψ1 + ½ψ2", psi1() + 0.5 * psi2() + block_quadratic(U=3.0, V=0.2)),
        ("power(3)", power(3)),
        ("power(2.5) + ψ2", power(2.5) + psi2()),
        ("balanced(4)", balanced(4.0, psi1() + psi2())),
        ("schatten4", Schatten4(1.0, 2.0)),
        ("boltzmann-shannon", BoltzmannShannon()),
        ("burg", Burg(0.5)),
        ("fermi-dirac", FermiDirac()),
        ("boltzmann-shannon + ψ2", BoltzmannShannon() + psi2()),
    ]
