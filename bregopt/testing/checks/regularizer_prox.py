"""The value and the proximal map of a regularizer: a minimiser that no rival beats, a pure function, on any array."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.engine.first_results import check_claims, check_regularizer
from bregopt.errors import PartError
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.outcomes import CheckFailedError, fail, number, snippet
from bregopt.testing.search.random_points import RandomPoints, rounded
from bregopt.testing.search.regularizer_case import TINY_STEP, RegularizerCase, fits, square
from bregopt.testing.search.rivals import MOVES, rivals

SLACK = {np.dtype(np.float64): (1e-9, 1e-15), np.dtype(np.float32): (1e-4, 1e-6)}
"""What rounding may cost: relative to the terms, and to ‖X‖²/step."""
EDGE, SINGLE_EDGE = 1e4, 1e2
"""A rival that wins by less than so many times the slack may owe it to the tolerance of an indicator."""
SINGLE_MOVES = (1e-2, 0.3)
COST = "cost = lambda Z: part.value(Z) + float(np.sum((Z - X) ** 2)) / (2 * step)"


def usable(H: Regularizer, draw: RandomPoints) -> None:
    """What H says of itself, and its first results, are such that a run begins with them."""
    try:
        check_claims(H)
        X = draw.gauss(RegularizerCase.of(H).shape)
        check_regularizer(H, X)
    except PartError as error:
        fail(str(error), snippet("print(part.value(X), part.prox(X, 0.5))", X=draw.gauss((3, 2))))


def variational(H: Regularizer, draw: RandomPoints) -> None:
    """Over scales, steps and shapes, in double and in single precision."""
    case = RegularizerCase.of(H)
    for X, step in _cases(case, draw):
        beats_rivals(case, X, step, draw)
    for step in case.steps:
        beats_rivals(case, draw.gauss(case.shape).astype(np.float32), step, draw)


def _cases(case: RegularizerCase, draw: RandomPoints) -> Iterator[tuple[Array, float]]:
    """Single entries and small blocks first, since they make the shortest counterexamples."""
    if fits(case.H, (1, 1)):
        for size in np.logspace(-3, 3, 7):
            for step in case.steps:
                x = draw.gauss((1, 1), float(size))
                yield x, step
                yield -x, step
    small = RegularizerCase(case.H, (3, 2)) if fits(case.H, (3, 2)) else case
    yield from small.points_and_steps(draw)
    yield from case.points_and_steps(draw, (1.0,))
    X = draw.gauss(small.shape)
    for special in (np.zeros_like(X), np.ones_like(X), -np.ones_like(X), np.abs(X), -np.abs(X), X * (X > 0.5)):
        yield special, case.steps[len(case.steps) // 2]


def beats_rivals(case: RegularizerCase, X: Array, step: float, draw: RandomPoints) -> None:
    """One case; fails with the rival that is better."""
    Z = case.prox(X, step)
    H, distance = case.value(Z), square(Z.astype(np.float64) - X)
    best = H + distance / (2 * step)
    given: dict[str, Any] = {"X": X, "step": step}
    if not math.isfinite(best):
        code = snippet("Z = part.prox(X, step)", "print(part.value(Z))", **given)
        fail(f"step {step:g}: H is {H} at the prox", code)
    relative, rounding = SLACK.get(X.dtype, SLACK[np.dtype(np.float64)])
    slack = relative * (abs(H) + distance / (2 * step)) + rounding * square(X) / step
    tiny = min(TINY_STEP, 0.5 * case.H.step_limit)
    edge = EDGE if X.dtype == np.float64 else SINGLE_EDGE
    moves = SINGLE_MOVES if X.dtype == np.float32 else MOVES if X.size == 1 else MOVES[::2]

    def cost_of(rival: Array) -> float:
        return case.value(rival) + square(rival.astype(np.float64) - X) / (2 * step)

    for rival, made in rivals(X, Z, draw.rng, moves):
        cost, how = cost_of(rival), ""
        if cost == math.inf or best - edge * slack < cost < best - slack:
            cost, how = cost_of(case.prox(rival, tiny)), f"rival = part.prox(rival, {tiny!r})"
        if cost < best - slack:
            lines = ["Z = part.prox(X, step)", made(), *([how] if how else []), COST]
            show = f"print(cost(Z), cost(rival))  # {number(best)}, but the rival has {number(cost)}"
            told = f"step {step:g}: H(Z) + ‖Z − X‖²/2t = {number(best)} at the prox, but {number(cost)} at a rival"
            fail(f"{told} ({cost / best - 1:+.1%})" if best > 0 else told, snippet(*lines, show, **given))


def step_limit(H: Regularizer, draw: RandomPoints) -> None:
    """Just below the limit, or for very long steps where there is none, the prox is still a global minimiser."""
    limit = H.step_limit
    if not limit > 0:
        fail(f"step_limit must be > 0. Got {limit!r} instead.", snippet("print(part.step_limit)"))
    case = RegularizerCase.of(H)
    points = [draw.gauss(case.shape, scale) for scale in (1e-2, 1.0, 1e2)]
    if fits(H, (1, 1)):
        points = [rounded(size * draw.rng.choice([-1.0, 1.0], (1, 1))) for size in np.logspace(-2, 2, 24)] + points
    for step in (0.5 * limit, 0.99 * limit) if math.isfinite(limit) else (1e2, 1e4):
        for X in points:
            try:
                beats_rivals(case, X, step, draw)
            except CheckFailedError as failure:
                fail(f"step_limit is {limit:g}, but {failure.message}", failure.code)


def fresh(H: Regularizer, draw: RandomPoints) -> None:
    """Neither value nor prox writes into its input, and the answer is no view of the input or of another answer."""
    case = RegularizerCase.of(H)
    for X, step in case.points_and_steps(draw, (1e-3, 1.0, 1e3)):
        for given in (X, case.prox(X, step)):
            _untouched(H, given, step)
            first, second = H.prox(given, step), H.prox(-2.0 * given, step)
            if np.shares_memory(first, second):
                code = snippet("print(np.shares_memory(part.prox(X, step), part.prox(-2 * X, step)))", X=X, step=step)
                fail(f"step {step:g}: two answers of prox share their memory", code)


def _untouched(H: Regularizer, X: Array, step: float) -> None:
    given = X.copy()
    H.value(given)
    if not np.array_equal(given, X):
        fail("value wrote into its input", snippet("kept = X.copy()", "part.value(X)", "print(X - kept)", X=X))
    Z = H.prox(given, step)
    if not np.array_equal(given, X):
        code = snippet("kept = X.copy()", "part.prox(X, step)", "print(X - kept)", X=X, step=step)
        fail(f"step {step:g}: prox wrote into its input", code)
    if np.shares_memory(Z, given):
        code = snippet("print(np.shares_memory(part.prox(X, step), X))", X=X, step=step)
        fail(f"step {step:g}: prox returned its input, or a view of it", code)
    given.flags.writeable = False
    try:
        H.value(given)
        H.prox(given, step)
    except ValueError as error:
        code = snippet("X.flags.writeable = False", "part.prox(X, step)", X=X, step=step)
        fail(f"step {step:g}: an input that cannot be written to is refused: {error}", code)


def deterministic(H: Regularizer, draw: RandomPoints) -> None:
    """The same question has the same answer, whatever was asked in between."""
    case = RegularizerCase.of(H)
    cases = list(case.points_and_steps(draw, (1e-2, 1.0, 1e2)))
    first = [case.prox(X, step) for X, step in cases]
    values = [case.value(Z) for Z in first]
    for (X, step), Z, value in reversed(list(zip(cases, first, values, strict=True))):
        again = case.prox(X, step)
        case.prox(2.0 * X[::-1], 0.5 * step)
        once_more = case.prox(X, step)
        if not (np.array_equal(Z, again) and np.array_equal(Z, once_more)) or case.value(Z) != value:
            lines = ["first = part.prox(X, step)", "part.prox(2.0 * X[::-1], 0.5 * step)"]
            show = "print(first - part.prox(X, step))"
            fail(f"step {step:g}: prox answers differently when asked again", snippet(*lines, show, X=X, step=step))


def shape_and_dtype(H: Regularizer, draw: RandomPoints) -> None:
    """Shape and dtype are kept, and where the entries lie in memory makes no difference."""
    case = RegularizerCase.of(H)
    m, n = case.shape[0], case.shape[-1]
    shapes = [case.shape, *(shape for shape in ((1, 1), (1, n), (m, 1)) if fits(H, shape))]
    for shape in shapes:
        for step in case.steps:
            X = draw.gauss(shape)
            for dtype in (np.float64, np.float32):
                _kept(H, X.astype(dtype), step)
            _any_order(case, X, step)


def _kept(H: Regularizer, X: Array, step: float) -> None:
    Z = H.prox(X, step)
    found = (type(Z), np.shape(Z), getattr(Z, "dtype", None))
    if found != (np.ndarray, X.shape, X.dtype):
        code = snippet("Z = part.prox(X, step)", "print(type(Z), Z.shape, Z.dtype)", X=X, step=step)
        fail(f"step {step:g}: prox made {_described(found)} of {_described((np.ndarray, X.shape, X.dtype))}", code)


def _any_order(case: RegularizerCase, X: Array, step: float) -> None:
    wide = np.full((*X.shape[:-1], 2 * X.shape[-1]), 7.0)
    wide[..., ::2] = X
    Z = case.prox(X, step)
    for same, how in (
        (np.asfortranarray(X), "np.asfortranarray(X)"),
        (wide[..., ::2], "np.repeat(X, 2, axis=-1)[..., ::2]"),
    ):
        other = case.H.prox(same, step)
        value, wanted = case.value(other), case.value(Z)
        if np.abs(other - Z).max() > 1e-9 * np.abs(X).max() or abs(value - wanted) > 1e-9 * abs(wanted):
            code = snippet(f"print(part.prox({how}, step) - part.prox(X, step))", X=X, step=step)
            fail(f"step {step:g}: {how} has another prox than X, which has the same entries", code)


def _described(found: tuple[type, tuple[int, ...], object]) -> str:
    kind, shape, dtype = found
    return f"{kind.__name__} of {dtype} and shape {shape}"


def finite_at_prox(H: Regularizer, draw: RandomPoints) -> None:
    """What the prox returns is feasible, in both precisions."""
    case = RegularizerCase.of(H)
    for X, step in case.points_and_steps(draw):
        for given in (X, np.abs(X), X.astype(np.float32)):
            value = case.value(case.prox(given, step))
            if not math.isfinite(value):
                code = snippet("Z = part.prox(X, step)", f"print(Z, part.value(Z))  # {value}", X=given, step=step)
                fail(f"step {step:g}: H is {value} at the prox", code)


def _any_points(case: RegularizerCase, draw: RandomPoints) -> Iterator[Array]:
    yield np.zeros(case.shape)
    for X, step in case.points_and_steps(draw):
        yield from (X, -X, 1e6 * X, case.prox(X, step), X.astype(np.float32))


def python_float(H: Regularizer, draw: RandomPoints) -> None:
    """A numpy scalar warns where it overflows and has another precision; ``float(…)`` makes it a number."""
    for X in _any_points(RegularizerCase.of(H), draw):
        value = H.value(X)
        if type(value) is not float:
            code = snippet("print(type(part.value(X)))", X=X)
            fail(f"value returned a {type(value).__name__}, not a Python float: wrap it in float(...)", code)


def not_negative_infinite(H: Regularizer, draw: RandomPoints) -> None:
    """H is proper: never −∞, never nan."""
    case = RegularizerCase.of(H)
    for X in _any_points(case, draw):
        value = case.value(X)
        if math.isnan(value) or value == -math.inf:
            fail(f"H is {value}", snippet("print(part.value(X))", X=X))
