"""A regularizer that may stand in F: its gradient, and the curvature that a kernel must have for it."""

import numpy as np

from bregopt.blocks import Blocks
from bregopt.parts.regularizer import Regularizer, SmoothRegularizer
from bregopt.testing.ascent import Contest, Side, function, highest
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.starts import starts
from bregopt.testing.subject import Subject
from bregopt.testing.taylor import wrong_gradient

ENOUGH = 1.0 + 1e-6


def _smooth(H: Regularizer) -> SmoothRegularizer:
    if not isinstance(H, SmoothRegularizer):
        skip("It has no gradient.")
    return H


def gradient(H: Regularizer, draw: Draw) -> None:
    """``∇H`` is the derivative of the value, in a fresh array like X."""
    smooth, subject = _smooth(H), Subject.of(H)
    for scale in (0.1, 1.0, 10.0):
        X = draw.gauss(subject.shape, scale)
        kept, slope = X.copy(), smooth.gradient(X)
        if not np.array_equal(X, kept) or np.shares_memory(slope, X):
            fail("gradient wrote into its input, or returned a view of it", snippet("print(part.gradient(X))", X=kept))
        wrong = wrong_gradient(lambda Y: smooth.value(Y["X"]), Blocks(X=slope), Blocks(X=X), draw)
        if wrong:
            show = "print(np.vdot(part.gradient(X), D), (part.value(X + h * D) - part.value(X - h * D)) / (2 * h))"
            fail(f"gradient: {wrong.told}", snippet(show, X=X, D=wrong.D["X"], h=wrong.h))


def curvature(H: Regularizer, draw: Draw) -> None:
    """``D_H(Y, Z) ≤ ½ Σ c·(y − z)²``."""
    smooth, X = _smooth(H), draw.gauss(Subject.of(H).shape)
    c = smooth.curvature(X)

    def square(Y: Blocks, Z: Blocks) -> tuple[float, float]:
        return 0.5 * float(np.sum(c * (Y - Z)["X"] ** 2)), 0.0

    above = function(lambda Y: (smooth.value(Y["X"]), Blocks(X=smooth.gradient(Y["X"]))))
    bound = Side(lambda Y: Blocks(X=c * Y["X"]), square)
    peak = highest(Contest(above, lambda Z: bound, lambda Y: True), starts(Blocks(X=X), draw), ENOUGH)
    if peak is not None and peak.ratio > ENOUGH:
        Y, Z = peak.Y["X"], peak.Z["X"]
        D = "D = part.value(Y) - part.value(Z) - np.vdot(part.gradient(Z), Y - Z)"
        show = "print(D, np.sum(part.curvature(Y) * (Y - Z) ** 2) / 2)"
        fail(f"D_H(Y, Z) is {number(peak.ratio)} times what curvature allows", snippet(D, show, Y=Y, Z=Z))
