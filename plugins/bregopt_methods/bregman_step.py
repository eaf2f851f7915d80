"""A Bregman proximal step from a point that was evaluated."""

import math

from bregopt import Blocks, Evaluation, Kernel, Problem, gradient_of
from bregopt.errors import IncompatibleError, OverflowedError


def bregman_step(problem: Problem, evaluation: Evaluation, step: float, kernel: Kernel) -> Blocks:
    """``argmin_Y  H(Y) + ⟨∇F(Ȳ, W), Y⟩ + D_ψ(Y, Ȳ)/λ`` from the Ȳ that was evaluated."""
    if problem.prox is None or evaluation.at is None:
        raise IncompatibleError(f"The {problem.name} has no Bregman proximal map yet: use bregopt.solve.")
    P = gradient_of(evaluation).flat * step
    P -= kernel.gradient(evaluation.at).flat
    if not math.isfinite(P @ P):
        raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
    return problem.prox(evaluation.at.like(P), step, kernel)
