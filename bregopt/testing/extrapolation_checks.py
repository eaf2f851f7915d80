"""The checks of a β rule, by name, on moves recorded from runs."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from attrs import evolve

from bregopt.errors import UnknownNameError
from bregopt.host.compose import make
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.moves import Asked, asked
from bregopt.testing.signals import fail, skip

AGAIN = "print(bo.testing.check(part, seed=0).table())  # the moves come from the runs on the problems at hand"


def _fail(told: str, question: Asked) -> None:
    fail(f"{told} at iteration {question.move.iteration} of {question.where}", snippet(AGAIN))


def in_range(rule: Extrapolation, draw: Draw) -> None:
    """``0 ≤ β < 1``, below ``longest``, and a number even where nothing moved."""
    for question in asked(rule):
        if not 0 <= question.beta < 1:
            _fail(f"β = {question.beta!r} lies outside of [0, 1)", question)
        if not rule.moves and question.beta != 0:
            _fail(f"β = {question.beta!r}, though the rule says that it never moves", question)
        for longest in (0.3, 1e-3):
            beta, _ = rule.choose(evolve(question.move, longest=longest), question.memory)
            if not 0 <= beta < longest:
                _fail(f"β = {beta!r} leaves the domain, which ends at {longest:g}", question)
        still = evolve(question.move, D=question.move.D * 0.0, divergence=0.0)
        beta, _ = rule.choose(still, question.memory)
        if not (math.isfinite(beta) and 0 <= beta < 1):
            _fail(f"β = {beta!r} where nothing moved", question)


def stateless(rule: Extrapolation, draw: Draw) -> None:
    """The same move and memory give the same β and memory, whatever was asked in between."""
    questions = asked(rule)
    for question in reversed(questions):
        kept = question.move.Y.flat.copy(), question.move.D.flat.copy()
        beta, memory = rule.choose(question.move, question.memory)
        if beta != question.beta or not _same(memory, question.memory_after):
            _fail(f"β is {question.beta!r} when first asked, then {beta!r} for the same move and memory", question)
        if not (np.array_equal(kept[0], question.move.Y.flat) and np.array_equal(kept[1], question.move.D.flat)):
            _fail("The rule wrote into the move", question)
    if not _same(rule.begin(), rule.begin()):
        fail("begin() gives another memory each time", snippet("print(part.begin(), part.begin())"))


def inequality(rule: Extrapolation, draw: Draw) -> None:
    """``D_{ψ_k}(Y^k, Ȳ)/λ_k + gap ≤ ((δ − ε)/λ_{k−1})·D_{ψ_{k−1}}(Y^{k−1}, Y^k)``, for rules that promise it."""
    try:
        promising = type(make("extrapolation", "assumption2"))
    except UnknownNameError:
        skip("There is no rule 'assumption2' at hand to compare it with.")
    if not isinstance(rule, promising) or getattr(rule, "test", "corrected") != "corrected":
        skip("It does not promise Assumption 2, as corrected for a kernel and a step that change.")
    for question in asked(rule):
        left, right = _sides(rule, question.move, question.beta)
        if not left <= right * (1 + 1e-9):
            _fail(f"β = {question.beta:.6g} breaks Assumption 2: {number(left)} > {number(right)}", question)


def _sides(rule: Extrapolation, move: ExtrapolationContext, beta: float) -> tuple[float, float]:
    forecast, Y_bar = move.forecast(beta), move.Y.plus(beta, move.D)
    if beta == 0:
        return 0.0, 0.0
    smad, D = forecast.smad, forecast.kernel.divergence(move.Y, Y_bar)
    gaps = [] if smad is None or smad.lower is None else [smad.lower * D]
    gaps += [] if smad is None or smad.low is None else [smad.low.divergence(move.Y, Y_bar)]
    return D / move.step + min(gaps, default=math.inf), (rule.delta - rule.epsilon) * move.divergence / move.step_prev


def _same(one: object, other: object) -> bool:
    try:
        return bool(np.all(np.asarray(one == other)))
    except (TypeError, ValueError):
        return repr(one) == repr(other)


EXTRAPOLATION: Mapping[str, Callable[[Extrapolation, Draw], None]] = {
    "beta/range": in_range,
    "beta/stateless": stateless,
    "beta/inequality": inequality,
}
