"""CoCaIn BPG under its name."""

from bregopt import StepRule, make
from bregopt_methods.cocain_method import CoCaIn


def cocain(
    delta: float = 0.999,
    epsilon: float = 0.001,
    gamma: float = 0.99,
    step: float | str | StepRule = "backtrack",
    lower: float = 0.01,
    grow: float = 1.1,
    restart: bool = False,
) -> CoCaIn:
    """CoCaIn BPG: a Bregman proximal gradient step from a point as far ahead as two backtracked constants allow.

    ``delta`` and ``epsilon`` are those of the β test, ``gamma`` is the largest β: 0 makes it BPG with backtracking. The
    search for Llow begins with 0.9 of the last one, at least ``lower``, and goes up by the factor ``grow`` or to the
    curvature that a failed test has shown. ``restart`` does as the authors do, from ``lower`` by ``grow`` at every
    iteration, for many more products. They shorten β by 0.9 from 1; here it is a root of the β test.
    """
    moving = {"cap": gamma, "delta": delta, "epsilon": epsilon}
    beta = make("extrapolation", "assumption2", **moving) if gamma else make("extrapolation", "zero")
    return CoCaIn(beta, make("step", step), lower, grow, restart)
