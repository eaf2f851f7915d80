"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

from bregopt import BregmanProx, Kernel, Registrar, Separable, hookimpl
from bregopt_kernels.radial import block_quadratic, psi1, psi2
from bregopt_kernels.radial_prox import resolve


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Kernel, "psi1", psi1)
    registry.add(Kernel, "psi2", psi2)
    registry.add(Kernel, "block-quadratic", block_quadratic)


@hookimpl
def bregopt_resolve_prox(kernel: Kernel, regularizer: Separable) -> BregmanProx | None:
    return resolve(kernel, regularizer)


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind != "kernel":
        return []
    return [
        ("psi1", psi1()),
        ("psi2", psi2()),
        ("3ψ1 + 2ψ2", 3.0 * psi1() + 2.0 * psi2()),
        ("ψ1 + ½ψ2 + blocks", psi1() + 0.5 * psi2() + block_quadratic(U=3.0, V=0.2)),
    ]
