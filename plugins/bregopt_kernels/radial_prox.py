"""The Bregman proximal map of the radial family, for every regularizer that has a Euclidean prox.

Let θ be the radial factor of ψ, the factor of Y in the gradient of its powers of the norm, at the minimiser. Given θ,
``min λH(Y) + ⟨P, Y⟩ + ψ(Y)`` separates into Euclidean proximal maps ``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)`` with
ρ_i = θ + b + c_i, and θ is the root of ``radial_factor(‖Y(θ)‖²) − θ``, which falls. For homogeneous H_i,
``Y_i(θ) = prox_{λH_i}(−P_i)/ρ_i``: only norms depend on θ.

Where a Euclidean prox is discontinuous, θ may have no exact root. Then points on both sides of the discontinuity are
carried to the minimum of their piece, and the best one is taken.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import cast, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Kernel, Regularizer, Separable, Trait
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt_kernels.radial import Radial, Share
from bregopt_kernels.scalar import coupled, falling_root, radius

DISTANCE = 1e-9
"""How far to either side of θ, relative to the largest ρ, the two candidates are taken."""
MAX_STEPS = 200


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
        theta = _theta_of(kernel, list(paths.values()))
        if any(path.discontinuous for path in paths.values()):
            return _best_candidate(self.H, P, step, kernel, paths, theta)
        return _blocks_at(P, paths, theta)


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


def _blocks_at(P: Blocks, paths: Mapping[str, RadialPath], theta: float) -> Blocks:
    """``Y(θ)``."""
    return P.map(lambda name, _: paths[name].point(theta))


def _theta_of(kernel: Radial, paths: list[RadialPath]) -> float:
    """The root of ``radial_factor(‖Y(θ)‖²) − θ``."""
    lengths = [path.lengths() for path in paths]
    c, n = np.concatenate([x for x, _ in lengths]), np.concatenate([x for _, x in lengths])
    theta = _theta_of_norms(kernel, c, n)
    if theta == 0 or all(path.direction is not None for path in paths):
        return theta

    def residual(theta: float) -> float:
        square = sum(float(np.vdot(X, X)) for X in (path.point(theta) for path in paths))
        if not math.isfinite(square):
            raise OverflowedError("A proximal map left the range of finite numbers: shorten the step.")
        return kernel.radial_factor(square) - theta

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


def _best_candidate(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], theta: float
) -> Blocks:
    """The best of the points on both sides of θ, each carried to the minimum of its piece."""
    objective = _objective(H, P, step, kernel)
    return min(_candidates(H, P, step, kernel, paths, theta), key=objective)


def _objective(H: Separable, P: Blocks, step: float, kernel: Radial) -> Callable[[Blocks], float]:
    """``λH(Y) + ⟨P, Y⟩ + ψ(Y)``."""
    return lambda Y: step * H.value(Y) + P.dot(Y) + kernel.value(Y)


def _candidates(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], theta: float
) -> Iterator[Blocks]:
    shift = DISTANCE * (theta + max(float(np.max(path.offset)) for path in paths.values()))
    for place in (theta, max(theta - shift, 0.0), theta + shift):
        Y = _blocks_at(P, paths, place)
        yield Y
        yield _minimum_on_piece(H, P, step, kernel, paths, Y)


def _minimum_on_piece(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], Y: Blocks
) -> Blocks:
    """The minimiser with the support of Y where H knows its pieces; else a descent by proximal gradient steps."""
    pieces = {name: H[name].piece(Y[name]) for name, path in paths.items() if path.discontinuous}
    if any(piece is None for piece in pieces.values()):
        return _descent(H, P, step, kernel, paths, Y)
    fixed = dict(paths)
    for name, piece in pieces.items():
        if piece is not None:
            fixed[name] = RadialPath.of(piece, P[name], step, kernel.quadratic_share(name), name)
    return _blocks_at(P, fixed, _theta_of(kernel, list(fixed.values())))


def _descent(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], Y: Blocks
) -> Blocks:
    """Proximal gradient steps on ``λH(Y) + ⟨P, Y⟩ + ψ(Y)``, shortened until they descend."""
    objective = _objective(H, P, step, kernel)
    size = max(Y.dot(Y), P.norm() ** (2.0 / 3.0))  # at Y = 0 a kernel without quadratic part is flat
    value = objective(Y)
    curvature = 2.0 * kernel.radial_factor(size) + max(float(np.max(path.offset)) for path in paths.values())
    if curvature == 0:
        return Y
    for _ in range(MAX_STEPS):
        gradient = kernel.gradient(Y) + P
        Z = H.prox(Y.plus(-1.0 / curvature, gradient), step / curvature)
        below = objective(Z)
        if below < value:
            small = np.abs(Z.flat - Y.flat).max() <= 1e-15 * np.abs(Z.flat).max()
            Y, value = Z, below
            if small:
                break
        elif np.abs(Z.flat - Y.flat).max() <= 1e-13 * np.abs(Y.flat).max():
            break
        else:
            curvature *= 2.0
    return Y
