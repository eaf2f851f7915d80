"""Where a Euclidean prox jumps, θ may have no exact root: the better side of the jump, settled into a minimum."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bregopt import Blocks, Separable
from bregopt_kernels.radial import Radial
from bregopt_kernels.ray import Ray, points, theta_of

ASIDE = 1e-9
"""How far to either side of θ, relative to the largest share, the two candidates are taken."""
SWEEPS = 200


def settled(H: Separable, P: Blocks, step: float, kernel: Radial, rays: Mapping[str, Ray], theta: float) -> Blocks:
    """The best of the points on both sides of θ, each carried to the minimum of its piece."""
    objective = _objective(H, P, step, kernel)
    return min(_candidates(H, P, step, kernel, rays, theta), key=objective)


def _objective(H: Separable, P: Blocks, step: float, kernel: Radial) -> Callable[[Blocks], float]:
    """``λH(Y) + ⟨P, Y⟩ + ψ(Y)``."""
    return lambda Y: step * H.value(Y) + P.dot(Y) + kernel.value(Y)


def _candidates(
    H: Separable, P: Blocks, step: float, kernel: Radial, rays: Mapping[str, Ray], theta: float
) -> Iterator[Blocks]:
    shift = ASIDE * (theta + max(float(np.max(ray.share)) for ray in rays.values()))
    for place in (theta, max(theta - shift, 0.0), theta + shift):
        Y = points(P, rays, place)
        yield Y
        yield _on_its_piece(H, P, step, kernel, rays, Y)


def _on_its_piece(H: Separable, P: Blocks, step: float, kernel: Radial, rays: Mapping[str, Ray], Y: Blocks) -> Blocks:
    """The minimiser with the support of Y where H knows its pieces; else a descent by proximal gradient steps."""
    pieces = {name: H[name].piece(Y[name]) for name, ray in rays.items() if ray.may_jump}
    if any(piece is None for piece in pieces.values()):
        return _descended(H, P, step, kernel, rays, Y)
    fixed = dict(rays)
    for name, piece in pieces.items():
        if piece is not None:
            fixed[name] = Ray.of(piece, P[name], step, kernel.share(name), name)
    return points(P, fixed, theta_of(kernel, list(fixed.values())))


def _descended(H: Separable, P: Blocks, step: float, kernel: Radial, rays: Mapping[str, Ray], Y: Blocks) -> Blocks:
    """Proximal gradient steps on ``λH(Y) + ⟨P, Y⟩ + ψ(Y)``, shortened until they descend."""
    objective = _objective(H, P, step, kernel)
    size = max(Y.dot(Y), P.norm() ** (2.0 / 3.0))  # at Y = 0 a kernel without quadratic part is flat
    value, curvature = objective(Y), 2.0 * kernel.pull(size) + max(float(np.max(r.share)) for r in rays.values())
    if curvature == 0:
        return Y
    for _ in range(SWEEPS):
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
