"""The Bregman proximal map of the radial family, for every regularizer that has a Euclidean prox.

With θ = a‖Y‖² the problem ``min λH(Y) + ⟨P, Y⟩ + ψ(Y)`` separates into Euclidean proximal maps
``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)``, ρ_i = θ + b + c_i, and θ is the root of the falling a‖Y(θ)‖² − θ.
For homogeneous H_i, ``Y_i(θ) = prox_{λH_i}(−P_i)/ρ_i``: only norms depend on θ.
"""

from collections.abc import Callable
from typing import cast, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Kernel, Regularizer, Separable, Trait
from bregopt.errors import IncompatibleError
from bregopt_kernels.radial import Radial, Share
from bregopt_kernels.scalar import coupled, falling_root, radius


@final
@frozen(eq=False)
class RadialProx:
    """``(P, λ, ψ) -> argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` for ψ in the radial family."""

    H: Separable

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        if not isinstance(kernel, Radial):
            raise IncompatibleError(f"The radial proximal map was given the kernel {kernel!r}, not of its family.")
        flat = np.empty_like(P.flat)
        rooms = P.layout.views(flat)
        rays = {name: _Ray.of(self.H[name], P[name], step, kernel.share(name), name) for name in P.names}
        theta = _theta(kernel.a, list(rays.values()))
        for name, ray in rays.items():
            rooms[name][...] = ray.point(theta)
        return P.like(flat)


@final
@frozen(eq=False)
class _Ray:
    """One block as a function of θ: a fixed direction over ρ, or a proximal map at every θ."""

    share: Share
    """ρ − θ"""
    direction: Array | None
    prox: Callable[[Share], Array]
    """ρ -> prox_{λH/ρ}(−P/ρ)"""
    norm: float
    """‖P‖"""

    @classmethod
    def of(cls, H: Regularizer, P: Array, step: float, share: Share, name: str) -> "_Ray":
        split = H.split()
        if split is not None:
            homogeneous, eta = split
            share = share + step * eta
            if not np.min(share) >= 0:
                raise IncompatibleError(
                    f"The step {step:g} is too long for {H!r} on block '{name}': "
                    f"its concave part needs step·{-eta:g} below the kernel's quadratic share."
                )
            direction = homogeneous.prox(-P, step)
            return cls(share, direction, lambda rho: direction / rho, 0.0)
        return cls(share, None, lambda rho: H.prox(-P / rho, cast(float, step / rho)), float(np.linalg.norm(P)))

    def point(self, theta: float) -> Array:
        rho = theta + self.share
        if not np.min(rho) > 0:
            # the kernel is flat here: only a zero direction has a minimiser
            rho = np.where(np.asarray(rho) > 0, rho, np.inf)
        return self.prox(rho)

    def lengths(self) -> tuple[Array, Array]:
        """(c_i, n_i): the shares that differ and the norms of the direction that belong to them."""
        if self.direction is None:
            return np.array([np.min(self.share)]), np.array([self.norm])
        if isinstance(self.share, float):
            return np.array([self.share]), np.array([np.sqrt(np.vdot(self.direction, self.direction))])
        c = self.share.reshape((1,) * (self.direction.ndim - self.share.ndim) + self.share.shape)
        alike = tuple(axis for axis in range(c.ndim) if c.shape[axis] == 1)
        n = np.sqrt(np.square(self.direction).sum(axis=alike, keepdims=True))
        return c.ravel(), n.ravel()


def _theta(a: float, rays: list[_Ray]) -> float:
    if a == 0:
        return 0.0
    lengths = [ray.lengths() for ray in rays]
    c, n = np.concatenate([x for x, _ in lengths]), np.concatenate([x for _, x in lengths])
    w = coupled(a, c, n) if np.ptp(c) > 0 else radius(a, float(c[0]), float(np.sqrt(n @ n)))
    if all(ray.direction is not None for ray in rays):
        return a * w * w

    def residual(theta: float) -> float:
        points = (ray.point(theta) for ray in rays)
        return a * sum(float(np.vdot(X, X)) for X in points) - theta

    return falling_root(residual, a * w * w, float(c.min()))


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
