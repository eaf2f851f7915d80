"""The prox is a global minimiser: no rival has a smaller ``H(Z) + ‖Z − X‖²/(2·step)``."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.code import digits, number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.rivals import MOVES, rivals
from bregopt.testing.signals import CheckFailedError, fail
from bregopt.testing.subject import TINY_STEP, Subject, fits, square

SLACK = {np.dtype(np.float64): (1e-9, 1e-15), np.dtype(np.float32): (1e-4, 1e-6)}
"""What rounding may cost: relative to the terms, and to ‖X‖²/step."""
EDGE, SINGLE_EDGE = 1e4, 1e2
"""A rival that wins by less than so many times the slack may owe it to the tolerance of an indicator."""
SINGLE_MOVES = (1e-2, 0.3)
COST = "cost = lambda Z: part.value(Z) + float(np.sum((Z - X) ** 2)) / (2 * step)"


def variational(H: Regularizer, draw: Draw) -> None:
    """Over scales, steps and shapes, in double and in single precision."""
    subject = Subject.of(H)
    for X, step in _cases(subject, draw):
        beats_rivals(subject, X, step, draw)
    for step in subject.steps:
        beats_rivals(subject, draw.gauss(subject.shape).astype(np.float32), step, draw)


def _cases(subject: Subject, draw: Draw) -> Iterator[tuple[Array, float]]:
    """Single entries and small blocks first, since they make the shortest counterexamples."""
    if fits(subject.H, (1, 1)):
        for size in np.logspace(-3, 3, 7):
            for step in subject.steps:
                x = draw.gauss((1, 1), float(size))
                yield x, step
                yield -x, step
    small = Subject(subject.H, (3, 2)) if fits(subject.H, (3, 2)) else subject
    yield from small.cases(draw)
    yield from subject.cases(draw, (1.0,))
    X = draw.gauss(small.shape)
    for special in (np.zeros_like(X), np.ones_like(X), -np.ones_like(X), np.abs(X), -np.abs(X), X * (X > 0.5)):
        yield special, subject.steps[len(subject.steps) // 2]


def beats_rivals(subject: Subject, X: Array, step: float, draw: Draw) -> None:
    """One case; fails with the rival that is better."""
    Z = subject.prox(X, step)
    H, distance = subject.value(Z), square(Z.astype(np.float64) - X)
    best = H + distance / (2 * step)
    given: dict[str, Any] = {"X": X, "step": step}
    if not math.isfinite(best):
        code = snippet("Z = part.prox(X, step)", "print(part.value(Z))", **given)
        fail(f"step {step:g}: H is {H} at the prox", code)
    relative, rounding = SLACK.get(X.dtype, SLACK[np.dtype(np.float64)])
    room = relative * (abs(H) + distance / (2 * step)) + rounding * square(X) / step
    tiny = min(TINY_STEP, 0.5 * subject.H.step_limit)
    edge = EDGE if X.dtype == np.float64 else SINGLE_EDGE
    moves = SINGLE_MOVES if X.dtype == np.float32 else MOVES if X.size == 1 else MOVES[::2]

    def cost_of(rival: Array) -> float:
        return subject.value(rival) + square(rival.astype(np.float64) - X) / (2 * step)

    for rival, made in rivals(X, Z, draw.rng, moves):
        cost, how = cost_of(rival), ""
        if cost == math.inf or best - edge * room < cost < best - room:
            cost, how = cost_of(subject.prox(rival, tiny)), f"rival = part.prox(rival, {tiny!r})"
        if cost < best - room:
            lines = ["Z = part.prox(X, step)", made(), *([how] if how else []), COST]
            show = f"print(cost(Z), cost(rival))  # {number(best)}, but the rival has {number(cost)}"
            told = f"step {step:g}: H(Z) + ‖Z − X‖²/2t = {number(best)} at the prox, but {number(cost)} at a rival"
            fail(f"{told} ({cost / best - 1:+.1%})" if best > 0 else told, snippet(*lines, show, **given))


def step_limit(H: Regularizer, draw: Draw) -> None:
    """Just below the limit, or for very long steps where there is none, the prox is still a global minimiser."""
    limit = H.step_limit
    if not limit > 0:
        fail(f"step_limit must be > 0. Got {limit!r} instead.", snippet("print(part.step_limit)"))
    subject = Subject.of(H)
    points = [draw.gauss(subject.shape, scale) for scale in (1e-2, 1.0, 1e2)]
    if fits(H, (1, 1)):
        points = [digits(size * draw.rng.choice([-1.0, 1.0], (1, 1))) for size in np.logspace(-2, 2, 24)] + points
    for step in (0.5 * limit, 0.99 * limit) if math.isfinite(limit) else (1e2, 1e4):
        for X in points:
            try:
                beats_rivals(subject, X, step, draw)
            except CheckFailedError as failure:
                fail(f"step_limit is {limit:g}, but {failure.message}", failure.code)
