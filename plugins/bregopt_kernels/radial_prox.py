"""The Bregman proximal map of the radial family, for every regularizer that has a Euclidean prox.

Let θ be the radial factor of ψ, the factor of Y in the gradient of its powers of the norm, at the minimiser. Given θ,
``min λH(Y) + ⟨P, Y⟩ + ψ(Y)`` separates into Euclidean proximal maps ``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)`` with
ρ_i = θ + b + c_i, and θ is the root of ``radial_factor(‖Y(θ)‖²) − θ``, which falls. For homogeneous H_i,
``Y_i(θ) = prox_{λH_i}(−P_i)/ρ_i``: only norms depend on θ.
"""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Blocks, Kernel, Regularizer, Separable, Trait
from bregopt.errors import IncompatibleError
from bregopt_kernels.discontinuous_prox import best_candidate
from bregopt_kernels.radial import Radial
from bregopt_kernels.radial_path import RadialPath, blocks_at, theta_of


@final
@frozen(eq=False)
class RadialProx:
    """``(P, λ, ψ) -> argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` for ψ in the radial family."""

    H: Separable

    @property
    def exact(self) -> bool:
        """Whether the map is a global minimiser, for a weakly convex H with step·modulus below the quadratic share."""
        parts = [part for part in self.H.distinct() if has_discontinuous_prox(part)]
        return all(part.piece(np.zeros((1, 1))) is not None for part in parts) and len(parts) <= 1

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        if not isinstance(kernel, Radial):
            raise IncompatibleError(f"The radial proximal map was given the kernel {kernel!r}, not of its family.")
        paths = {
            name: RadialPath.of(self.H[name], P[name], step, kernel.quadratic_share(name), name) for name in P.names
        }
        theta = theta_of(kernel, list(paths.values()))
        if any(path.discontinuous for path in paths.values()):
            return best_candidate(self.H, P, step, kernel, paths, theta)
        return blocks_at(P, paths, theta)


def has_discontinuous_prox(H: Regularizer) -> bool:
    """Whether the Euclidean prox of H may be discontinuous however short the step."""
    return H.split() is None and H.weak_convexity is None and Trait.CONSTANT_NORM not in H.traits


def resolve_radial(kernel: Kernel, H: Separable) -> RadialProx | None:
    """The map, where the kernel is radial; a share within a block needs a separable regularizer there."""
    if not isinstance(kernel, Radial):
        return None
    for name, c in kernel.c.items():
        if not isinstance(c, float) and Trait.SEPARABLE not in H[name].traits:
            raise IncompatibleError(
                f"The kernel has a quadratic share that varies within block '{name}', and {H[name]!r} is not "
                "separable: its proximal map does not split along that share. Use one share for the block."
            )
    return RadialProx(H)
