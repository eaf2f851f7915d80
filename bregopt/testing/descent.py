"""A short run of the engine: Φ never rises without extrapolation."""

import itertools

import numpy as np

from bregopt.blocks import Blocks
from bregopt.errors import BregoptError
from bregopt.host.api import iterate
from bregopt.host.compose import compose
from bregopt.parts.regularizer import Regularizer, Zero
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.subject import Subject, fits

ITERATIONS = 25
METHOD = "apb(step=0.9)"
ROUNDING = 1e-12


def descends(H: Regularizer, draw: Draw) -> None:
    """APB with λ = 0.9/L on a small ReLU-NMD problem."""
    m, r = Subject.of(H).shape
    if r > m:
        skip("It takes no block with as many rows as columns, as ReLU-NMD needs.")
    V: Regularizer = H if fits(H, (r, m + 1)) else Zero()
    M = np.maximum(0.0, draw.gauss((m, m + 1), max(1.0, 1.0 / H.step_limit, H.weak_convexity or 0.0)))
    Y = Blocks(U=draw.gauss((m, r)), V=draw.gauss((r, m + 1)))
    try:
        problem = compose("relu-nmd", M, rank=r, U=H, V=V)
        if not getattr(problem.prox, "exact", True):
            skip("The Bregman proximal map of it is a local minimiser only.")
        states = list(itertools.islice(iterate(problem, method=METHOD, start=Y), ITERATIONS + 1))
    except BregoptError as error:
        skip(f"There is no run with it: {error}")
    for before, after in itertools.pairwise(states):
        rise = after.objective - before.objective
        if not rise <= ROUNDING * max(before.scale, after.scale):
            parts = f"U=part, V={'bo.Zero()' if isinstance(V, Zero) else 'part'}"
            run = f"run = bo.iterate(bo.compose('relu-nmd', M, rank={r}, {parts}), method={METHOD!r}, start=Y)"
            show = f"print([next(run).objective for _ in range({after.iteration + 1})])"
            told = f"Φ rose from {number(before.objective)} to {number(after.objective)} at iteration {after.iteration}"
            fail(f"{told} of {METHOD}", snippet(run, show, M=M, Y=Y))
