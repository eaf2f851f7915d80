"""What this plugin registers."""

from collections.abc import Callable, Sequence
from typing import Any

from bregopt import BregmanProx, Kernel, Registrar, Separable, hookimpl
from bregopt_kernels.entrywise import BoltzmannShannon, Burg, FermiDirac
from bregopt_kernels.entrywise_prox import resolve_entrywise
from bregopt_kernels.radial import block_quadratic, power, psi1, psi2
from bregopt_kernels.radial_prox import resolve_radial
from bregopt_kernels.rescaled import balanced, resolve_rescaled
from bregopt_kernels.schatten4 import Schatten4, resolve_schatten4

KERNELS: dict[str, Callable[..., Kernel]] = {
    "psi1": psi1,
    "psi2": psi2,
    "power": power,
    "block-quadratic": block_quadratic,
    "balanced": balanced,
    "schatten4": Schatten4,
    "boltzmann-shannon": BoltzmannShannon,
    "burg": Burg,
    "fermi-dirac": FermiDirac,
}
RESOLVERS = (resolve_radial, resolve_rescaled, resolve_schatten4, resolve_entrywise)


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    for name, kernel in KERNELS.items():
        registry.add(Kernel, name, kernel)


@hookimpl
def bregopt_resolve_prox(kernel: Kernel, regularizer: Separable) -> BregmanProx | None:
    return next((prox for resolve in RESOLVERS if (prox := resolve(kernel, regularizer)) is not None), None)


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
