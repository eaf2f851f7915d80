"""The Bregman proximal map of the radial family where a Euclidean prox is discontinuous, and θ may have no exact root.

Points on both sides of the discontinuity are carried to the minimum of their piece, and the best one is taken.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np

from bregopt import Array, Blocks, Separable
from bregopt_kernels.radial import Radial, Share
from bregopt_kernels.radial_prox import RadialPath, blocks_at, cube_root, theta_of

DISTANCE = 1e-9
"""How far to either side of θ, relative to the largest ρ, the two candidates are taken."""
MAX_STEPS = 200
EPS = float(np.finfo(np.float64).eps)
NEAR = 1e-6
"""The length of a proximal gradient step, relative to the point, from which on the point is carried to its limit."""


def best_candidate(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], theta: float
) -> Blocks:
    """The best of the points on both sides of θ, each carried to the minimum of its piece."""
    best = min(_candidates(H, P, step, kernel, paths, theta), key=_objective(H, P, step, kernel))
    return _settled(H, P, step, kernel, best)


def _objective(H: Separable, P: Blocks, step: float, kernel: Radial) -> Callable[[Blocks], float]:
    """``λH(Y) + ⟨P, Y⟩ + ψ(Y)``."""
    return lambda Y: step * H.value(Y) + P.dot(Y) + kernel.value(Y)


def _candidates(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], theta: float
) -> Iterator[Blocks]:
    shift = DISTANCE * (theta + max(float(np.max(path.offset)) for path in paths.values()))
    for place in (theta, max(theta - shift, 0.0), theta + shift):
        Y = blocks_at(P, paths, place)
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
    return blocks_at(P, fixed, theta_of(kernel, list(fixed.values())))


def _descent(
    H: Separable, P: Blocks, step: float, kernel: Radial, paths: Mapping[str, RadialPath], Y: Blocks
) -> Blocks:
    """Proximal gradient steps on ``λH(Y) + ⟨P, Y⟩ + ψ(Y)``, shortened until they descend."""
    objective = _objective(H, P, step, kernel)
    size = max(Y.dot(Y), cube_root(P.norm()) ** 2)  # at Y = 0 a kernel without quadratic part is flat
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


def _settled(H: Separable, P: Blocks, step: float, kernel: Radial, Y: Blocks) -> Blocks:
    """Y carried on by proximal gradient steps for as long as they shrink: a stationary point to its last digits.

    Values of the objective tell no two points apart that are nearer than √ε|Y|; the length of a step does. The kernel
    bends by at least half and at most 3/2 of the curvature 2θ + b + c_i that the steps assume. So where H does not bend
    the other way, each step leaves at most half of the distance.
    """
    theta, size = kernel.radial_factor(Y.dot(Y)), float(np.abs(Y.flat).max(initial=0.0))
    shares = {name: kernel.quadratic_share(name) for name in Y.names}
    if not size > 0 or not all(np.min(2.0 * theta + share) > 0 for share in shares.values()):
        return Y
    factor, shortest = 1.0, NEAR * size
    for _ in range(MAX_STEPS):
        Z = _proximal_gradient_step(H, P, step, kernel, Y, {k: factor * (2.0 * theta + c) for k, c in shares.items()})
        moved = float(np.abs(Z.flat - Y.flat).max())
        if factor * moved < shortest:
            Y, shortest = Z, factor * moved
        elif moved <= EPS * size:
            break
        else:  # a step across a discontinuity, or one that is too long
            factor *= 2.0
    return Y


def _proximal_gradient_step(
    H: Separable, P: Blocks, step: float, kernel: Radial, Y: Blocks, curvature: Mapping[str, Share]
) -> Blocks:
    """``argmin_Z  λH(Z) + ⟨P + ∇ψ(Y), Z⟩ + ½Σ c_i‖Z_i − Y_i‖²``."""
    gradient = kernel.gradient(Y) + P

    def moved(name: str, X: Array) -> Array:
        c = curvature[name]
        return H[name].prox(X - gradient[name] / c, cast(float, step / c))

    return Y.map(moved)
