"""A step rule: what it proposes, what it accepts and refuses, and that it comes to an end."""

import math

from bregopt.errors import BregoptError
from bregopt.rules.step import StepRule, Trial
from bregopt.testing.outcomes import fail, not_applicable, snippet
from bregopt.testing.search.random_points import RandomPoints

STEPS = (1e-3, 0.5, 1.0, 40.0)
LIMITS = (0.01, 1.0, 20.0, None)
SHORTEST = 1e-30
CALLS = 20_000


def _trial(step: float, share: float) -> str:
    """The code of a trial whose D_F is this share of what the test allows."""
    return f"bo.Trial(step={step!r}, D_F={share!r}, D_psi={step!r}, noise=1e-12)"


def positive(rule: StepRule, draw: RandomPoints) -> None:
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


def accepts(rule: StepRule, draw: RandomPoints) -> None:
    """A step whose test holds by a margin is accepted, and the step to carry on with is > 0."""
    for step in STEPS:
        for share in (0.0, 0.3, -1.0):
            accepted, carried = rule.judge(Trial(step, share, step, 1e-12))
            if not accepted or not 0 < carried < math.inf:
                told = f"judge({_trial(step, share)}) = {(accepted, carried)!r}, though D_F is far below D_ψ/λ = 1"
                fail(told, snippet(f"print(part.judge({_trial(step, share)}))"))


def refuses(rule: StepRule, draw: RandomPoints) -> None:
    """A step that clearly fails its test is refused, with a shorter one to try."""
    if not rule.tests:
        not_applicable("It tests no steps.")
    for step in STEPS:
        for share in (3.0, 1e6):
            accepted, carried = rule.judge(Trial(step, share, step, 1e-12))
            if accepted or not 0 < carried < step:
                told = f"judge({_trial(step, share)}) = {(accepted, carried)!r}, though D_F is {share:g} times D_ψ/λ"
                fail(told, snippet(f"print(part.judge({_trial(step, share)}))"))


def ends(rule: StepRule, draw: RandomPoints) -> None:
    """Where no step ever passes, refusals soon lead below 1e-30 or end."""
    step = rule.propose(None, 1.0)
    for _ in range(CALLS):
        accepted, step = rule.judge(Trial(step, 10.0, step, 1e-12))
        if accepted or step < SHORTEST:
            return
    loop = f"for _ in range({CALLS}): accepted, step = part.judge(bo.Trial(step, 10.0, step, 1e-12))"
    code = snippet("step = part.propose(None, 1.0)", loop, "print(accepted, step)")
    fail(f"After {CALLS} refusals the step is still {step!r}: a run would never end", code)


def stateless(rule: StepRule, draw: RandomPoints) -> None:
    """The same question has the same answer, whatever was asked in between."""
    trials = [Trial(step, share, step, 1e-12) for step in STEPS for share in (0.3, 3.0)]
    questions = [(carried, limit) for carried in (None, *STEPS) for limit in LIMITS if limit is not None]
    first = [rule.judge(trial) for trial in trials], [rule.propose(*question) for question in questions]
    again = [rule.judge(trial) for trial in trials], [rule.propose(*question) for question in questions]
    if first != again:
        code = snippet("for _ in range(2): print(part.propose(0.5, 1.0), part.judge(bo.Trial(0.5, 3.0, 0.5, 1e-12)))")
        fail("The rule answers differently when asked again", code)
