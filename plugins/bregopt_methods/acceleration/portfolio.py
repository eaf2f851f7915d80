"""Several methods, each tried as the run goes on; the one that lowers Φ most for its products is at work."""

from typing import Any, final

from attrs import evolve, field, fields, frozen

from bregopt import Assumption, Blocks, Method, ResolvedProblem, State, Subgradient, make, validate
from bregopt.errors import OverflowedError

SPAN = 2
"""Iterations over which the method at work is measured; a trial takes as many products as they did."""
LATER = 4.0
"""The next trial is due when the products are so many times as many."""
WASTED = 0.1
"""Share of all products that trials which came to nothing may take, but for the first one."""


@final
@frozen(eq=False)
class Standing:
    """Who is at work, and what was tried so far."""

    number: int
    """of the method at work"""
    own: State
    """its state"""
    recent: tuple[tuple[float, float], ...]
    """Φ and the products of its last states"""
    wasted: float
    """products of trials that came to nothing"""
    due: float
    """products from which on the next trial is due"""
    following: int
    """the number of the method to be tried then"""
    told: tuple[str, ...] = ()
    """what came of each trial"""

    @property
    def pace(self) -> float:
        """The decrease of Φ for a product, over the last states."""
        (before, begin), (now, end) = self.recent[0], self.recent[-1]
        return (before - now) / (end - begin) if end > begin else 0.0


@final
@frozen
class Portfolio(Method[Standing]):
    """The first method, and trials of the others from the point it has reached, with its momentum.

    After ``after`` iterations the next method is tried, for as many products as the last two iterations took. It takes
    over where it lowers Φ fast enough for its products: a later one with at least the share ``enough`` of the pace of
    the method at work, as such methods gain speed after their first steps, an earlier one with more than that pace.
    Else its steps are dropped. The next trial is due when there were four times as many products, and later where more
    than a tenth of them came to nothing.
    Trials are judged by products and never by the clock, so that a seed gives one answer.
    """

    names: tuple[str, ...]
    parts: tuple[Method, ...]
    after: int = field(default=10, validator=validate.whole(at_least=SPAN))
    enough: float = field(default=0.2, validator=validate.number(at_least=0, at_most=1))

    @property
    def members(self) -> tuple[Method, ...]:
        return self.parts

    @property
    def uses_kernel(self) -> bool:
        return any(member.uses_kernel and member.kernel is None for member in self.parts)

    def check(self, problem: ResolvedProblem) -> None:
        for member in self.parts:
            member.check(problem.using(member.kernel))

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Standing]:
        member = self.parts[0]
        own = member.start(problem.using(member.kernel), Y)
        return self._shown(Standing(0, own, (_seen(problem, own),), 0.0, 0.0, 1 % len(self.parts)), 0)

    def advance(self, problem: ResolvedProblem, state: State[Standing]) -> State[Standing]:
        standing, k = state.inner, state.iteration + 1
        member = self.parts[standing.number]
        own = member.advance(problem.using(member.kernel), standing.own)
        recent = (*standing.recent, _seen(problem, own))[-SPAN - 1 :]
        standing = evolve(standing, own=own, recent=recent)
        settled = k >= self.after and len(recent) > SPAN and not own.ended
        if settled and len(self.parts) > 1 and problem.oracle.spent >= standing.due:
            standing = self._tried(problem, standing)
        return self._shown(standing, k)

    def _tried(self, problem: ResolvedProblem, standing: Standing) -> Standing:
        """The next method from where this one stands: at work from now on, or dropped."""
        number, begin = standing.following, problem.oracle.spent
        enough = standing.recent[-1][1] - standing.recent[0][1]
        made = self._attempt(problem, standing, begin + enough)
        spent = problem.oracle.spent
        cost = spent - begin
        pace = (standing.own.objective - made.objective) / cost if made is not None and cost > 0 else 0.0
        wanted = (self.enough if number > standing.number else 1.0) * max(standing.pace, 0.0)
        here, tried = self.names[standing.number], f"After {begin:.0f} products {self.names[number]} was tried"
        at_work = f"{pace / standing.pace:.2g} times as fast as {here}" if standing.pace > 0 else f"and {here} did not"
        if made is not None and pace > wanted:
            says = f"{tried}: it lowered Φ {at_work}, so it took over."
            seen = ((made.objective, spent),)
            return Standing(number, made, seen, standing.wasted, LATER * spent, standing.number, (*standing.told, says))
        following = next(
            it % len(self.parts) for it in (number + 1, number + 2) if it % len(self.parts) != standing.number
        )
        says = f"{tried} and dropped: it lowered Φ {at_work}." if pace > 0 else f"{tried} and dropped: Φ did not fall."
        wasted = standing.wasted + cost
        due = max(LATER * spent, wasted / WASTED)
        return evolve(standing, wasted=wasted, due=due, following=following, told=(*standing.told, says))

    def _attempt(self, problem: ResolvedProblem, standing: Standing, until: float) -> State | None:
        """States of the next method up to so many products; ``None`` where it leaves the finite numbers."""
        member = self.parts[standing.following]
        mine = problem.using(member.kernel)
        momentum = self.parts[standing.number].momentum(standing.own)
        Y = standing.own.Y
        try:
            own = member.start(mine, Y) if momentum is None else member.take_over(mine, Y, momentum)
            while True:
                before = problem.oracle.spent
                own = member.advance(mine, own)
                spent = problem.oracle.spent
                if spent >= until or spent == before or own.ended:  # a step that costs nothing stays where it is
                    return own
        except OverflowedError:
            return None

    def _shown(self, standing: Standing, k: int) -> State[Standing]:
        own, here = standing.own, self._label(standing.number)
        met = {here + name: held for name, held in own.assumptions.items() if self.assumptions}
        not_due = frozenset(it.name for it in self.assumptions if not it.name.startswith(here))
        return evolve(own, iteration=k, assumptions=met, not_due=not_due, inner=standing)

    def _label(self, number: int) -> str:
        return f"{self.names[number]}: "

    def subgradient(self, problem: ResolvedProblem, state: State[Standing]) -> Subgradient | None:
        member = self.parts[state.inner.number]
        return member.subgradient(problem.using(member.kernel), state.inner.own)

    def remarks(self, state: State[Standing]) -> tuple[str, ...]:
        return state.inner.told

    @property
    def lyapunov(self) -> str:
        """That of the method at work: none of them raises Φ where it takes over."""
        distinct = dict.fromkeys(member.lyapunov.rstrip(",") for member in self.parts)
        return " or ".join(distinct) + ("," if len(distinct) > 1 else "")

    @property
    def safeguard(self) -> str:
        reasons = (it.safeguard or "a theorem says so" if it.assumptions or it.safeguard else "" for it in self.parts)
        found = list(dict.fromkeys(reasons))
        return "" if "" in found else "; ".join(found)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        if not all(member.assumptions for member in self.parts):
            return ()
        return tuple(
            evolve(it, name=self._label(number) + it.name)
            for number, member in enumerate(self.parts)
            for it in member.assumptions
        )


def _seen(problem: ResolvedProblem, own: State) -> tuple[float, float]:
    return own.objective, problem.oracle.spent


def portfolio(*methods: Any, after: int = 10, enough: float = 0.2) -> Portfolio:
    """The first of some methods; another takes over where it lowers Φ fast enough for its products."""
    named = methods or ("ecd", "masked-newton")
    parts = tuple(make("method", it) for it in named)
    for part in parts:
        validate.instance_of(Method, "a Method")(None, fields(Portfolio).parts, part)
    return Portfolio(tuple(map(_name, named)), parts, after, enough)


def _name(method: Any) -> str:
    """How a method is called that was given by its spec, read or not, or as an object."""
    return method if isinstance(method, str) else getattr(method, "name", type(method).__name__.lower())
