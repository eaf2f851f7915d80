"""One method for some iterations, then another from the point it reached."""

from typing import final

from attrs import evolve, field, frozen

from bregopt import Assumption, Blocks, Method, ResolvedProblem, State, Subgradient, make, validate

FIRST, SECOND = "first: ", "second: "


@final
@frozen
class Hybrid(Method[State]):
    """``first`` for ``after`` iterations, then ``second`` from the Y it reached; state k holds that of the one at work.

    The descent theorem needs the assumptions of both, and there is none where one of them has none.
    """

    first: Method = field(validator=validate.instance_of(Method, "a Method"))
    second: Method = field(validator=validate.instance_of(Method, "a Method"))
    after: int = field(validator=validate.whole(at_least=1))

    @property
    def members(self) -> tuple[Method, ...]:
        return self.first, self.second

    @property
    def uses_kernel(self) -> bool:
        return any(member.uses_kernel and member.kernel is None for member in self.members)

    def check(self, problem: ResolvedProblem) -> None:
        for member in self.members:
            member.check(problem.using(member.kernel))

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[State]:
        return self._shown(self.first.start(problem.using(self.first.kernel), Y), 0)

    def advance(self, problem: ResolvedProblem, state: State[State]) -> State[State]:
        k, own = state.iteration, state.inner
        if k < self.after:
            return self._shown(self.first.advance(problem.using(self.first.kernel), own), k + 1)
        problem = problem.using(self.second.kernel)
        if k == self.after:
            own = self.second.start(problem, state.Y)
        return self._shown(self.second.advance(problem, own), k + 1)

    def _shown(self, own: State, k: int) -> State[State]:
        here, there = (FIRST, SECOND) if k <= self.after else (SECOND, FIRST)
        met = {here + name: held for name, held in own.assumptions.items() if self.assumptions}
        not_due = frozenset(it.name for it in self.assumptions if it.name.startswith(there))
        return evolve(own, iteration=k, assumptions=met, not_due=not_due, inner=own)

    def subgradient(self, problem: ResolvedProblem, state: State[State]) -> Subgradient | None:
        member = self.first if state.iteration <= self.after else self.second
        return member.subgradient(problem.using(member.kernel), state.inner)

    @property
    def lyapunov(self) -> str:
        one, other = self.first.lyapunov, self.second.lyapunov
        return one if one == other else f"{one.rstrip(',')}, then {other.rstrip(',')},"

    @property
    def safeguard(self) -> str:
        one, other = self.first.safeguard, self.second.safeguard
        return one if one == other else f"{one}; later {other}" if one and other else ""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        one, other = self.first.assumptions, self.second.assumptions
        if not (one and other):
            return ()
        return *(evolve(it, name=FIRST + it.name) for it in one), *(evolve(it, name=SECOND + it.name) for it in other)


def hybrid(first: Method | str = "ecd", second: Method | str = "masked-newton", after: int = 10) -> Hybrid:
    """One method for ``after`` iterations, then another: cheap steps first, then the curvature of the reduced f."""
    return Hybrid(make("method", first), make("method", second), after)
