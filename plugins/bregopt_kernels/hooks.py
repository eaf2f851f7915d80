"""What this plugin registers."""

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
