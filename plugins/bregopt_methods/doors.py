"""What methods ask of a resolved problem: looks, gradients, and a Bregman proximal step."""

import math

from bregopt import Blocks, Kernel, Look, Oracle, Problem
from bregopt.errors import IncompatibleError, OverflowedError


def oracle(problem: Problem) -> Oracle:
    """The oracle of a resolved problem."""
    if problem.oracle is None:
        raise IncompatibleError(f"The {problem.name} has no oracle yet: use bregopt.solve, which asks the plugins.")
    return problem.oracle


def gradient(look: Look) -> Blocks:
    """The gradient of a look that was asked for one."""
    if look.gradient is None:
        raise IncompatibleError("An oracle was asked for a gradient and returned a Look without one.")
    return look.gradient


def bregman_step(problem: Problem, look: Look, step: float, kernel: Kernel) -> Blocks:
    """``argmin_Y  H(Y) + ⟨∇F(Ȳ, W), Y⟩ + D_ψ(Y, Ȳ)/λ`` from the Ȳ that was looked at."""
    if problem.prox is None or look.at is None:
        raise IncompatibleError(f"The {problem.name} has no Bregman proximal map yet: use bregopt.solve.")
    P = gradient(look).flat * step
    P -= kernel.gradient(look.at).flat
    if not math.isfinite(P @ P):
        raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
    return problem.prox(look.at.like(P), step, kernel)
