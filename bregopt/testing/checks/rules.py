"""The rules for β and for the step: β in contexts that are recorded from runs, the step by trials."""

import itertools
import math
from typing import Any, ClassVar, final

import numpy as np
from attrs import evolve, frozen

from bregopt.engine.aapb import AAPB
from bregopt.engine.iterate import Iteration
from bregopt.engine.solve import feasible
from bregopt.errors import BregoptError
from bregopt.host.compose import examples, resolve
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext
from bregopt.rules.step import StepRule, Trial
from bregopt.testing.outcomes import fail, not_applicable, number, snippet
from bregopt.testing.search.random_points import RandomPoints

ITERATIONS = 12
PROBLEMS = 2
AGAIN = "print(bo.testing.check(part, seed=0).table())  # the contexts come from the runs on the problems at hand"


def in_range(rule: Extrapolation, draw: RandomPoints) -> None:
    """``0 ≤ β < 1``, below ``longest``, and a number even where nothing moved."""
    for choice in recorded_choices(rule):
        if not 0 <= choice.beta < 1:
            _fail(f"β = {choice.beta!r} lies outside of [0, 1)", choice)
        if not rule.moves and choice.beta != 0:
            _fail(f"β = {choice.beta!r}, though the rule says that it never moves", choice)
        for longest in (0.3, 1e-3):
            beta, _ = rule.choose(evolve(choice.context, longest=longest), choice.memory)
            if not 0 <= beta < longest:
                _fail(f"β = {beta!r} leaves the domain, which ends at {longest:g}", choice)
        still = evolve(choice.context, D=choice.context.D * 0.0, divergence=0.0)
        beta, _ = rule.choose(still, choice.memory)
        if not (math.isfinite(beta) and 0 <= beta < 1):
            _fail(f"β = {beta!r} where nothing moved", choice)


def stateless(rule: Extrapolation, draw: RandomPoints) -> None:
    """The same context and memory give the same β and memory, whatever was asked in between."""
    for choice in reversed(recorded_choices(rule)):
        context = choice.context
        kept = context.Y.flat.copy(), context.D.flat.copy()
        beta, memory = rule.choose(context, choice.memory)
        if beta != choice.beta or not _same(memory, choice.memory_after):
            _fail(f"β is {choice.beta!r} when first asked, then {beta!r} for the same context and memory", choice)
        if not (np.array_equal(kept[0], context.Y.flat) and np.array_equal(kept[1], context.D.flat)):
            _fail("The rule wrote into the context", choice)
    if not _same(rule.begin(), rule.begin()):
        fail("begin() gives another memory each time", snippet("print(part.begin(), part.begin())"))


def inequality(rule: Extrapolation, draw: RandomPoints) -> None:
    """``D_{ψ_k}(Y^k, Ȳ)/λ_k + gap ≤ ((δ − ε)/λ_{k−1})·D_{ψ_{k−1}}(Y^{k−1}, Y^k)``, for rules that promise it."""
    if not rule.promises_descent:
        not_applicable("It does not promise Assumption 2, as corrected for a kernel and a step that change.")
    for choice in recorded_choices(rule):
        left, right = _sides(rule, choice.context, choice.beta)
        if not left <= right * (1 + 1e-9):
            _fail(f"β = {choice.beta:.6g} breaks Assumption 2: {number(left)} > {number(right)}", choice)


def _sides(rule: Extrapolation, context: ExtrapolationContext, beta: float) -> tuple[float, float]:
    """Both sides of the inequality."""
    if beta == 0:
        return 0.0, 0.0
    forecast, Y_bar = context.forecast(beta), context.Y.plus(beta, context.D)
    smad, D = forecast.smad, forecast.kernel.divergence(context.Y, Y_bar)
    gaps = [] if smad is None or smad.lower is None else [smad.lower * D]
    gaps += [] if smad is None or smad.low is None else [smad.low.divergence(context.Y, Y_bar)]
    allowed = (rule.delta - rule.epsilon) * context.divergence / context.step_prev
    return D / context.step + min(gaps, default=math.inf), allowed


def _same(one: object, other: object) -> bool:
    try:
        return bool(np.all(np.asarray(one == other)))
    except (TypeError, ValueError):
        return repr(one) == repr(other)


@final
@frozen(eq=False)
class RecordedChoice:
    """What a rule was asked in a run, and what it answered."""

    context: ExtrapolationContext
    memory: Any
    beta: float
    memory_after: Any
    run: str
    """the run it comes from"""


def _fail(told: str, choice: RecordedChoice) -> None:
    fail(f"{told} at iteration {choice.context.iteration} of {choice.run}", snippet(AGAIN))


@final
class RecordingRule(Extrapolation):
    """Chooses as ``rule`` does, and keeps every choice."""

    def __init__(self, rule: Extrapolation, run: str) -> None:
        self.rule, self.run = rule, run
        self.delta, self.epsilon = rule.delta, rule.epsilon
        self.choices: list[RecordedChoice] = []

    def begin(self) -> Any:
        return self.rule.begin()

    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        beta, after = self.rule.choose(context, memory)
        self.choices.append(RecordedChoice(context, memory, beta, after, self.run))
        return beta, after


@final
@frozen
class AlternatingStep(StepRule):
    """1/L and ``share/L`` by turns: a step that changes."""

    share: float = 1.0
    tests: ClassVar[bool] = False

    def propose(self, carried: float | None, limit: float | None) -> float:
        longest = limit or 1.0
        return self.share * longest if carried is not None and carried > 0.99 * longest else longest


def recorded_choices(rule: Extrapolation) -> list[RecordedChoice]:
    """Those of short runs on every problem at hand, with constant and with changing steps."""
    choices: list[RecordedChoice] = []
    for label, (problem, Y) in examples("problem")[:PROBLEMS]:
        for share, w in itertools.product((1.0, 0.4), ("Y", "Ybar")):
            recording = RecordingRule(rule, f"{label}, steps 1/L and {share:g}/L by turns, w={w}")
            try:
                ready = resolve(problem)
                run = Iteration(ready, AAPB(recording, AlternatingStep(share), w), feasible(ready, Y)[0])
                for _ in itertools.islice(run, ITERATIONS):
                    pass
            except BregoptError:  # the problem or the rule refuses this run, or the rest of it
                pass
            choices += recording.choices
    if not choices:
        not_applicable("There is no problem at hand on which it could be asked.")
    return choices


# ---- the step: what a rule proposes, what it accepts and refuses, and that it comes to an end

STEPS = (1e-3, 0.5, 1.0, 40.0)
LIMITS = (0.01, 1.0, 20.0, None)
SHORTEST = 1e-30
CALLS = 20_000


def _trial(step: float, share: float) -> str:
    """The code of a trial whose D_F is this share of what the test allows."""
    return f"bo.Trial(step={step!r}, D_F={share!r}, D_psi={step!r}, noise=1e-12)"


def step_positive(rule: StepRule, draw: RandomPoints) -> None:
    """Every step proposed is a finite number > 0; where no 1/L is known a rule may refuse."""
    for carried in (None, *STEPS):
        for limit in LIMITS:
            try:
                step = rule.propose(carried, limit)
            except BregoptError:
                if limit is None:
                    continue
                raise
            if not (isinstance(step, float | int) and 0 < step < math.inf):
                fail(f"propose gives the step {step!r}", snippet(f"print(part.propose({carried!r}, {limit!r}))"))


def step_accepts(rule: StepRule, draw: RandomPoints) -> None:
    """A step whose test holds by a margin is accepted, and the step to carry on with is > 0."""
    for step in STEPS:
        for share in (0.0, 0.3, -1.0):
            accepted, carried = rule.judge(Trial(step, share, step, 1e-12))
            if not accepted or not 0 < carried < math.inf:
                told = f"judge({_trial(step, share)}) = {(accepted, carried)!r}, though D_F is far below D_ψ/λ = 1"
                fail(told, snippet(f"print(part.judge({_trial(step, share)}))"))


def step_refuses(rule: StepRule, draw: RandomPoints) -> None:
    """A step that clearly fails its test is refused, with a shorter one to try."""
    if not rule.tests:
        not_applicable("It tests no steps.")
    for step in STEPS:
        for share in (3.0, 1e6):
            accepted, carried = rule.judge(Trial(step, share, step, 1e-12))
            if accepted or not 0 < carried < step:
                told = f"judge({_trial(step, share)}) = {(accepted, carried)!r}, though D_F is {share:g} times D_ψ/λ"
                fail(told, snippet(f"print(part.judge({_trial(step, share)}))"))


def step_ends(rule: StepRule, draw: RandomPoints) -> None:
    """Where no step ever passes, refusals soon lead below 1e-30 or end."""
    step = rule.propose(None, 1.0)
    for _ in range(CALLS):
        accepted, step = rule.judge(Trial(step, 10.0, step, 1e-12))
        if accepted or step < SHORTEST:
            return
    loop = f"for _ in range({CALLS}): accepted, step = part.judge(bo.Trial(step, 10.0, step, 1e-12))"
    code = snippet("step = part.propose(None, 1.0)", loop, "print(accepted, step)")
    fail(f"After {CALLS} refusals the step is still {step!r}: a run would never end", code)


def step_stateless(rule: StepRule, draw: RandomPoints) -> None:
    """The same question has the same answer, whatever was asked in between."""
    trials = [Trial(step, share, step, 1e-12) for step in STEPS for share in (0.3, 3.0)]
    questions = [(carried, limit) for carried in (None, *STEPS) for limit in LIMITS if limit is not None]
    first = [rule.judge(trial) for trial in trials], [rule.propose(*question) for question in questions]
    again = [rule.judge(trial) for trial in trials], [rule.propose(*question) for question in questions]
    if first != again:
        code = snippet("for _ in range(2): print(part.propose(0.5, 1.0), part.judge(bo.Trial(0.5, 3.0, 0.5, 1e-12)))")
        fail("The rule answers differently when asked again", code)
