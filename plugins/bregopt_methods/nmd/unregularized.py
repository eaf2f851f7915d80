"""The model without H, ``min ½‖W − UV‖²``: what the methods made for it have in common."""

import numpy as np

from bregopt import Array, Blocks, ResolvedProblem, Subgradient
from bregopt.errors import IncompatibleError


def check_unregularized(problem: ResolvedProblem, method: str) -> None:
    """Refuse an H."""
    if not problem.regularizer.is_zero:
        raise IncompatibleError(
            f"The method {method} solves the unregularised model only: H must be zero on every block. "
            f"Got {problem.regularizer!r} instead; aapb, bpg, cocain and ppalm take an H."
        )


def check_factors(problem: ResolvedProblem, Y: Blocks, method: str) -> None:
    """Refuse an F that is not (c/2)‖W − UV‖², which is known by its Gram matrices cVVᵀ and cUᵀU."""
    if len(Y.names) == 2:
        U, V = (Y[name] for name in Y.names)
        if U.ndim == V.ndim == 2 and U.shape[1] == V.shape[0]:
            c, grams = curvature(problem, Y), [problem.smooth.gram(Y, name) for name in Y.names]
            if all(_same(G, c * X) for G, X in zip(grams, (V @ V.T, U.T @ U), strict=True)):
                return
    raise IncompatibleError(
        f"The method {method} solves ½‖W − UV‖² for two factors U and V, and {type(problem.smooth).__name__} of the "
        f"{problem.name} does not say that it is this function (SmoothPart.gram). Got {Y!r}; use aapb, bpg or cocain."
    )


def curvature(problem: ResolvedProblem, Y: Blocks) -> float:
    """c of F = (c/2)‖W − UV‖²; 1 where nothing tells it."""
    first, second = Y.names
    G, size = problem.smooth.gram(Y, first), float(np.vdot(Y[second], Y[second]))
    c = 1.0 if G is None or size == 0 else float(np.trace(G)) / size
    return 1.0 if abs(c - 1.0) < 1e-12 else c  # rounding


def _same(G: Array | None, X: Array) -> bool:
    return G is not None and float(np.linalg.norm(G - X)) <= 1e-9 * float(np.linalg.norm(X))


def unregularized_subgradient(problem: ResolvedProblem, Y: Blocks) -> Subgradient:
    """``A = ∇F(Y, W(Y))``, by an evaluation."""
    evaluation = problem.oracle.evaluate(Y, at=Y)
    return Subgradient(evaluation.gradient, evaluation.gradient.norm(), evaluation.gradient_rounding)
