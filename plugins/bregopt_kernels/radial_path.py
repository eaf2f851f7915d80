"""One block of the radial proximal map as a function of θ, and the θ that fits all blocks."""

from collections.abc import Callable, Mapping
from typing import cast, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Regularizer, Trait
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt_kernels.radial import Radial, Share
from bregopt_kernels.scalar import coupled, falling_root, radius


@final
@frozen(eq=False)
class RadialPath:
    """``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)``, ρ_i = θ + offset: a fixed direction over ρ_i where H_i is homogeneous."""

    offset: Share
    """ρ − θ"""
    direction: Array | None
    prox: Callable[[Share], Array]
    """ρ -> prox_{λH/ρ}(−P/ρ)"""
    size: float
    """‖P‖"""
    discontinuous: bool = False
    """whether the path may be discontinuous in θ"""

    @classmethod
    def of(cls, H: Regularizer, P: Array, step: float, share: Share, name: str) -> "RadialPath":
        """The path of the block ``name``, where the kernel has this quadratic share."""
        split = H.split()
        size = float(np.linalg.norm(P))
        if split is None:
            modulus, flat = H.weak_convexity, float(np.min(share))
            steady = Trait.CONSTANT_NORM in H.traits or (modulus is not None and step * modulus < flat)
            discontinuous = not steady and modulus != 0
            return cls(share, None, lambda rho: H.prox(-P / rho, cast(float, step / rho)), size, discontinuous)
        homogeneous, eta = split
        offset = share + step * eta
        if not np.min(offset) >= 0:
            raise IncompatibleError(
                f"The step {step:g} is too long for {H!r} on block '{name}': "
                f"its concave part needs step·{-eta:g} below the kernel's quadratic share."
            )
        direction = homogeneous.prox(-P, step)
        return cls(offset, direction, lambda rho: direction / rho, size)

    def point(self, theta: float) -> Array:
        """``Y_i(θ)``."""
        rho = theta + self.offset
        if not np.min(rho) > 0:  # the kernel is flat here: only a zero direction has a minimiser
            rho = np.where(np.asarray(rho) > 0, rho, np.inf)
        return self.prox(rho)

    def lengths(self) -> tuple[Array, Array]:
        """(c_i, n_i): the offsets that differ, and the norms of the direction that belong to them."""
        if self.direction is None:
            return np.array([np.min(self.offset)]), np.array([self.size])
        if isinstance(self.offset, float):
            return np.array([self.offset]), np.array([np.sqrt(np.vdot(self.direction, self.direction))])
        c = self.offset.reshape((1,) * (self.direction.ndim - self.offset.ndim) + self.offset.shape)
        alike = tuple(axis for axis in range(c.ndim) if c.shape[axis] == 1)
        n = np.sqrt(np.square(self.direction).sum(axis=alike, keepdims=True))
        return c.ravel(), n.ravel()


def blocks_at(P: Blocks, paths: Mapping[str, RadialPath], theta: float) -> Blocks:
    """``Y(θ)``."""
    return P.map(lambda name, _: paths[name].point(theta))


def theta_of(kernel: Radial, paths: list[RadialPath]) -> float:
    """The root of ``radial_factor(‖Y(θ)‖²) − θ``."""
    lengths = [path.lengths() for path in paths]
    c, n = np.concatenate([x for x, _ in lengths]), np.concatenate([x for _, x in lengths])
    theta = _theta_of_norms(kernel, c, n)
    if theta == 0 or all(path.direction is not None for path in paths):
        return theta

    def residual(theta: float) -> float:
        squares = (float(np.vdot(X, X)) for X in (path.point(theta) for path in paths))
        return kernel.radial_factor(sum(squares)) - theta

    return falling_root(residual, theta, float(c.min()))


def _theta_of_norms(kernel: Radial, c: Array, n: Array) -> float:
    """θ where every block is a fixed direction of norm n_i over θ + c_i."""
    total = float(np.sqrt(n @ n))
    if not np.isfinite(total):
        raise OverflowedError("The norm of a step left the range of finite numbers: shorten the step.")
    if kernel.radial_factor(1.0) == 0 or total == 0:
        return 0.0
    if not kernel.kappa:
        w = coupled(kernel.a, c, n) if np.ptp(c) > 0 else radius(kernel.a, float(c[0]), total)
        return kernel.a * w * w

    def residual(theta: float) -> float:
        return kernel.radial_factor(float(np.sum((n / (theta + c)) ** 2))) - theta

    return falling_root(residual, 1.0, float(c.min()))
