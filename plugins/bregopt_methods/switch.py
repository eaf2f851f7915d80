"""One method for some iterations, then another from the point it reached."""

from collections.abc import Mapping
from typing import final

from attrs import evolve, field, frozen

from bregopt import Blocks, Method, Problem, State, Subgradient, make, validate


@final
@frozen
class Switch(Method):
    """``first`` for ``after`` iterations, then ``second`` from the Y it reached; state k holds that of the one at work.

    The descent theorem needs the assumptions of both, and there is none where one of them has none.
    """

    first: Method = field(validator=validate.instance_of(Method, "a Method"))
    second: Method = field(validator=validate.instance_of(Method, "a Method"))
    after: int = field(validator=validate.whole(at_least=1))

    def check(self, problem: Problem) -> None:
        self.first.check(problem)
        self.second.check(problem)

    def start(self, problem: Problem, Y: Blocks) -> State:
        return self._shown(self.first.start(problem, Y), 0)

    def advance(self, problem: Problem, state: State) -> State:
        k, own = state.iteration, state.inner
        if k < self.after:
            return self._shown(self.first.advance(problem, own), k + 1)
        if k == self.after:
            own = self.second.start(problem, state.Y)
        return self._shown(self.second.advance(problem, own), k + 1)

    def _shown(self, own: State, k: int) -> State:
        label = "first" if k <= self.after else "second"
        met = {f"{label}: {name}": held for name, held in own.assumptions.items() if self.assumptions}
        return evolve(own, iteration=k, assumptions=met, inner=own)

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        method = self.first if state.iteration <= self.after else self.second
        return method.subgradient(problem, state.inner)

    @property
    def lyapunov(self) -> str:
        one, other = self.first.lyapunov, self.second.lyapunov
        return one if one == other else f"{one.rstrip(',')}, then {other.rstrip(',')},"

    @property
    def assumptions(self) -> Mapping[str, str]:
        one, other = self.first.assumptions, self.second.assumptions
        if not (one and other):
            return {}
        first = {f"first: {name}": statement for name, statement in one.items()}
        return first | {f"second: {name}": statement for name, statement in other.items()}


def hybrid(first: Method | str = "ecd", second: Method | str = "masked-newton", after: int = 10) -> Switch:
    """One method for ``after`` iterations, then another: cheap steps first, then the curvature of the reduced f."""
    return Switch(make("method", first), make("method", second), after)
