"""The Bregman proximal map of the radial family, for every regularizer that has a Euclidean prox.

With θ = what the norm adds to the shares, ``min λH(Y) + ⟨P, Y⟩ + ψ(Y)`` separates into Euclidean proximal maps
``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)``, ρ_i = θ + b + c_i, and θ is the root of the falling ``pull(‖Y(θ)‖²) − θ``.
For homogeneous H_i, ``Y_i(θ) = prox_{λH_i}(−P_i)/ρ_i``: only norms depend on θ.
"""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Blocks, Kernel, Regularizer, Separable, Trait
from bregopt.errors import IncompatibleError
from bregopt_kernels.jump import settled
from bregopt_kernels.radial import Radial
from bregopt_kernels.ray import Ray, points, theta_of


@final
@frozen(eq=False)
class RadialProx:
    """``(P, λ, ψ) -> argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` for ψ in the radial family."""

    H: Separable

    @property
    def exact(self) -> bool:
        """Whether the map is a global minimiser, for a weakly convex H with step·modulus below the quadratic share."""
        jumping = [part for part in self.H.distinct() if jumps(part)]
        return all(part.piece(np.zeros((1, 1))) is not None for part in jumping) and len(jumping) <= 1

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        if not isinstance(kernel, Radial):
            raise IncompatibleError(f"The radial proximal map was given the kernel {kernel!r}, not of its family.")
        rays = {name: Ray.of(self.H[name], P[name], step, kernel.share(name), name) for name in P.names}
        theta = theta_of(kernel, list(rays.values()))
        if any(ray.may_jump for ray in rays.values()):
            return settled(self.H, P, step, kernel, rays, theta)
        return points(P, rays, theta)


def jumps(H: Regularizer) -> bool:
    """Whether the Euclidean prox of H may jump however short the step."""
    return H.split() is None and H.weak_convexity is None and Trait.CONSTANT_NORM not in H.traits


def resolve(kernel: Kernel, H: Separable) -> RadialProx | None:
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
