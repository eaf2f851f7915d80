"""Moves recorded from runs on the small problems at hand, for rules to be asked about."""

import itertools
from typing import Any, ClassVar, final

from attrs import field, frozen

from bregopt.engine.aapb import AAPB
from bregopt.engine.iterate import Iteration
from bregopt.engine.solve import feasible
from bregopt.errors import BregoptError
from bregopt.host.compose import examples, resolve
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext
from bregopt.rules.step import StepRule
from bregopt.testing.signals import skip

ITERATIONS = 12
PROBLEMS = 2


@final
@frozen(eq=False)
class Asked:
    """A question to a rule and its answer."""

    move: ExtrapolationContext
    memory: Any
    beta: float
    memory_after: Any
    where: str
    """the run it comes from"""


@final
@frozen(eq=False)
class Recording(Extrapolation):
    """Answers as ``rule`` does, and keeps every question."""

    rule: Extrapolation
    where: str
    seen: list[Asked] = field(factory=list)
    delta: float = field(init=False)
    epsilon: float = field(init=False)

    @delta.default
    def _same_delta(self) -> float:
        return self.rule.delta

    @epsilon.default
    def _same_epsilon(self) -> float:
        return self.rule.epsilon

    def begin(self) -> Any:
        return self.rule.begin()

    def choose(self, move: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        beta, after = self.rule.choose(move, memory)
        self.seen.append(Asked(move, memory, beta, after, self.where))
        return beta, after


@final
@frozen
class Turns(StepRule):
    """1/L and ``share/L`` by turns: a step that changes."""

    share: float = 1.0
    tests: ClassVar[bool] = False

    def propose(self, carried: float | None, limit: float | None) -> float:
        longest = limit or 1.0
        return self.share * longest if carried is not None and carried > 0.99 * longest else longest


def asked(rule: Extrapolation) -> list[Asked]:
    """Questions from short runs on every problem at hand, with constant and with changing steps."""
    seen: list[Asked] = []
    for label, (problem, Y) in examples("problem")[:PROBLEMS]:
        for share, w in itertools.product((1.0, 0.4), ("Y", "Ybar")):
            recording = Recording(rule, f"{label}, steps 1/L and {share:g}/L by turns, w={w}")
            try:
                ready = resolve(problem)
                run = Iteration(ready, AAPB(recording, Turns(share), w), feasible(ready, Y)[0])
                for _ in itertools.islice(run, ITERATIONS):
                    pass
            except BregoptError:  # the problem or the rule refuses this run
                continue
            seen += recording.seen
    if not seen:
        skip("There is no problem at hand on which it could be asked.")
    return seen
