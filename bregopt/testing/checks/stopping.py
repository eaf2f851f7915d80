"""A stop rule: what it says of the states of short runs, and of a run without end."""

import math
from typing import final

from attrs import evolve

from bregopt.engine.solve import feasible, run
from bregopt.errors import IncompatibleError, PartError
from bregopt.host import defaults
from bregopt.host.compose import examples, make, resolve
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict
from bregopt.testing.outcomes import fail, not_applicable, snippet
from bregopt.testing.search.random_points import RandomPoints

ITERATIONS = 12
PROBLEMS = 2
FOREVER = 10**9
"""Iterations, seconds and products after which a limit has to be reached."""
AGAIN = "print(bo.testing.check(part).table())  # the states come from short runs on the problems at hand"


def verdicts(rule: StopRule, draw: RandomPoints) -> None:
    """Of every state a Verdict of a Status and a sentence, or ``None``."""
    for found in _asked(rule):
        for verdict in found.first:
            if verdict is not None and not _is_verdict(verdict):
                fail(
                    f"judge returned {verdict!r}, neither a Verdict of a Status and a sentence nor None", snippet(AGAIN)
                )


def stateless(rule: StopRule, draw: RandomPoints) -> None:
    """The same progress has the same verdict when asked again, and is left as it was."""
    for found in _asked(rule):
        if found.first != found.again:
            fail("judge answers differently when asked again: keep nothing in the rule", snippet(AGAIN))
        if found.wrote:
            fail("judge wrote into progress.history", snippet(AGAIN))


def ends(rule: StopRule, draw: RandomPoints) -> None:
    """A rule that says it is certain ends a run of very many iterations, seconds and products."""
    if not rule.certain:
        not_applicable("It is a goal, not a limit: certain is False.")
    for found in _asked(rule):
        late = evolve(found.last, iteration=FOREVER, seconds=float(FOREVER), products=float(FOREVER))
        if rule.judge(late) is None:
            told = f"It says it is certain, and goes on after {FOREVER:.0e} iterations, seconds and products"
            fail(told, snippet("print(part.certain)", AGAIN))


def _is_verdict(found: object) -> bool:
    return isinstance(found, Verdict) and isinstance(found.status, Status) and isinstance(found.reason, str)


@final
class Asked(StopRule):
    """Asks the rule of every state, twice, and stops after some iterations."""

    certain = True

    def __init__(self, rule: StopRule) -> None:
        self.rule = rule
        self.first: list[object] = []
        self.again: list[object] = []
        self.wrote = False

    def judge(self, progress: Progress) -> Verdict | None:
        before = {name: list(column) for name, column in progress.history.items()}
        self.last = progress
        self.first.append(self.rule.judge(progress))
        self.again.append(self.rule.judge(progress))
        self.wrote = self.wrote or not _same(before, progress)
        return Verdict(Status.MAX_ITERATIONS, "Enough.") if progress.iteration >= ITERATIONS else None


def _same(before: dict[str, list[float]], progress: Progress) -> bool:
    after = {name: list(column) for name, column in progress.history.items()}
    return list(before) == list(after) and all(
        len(then) == len(now)
        and all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(then, now, strict=True))
        for then, now in zip(before.values(), after.values(), strict=True)
    )


def _asked(rule: StopRule) -> list[Asked]:
    """What it said in short runs on the problems at hand, as far as it takes them."""
    found, refused = [], "there is none"
    for _, (problem, Y) in examples("problem")[:PROBLEMS]:
        ready, asked = resolve(problem), Asked(rule)
        try:
            run(ready, make("method", defaults.PLAIN_METHOD), feasible(ready, Y)[0], asked)
            found.append(asked)
        except PartError:
            raise
        except IncompatibleError as error:  # it needs another problem
            refused = str(error)
    return found or not_applicable(f"It takes no problem that is at hand: {refused}")
