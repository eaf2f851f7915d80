"""A Bregman proximal step from a point that was looked at."""

import math

from bregopt import Blocks, Kernel, Look, Problem, gradient_of
from bregopt.errors import IncompatibleError, OverflowedError


def bregman_step(problem: Problem, look: Look, step: float, kernel: Kernel) -> Blocks:
    """``argmin_Y  H(Y) + ⟨∇F(Ȳ, W), Y⟩ + D_ψ(Y, Ȳ)/λ`` from the Ȳ that was looked at."""
    if problem.prox is None or look.at is None:
        raise IncompatibleError(f"The {problem.name} has no Bregman proximal map yet: use bregopt.solve.")
    P = gradient_of(look).flat * step
    P -= kernel.gradient(look.at).flat
    if not math.isfinite(P @ P):
        raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
    return problem.prox(look.at.like(P), step, kernel)
