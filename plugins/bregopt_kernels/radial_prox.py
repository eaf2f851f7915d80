"""The Bregman proximal map of the radial family, for every regularizer that has a Euclidean prox.

Let θ be the radial factor of ψ, the factor of Y in the gradient of its powers of the norm, at the minimiser. Given θ,
``min λH(Y) + ⟨P, Y⟩ + ψ(Y)`` separates into Euclidean proximal maps ``Y_i(θ) = prox_{λH_i/ρ_i}(−P_i/ρ_i)`` with
ρ_i = θ + b + c_i, and θ is the root of ``radial_factor(‖Y(θ)‖²) − θ``, which falls. For homogeneous H_i,
``Y_i(θ) = prox_{λH_i}(−P_i)/ρ_i``: only norms depend on θ.

The scalar equations behind θ stand at the end, each solved to full accuracy without overflow. Where a Euclidean prox is
discontinuous, θ may have no exact root: discontinuous_prox.py goes on from there.
"""

import math
from collections.abc import Callable, Mapping
from typing import cast, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, Kernel, Regularizer, Separable, Trait
from bregopt.errors import IncompatibleError, OverflowedError, ParameterError
from bregopt_kernels.radial import Radial, Share


@final
@frozen(eq=False)
class RadialProx:
    """``(P, λ, ψ) -> argmin_Y  λH(Y) + ⟨P, Y⟩ + ψ(Y)`` for ψ in the radial family."""

    H: Separable
    _alike: dict[tuple[str, ...], tuple[Separable, float] | None] = field(init=False, factory=dict, repr=False)
    """``_homogeneous`` for the blocks met so far"""

    @property
    def exact(self) -> bool:
        """Whether the map is a global minimiser, for a weakly convex H with step·modulus below the quadratic share."""
        parts = [part for part in self.H.distinct() if has_discontinuous_prox(part)]
        return all(part.piece(np.zeros((1, 1))) is not None for part in parts) and len(parts) <= 1

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        if not isinstance(kernel, Radial):
            raise IncompatibleError(f"The radial proximal map was given the kernel {kernel!r}, not of its family.")
        return self._by_one_direction(P, step, kernel) or self._by_paths(P, step, kernel)

    def _by_one_direction(self, P: Blocks, step: float, kernel: Radial) -> Blocks | None:
        """All blocks over the same ρ, where each H_i is homogeneous up to the same ridge and ψ treats them alike."""
        if kernel.c:
            return None
        if P.names not in self._alike:
            self._alike[P.names] = self._homogeneous(P.names)
        found = self._alike[P.names]
        if found is None:
            return None
        homogeneous, eta = found
        offset = kernel.b + step * eta
        if not (offset > 0 or (offset == 0 and kernel.kappa)):
            return None
        direction = homogeneous.prox(-P, step).flat
        rho = _theta_of_norm(kernel, offset, _length(direction)) + offset
        return P.like(direction / rho if rho > 0 else direction)  # a zero direction stays

    def _homogeneous(self, names: tuple[str, ...]) -> tuple[Separable, float] | None:
        """The homogeneous part of H on each block, and the ridge that all blocks have besides; ``None`` without."""
        splits = {name: self.H[name].split() for name in names}
        parts = {name: split[0] for name, split in splits.items() if split is not None}
        etas = {split[1] for split in splits.values() if split is not None}
        return (Separable(**parts), etas.pop()) if len(parts) == len(names) and len(etas) == 1 else None

    def _by_paths(self, P: Blocks, step: float, kernel: Radial) -> Blocks:
        paths = {
            name: RadialPath.of(self.H[name], P[name], step, kernel.quadratic_share(name), name) for name in P.names
        }
        theta = theta_of(kernel, list(paths.values()))
        if any(path.discontinuous for path in paths.values()):
            from bregopt_kernels.discontinuous_prox import best_candidate  # it imports this file itself

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
    """‖direction‖, or ‖P‖ where there is none"""
    discontinuous: bool = False
    """whether the path may be discontinuous in θ"""

    @classmethod
    def of(cls, H: Regularizer, P: Array, step: float, share: Share, name: str) -> "RadialPath":
        """The path of the block ``name``, where the kernel has this quadratic share."""
        split = H.split()
        if split is None:
            modulus, flat = H.weak_convexity, float(np.min(share))
            steady = Trait.CONSTANT_NORM in H.traits or (modulus is not None and step * modulus < flat)
            discontinuous = not steady and modulus != 0
            return cls(share, None, lambda rho: H.prox(-P / rho, cast(float, step / rho)), _length(P), discontinuous)
        homogeneous, eta = split
        offset = share + step * eta
        if not (offset if isinstance(offset, float) else np.min(offset)) >= 0:
            raise IncompatibleError(
                f"The step {step:g} is too long for {H!r} on block '{name}': "
                f"its concave part needs step·{-eta:g} below the kernel's quadratic share."
            )
        direction = homogeneous.prox(-P, step)
        return cls(offset, direction, lambda rho: direction / rho, _length(direction))

    def point(self, theta: float) -> Array:
        """``Y_i(θ)``."""
        rho = theta + self.offset
        if not (rho if isinstance(rho, float) else np.min(rho)) > 0:  # flat: only a zero direction has a minimiser
            rho = np.where(np.asarray(rho) > 0, rho, np.inf)
        return self.prox(rho)

    def lengths(self) -> tuple[Array, Array]:
        """(c_i, n_i): the offsets that differ, and the norms of the direction that belong to them."""
        if self.direction is None:
            return np.array([np.min(self.offset)]), np.array([self.size])
        if isinstance(self.offset, float):
            return np.array([self.offset]), np.array([self.size])
        c = self.offset.reshape((1,) * (self.direction.ndim - self.offset.ndim) + self.offset.shape)
        alike = tuple(axis for axis in range(c.ndim) if c.shape[axis] == 1)
        n = np.sqrt(np.square(self.direction).sum(axis=alike, keepdims=True))
        return c.ravel(), n.ravel()


def _length(X: Array) -> float:
    """‖X‖; infinite where its square is."""
    x = X.ravel("K")
    return math.sqrt(x.dot(x))


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
        square = sum(float(np.vdot(X, X)) for X in (path.point(theta) for path in paths))
        if not math.isfinite(square):
            raise OverflowedError("A proximal map left the range of finite numbers: shorten the step.")
        return kernel.radial_factor(square) - theta

    return falling_root(residual, theta, float(c.min()))


def _theta_of_norm(kernel: Radial, c: float, n: float) -> float:
    """θ where all blocks together are a fixed direction of norm n over θ + c."""
    if not math.isfinite(n):
        raise OverflowedError("The norm of a step left the range of finite numbers: shorten the step.")
    if kernel.kappa:
        return kernel.radial_factor(_length_of_powers(kernel, c, n) ** 2)
    w = radius(kernel.a, c, n) if kernel.a > 0 else 0.0
    return kernel.a * w * w


def _length_of_powers(kernel: Radial, c: float, n: float) -> float:
    """The root y ≥ 0 of ``Σ κ_p y^{p−1} + a y³ + c y = n``: the norm of a point with ``(θ + c) y = z``, ‖z‖ = n.

    Each term by itself gives a y that is not too short. From the least of these Newton's method falls to the root, in
    multiples of it.
    """
    powers = (*kernel.kappa.items(), (4.0, kernel.a), (2.0, c))
    alone = [((n / k) ** (1.0 / (p - 1.0)), p - 1.0) for p, k in powers if k > 0]
    y: float = min(alone)[0]
    if y == 0:
        return 0.0
    weighted = [((y / longer) ** q, q) for longer, q in alone]

    def newton(x: float) -> float:
        value, slope = -1.0, 0.0
        for w, q in weighted:
            term = w * x ** (q - 1.0)
            value += x * term
            slope += q * term
        return value / slope

    return y * _fall(newton)


def _theta_of_norms(kernel: Radial, c: Array, n: Array) -> float:
    """θ where every block is a fixed direction of norm n_i over θ + c_i."""
    total = math.sqrt(np.vdot(n, n))
    if not math.isfinite(total) or not np.ptp(c) > 0:
        return _theta_of_norm(kernel, float(c[0]), total)
    if kernel.radial_factor(1.0) == 0 or total == 0:
        return 0.0
    if not kernel.kappa:
        w = coupled(kernel.a, c, n)
        return kernel.a * w * w

    def residual(theta: float) -> float:
        return kernel.radial_factor(float(np.sum((n / (theta + c)) ** 2))) - theta

    return falling_root(residual, 1.0, float(c.min()))


def cubic(a: float, c: float) -> float:
    """The positive root t of ``a t³ + c t = 1`` for a, c ≥ 0, not both zero."""
    if not (a >= 0 and c >= 0 and 0 < a + c < math.inf):
        raise ParameterError(f"a t³ + c t = 1 needs finite a, c >= 0, not both zero. Got a={a!r}, c={c!r} instead.")
    q = cube_root(a)
    if q == 0 or q < c * 1e-103:  # the cubic term is below rounding, and c/q may overflow
        return 1.0 / c
    omega = c / q
    if omega < 1:
        return _fall(lambda w: (w * (w * w + omega) - 1.0) / (3.0 * w * w + omega)) / q
    k = omega**-3
    return _fall(lambda x: (x * (k * x * x + 1.0) - 1.0) / (3.0 * k * x * x + 1.0)) / c


def cube_root(a: float) -> float:
    """``∛a``, and exactly twice that for 8a: the one of some C libraries rounds otherwise below 1."""
    _, exponent = math.frexp(a)
    third = exponent // 3
    return math.ldexp(math.cbrt(math.ldexp(a, -3 * third)), third)


def _fall(newton: Callable[[float], float]) -> float:
    """Newton from 1 on a convex increasing function that is ≥ 0 there: it falls to the root, then stops falling."""
    x = 1.0
    while (lower := x - newton(x)) < x:
        x = lower
    return x


def radius(a: float, c: float, n: float) -> float:
    """The root w ≥ 0 of ``a w³ + c w = n``: the norm of a point with ``(a‖y‖² + c) y = z``, ‖z‖ = n."""
    return cubic(a / n, c / n) if n > 0 else 0.0


def coupled(a: float, c: Array, n: Array) -> float:
    """The root w ≥ 0 of ``w = ‖(n_i / (a w² + c_i))_i‖``: the norm of y with ``(a‖y‖² + c_i)|y_i| = n_i``."""
    n, c = n[n > 0], c[n > 0]
    if n.size == 0:
        return 0.0
    total, smallest, largest = _norm(n), float(c.min()), float(c.max())
    if a == 0:
        return _norm(n / c)
    if smallest == largest:
        return radius(a, smallest, total)
    low, high = radius(a, largest, total), radius(a, smallest, total)
    w, width = low, math.inf
    for _ in range(200):
        rho = a * w * w + c
        v = n / rho
        right = _norm(v)
        low, high = (w, high) if w <= right else (low, w)
        near = 0.5 < w / right < 2
        gap = math.log1p((w - right) / right) if near else math.log(w) - math.log(right)
        share = v / right
        moved = w * math.exp(-gap / (1.0 + 2.0 * a * w * w * float(share @ (share / rho))))
        narrowed, width = math.log(high) - math.log(low) <= 0.5 * width, math.log(high) - math.log(low)
        if not (near or narrowed) or not low <= moved <= high:  # Newton in log w may cycle far from the root
            moved = math.sqrt(low) * math.sqrt(high)
        if abs(moved - w) <= 2e-16 * w:
            return moved
        w = moved
    return w


def falling_root(g: Callable[[float], float], guess: float, floor: float) -> float:
    """The root of a strictly falling ``g`` on θ ≥ 0, to full accuracy in ``floor + θ``; 0 where g(0) ≤ 0."""
    from scipy.optimize import brentq

    low = high = max(guess, floor * 1e-8, 1e-300)
    while g(low) < 0:
        if low <= floor * 1e-17 or low < 1e-290:
            return 0.0
        high, low = low, low / 16.0
    while g(high) > 0:
        low, high = high, high * 16.0
    if low == high:
        return low
    return float(brentq(g, low, high, xtol=max(1e-16 * floor, 1e-305), rtol=1e-15, maxiter=200))


def _norm(v: Array) -> float:
    """The Euclidean norm without overflow."""
    top = float(np.abs(v).max())
    return top * float(np.sqrt(np.square(v / top).sum())) if top > 0 else 0.0
