"""The minimiser of a block by least squares, for H = 0 and for Tikhonov's H."""

import numpy as np

from bregopt import Array, Problem, Regularizer
from bregopt.errors import IncompatibleError
from bregopt_methods.turn import Model, Step

LEAST = 1e-12
"""The least damping: it keeps a singular G harmless."""


def tikhonov(H: Regularizer) -> float | None:
    """η where ``H(X) = (η/2)‖X‖²``, else ``None``."""
    h = H.scalar()
    return h.ridge if h is not None and h.quadratic else None


def check_tikhonov(problem: Problem, method: str) -> None:
    """Refuse an H that no linear system minimises."""
    for H in problem.regularizer.distinct():
        if tikhonov(H) is None:
            raise IncompatibleError(
                f"The method {method} solves a least-squares problem for each block: it can take H = 0 or Tikhonov "
                f"(ridge). Got {H!r} instead; ecd takes every separable H, aapb every H with a Bregman proximal map."
            )


def least_squares(model: Model, damping: float) -> Step:
    """``X⁺ = X − (∇F + ηX)(G + ηI + τI)⁻¹`` with τ = damping·tr(G)/r.

    With τ → 0 it minimises the model; with τ the model plus ``(τ/2)‖X⁺ − X‖²``, which has the same fixed points.
    """
    eta, trace = tikhonov(model.H) or 0.0, float(np.trace(model.G))
    values, Q = np.linalg.eigh(model.G)
    weights = np.maximum(values, 0.0) + (eta + max(damping, LEAST) * trace / len(values))
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        new: Array = X - (((gradient + eta * X) @ Q) * inverse) @ Q.T
        return new, eta * new

    return step
