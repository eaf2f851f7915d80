"""What was true of a run: where the Lyapunov function rose, which assumptions held, how stationary the end is."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import final

from attrs import define, field, frozen

from bregopt.engine.method import Method, Subgradient
from bregopt.engine.state import State
from bregopt.notebook import table
from bregopt.parts.data_model import percent

VISIBLE = 0.005
"""The share of a number that shows in its first three digits."""
STEP = "step"
"""The name of what is assumed of λ."""


class Finding(StrEnum):
    """What a run showed of an assumption."""

    HELD = "held"
    """it was tested at every iteration it is about, and held"""
    FAILED = "failed"
    NOT_CHECKED = "not checked"
    NOT_DUE = "not due"
    """no iteration of the run was one that it is about"""


@final
@frozen
class CheckedAssumption:
    """One assumption of the method's theorem over a run."""

    name: str
    statement: str
    held_at: int
    """how many iterations met it"""
    failed_at: tuple[int, ...]
    """the iterations whose step did not meet it"""
    unchecked_at: tuple[int, ...]
    """the iterations at which it was not tested"""

    @property
    def finding(self) -> Finding:
        if self.failed_at:
            return Finding.FAILED
        if self.unchecked_at:
            return Finding.NOT_CHECKED
        return Finding.HELD if self.held_at else Finding.NOT_DUE

    @property
    def held(self) -> bool:
        return self.finding is Finding.HELD

    def sentence(self) -> str:
        """What is said of an assumption that did not hold throughout."""
        what = f"not met at {_iterations(self.failed_at)}" if self.failed_at else "not checked"
        return f"  {self.name}: {self.statement}; {what}."


@final
@frozen(repr=False)
class Certificate:
    """What was seen of a run. Iteration k is the step from Y^{k−1} to Y^k."""

    iterations: int
    lyapunov: str
    """the function that may not rise"""
    rises: tuple[int, ...]
    """the iterations at which it rose by more than rounding"""
    assumptions: Mapping[str, CheckedAssumption]
    safeguard: str
    """why a method without a theorem refuses a rise; empty where it has a theorem, or accepts rises"""
    largest_norm: float
    """max |Y^k|: convergence of the whole sequence is promised for bounded sequences only"""
    stationarity: float | None
    """the free residual of the last step"""
    subgradient: float | None
    """|A| of an element A of ∂Φ at the result"""
    relative_subgradient: float | None
    """|A| / max(first, |∇F|), where ``first`` is the first residual, or |∇F| at the start where that is larger"""
    first_residual: float | None
    """the free residual of the first step, to compare |A| with"""
    notes: tuple[str, ...] = ()
    finite: bool = True
    """whether Φ, the Lyapunov function and λ stayed finite"""
    subgradient_rounding: float = 0.0
    """what rounding may hide: the distance to stationarity is at most |A| and this"""

    @property
    def assumptions_held(self) -> bool:
        """Whether every assumption of the descent theorem was seen to hold at every iteration, and there was one."""
        findings = {assumption.finding for assumption in self.assumptions.values()}
        return Finding.HELD in findings and findings <= {Finding.HELD, Finding.NOT_DUE}

    @property
    def guaranteed(self) -> bool:
        """Whether the descent theorem applies: its assumptions held, all numbers were finite, and no rise was seen.

        It is not said of a run without an iteration, nor of one that ends farther from stationarity than it began.
        """
        return bool(self.iterations) and self.assumptions_held and self.finite and self.monotone and not self.farther

    @property
    def farther(self) -> bool:
        """Whether the result is farther from stationarity than the first step was."""
        found = self.stationarity if self.subgradient is None else self.subgradient
        return found is not None and self.first_residual is not None and not found <= self.first_residual

    @property
    def monotone(self) -> bool:
        return not self.rises

    def __repr__(self) -> str:
        theorem = "guaranteed" if self.guaranteed else "not guaranteed"
        left = "unknown" if self.subgradient is None else f"{self.subgradient:.2e}"
        return f"Certificate({self.iterations} iterations, {len(self.rises)} rises, {theorem}, |A| {left})"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        held = {name: it.finding.value for name, it in self.assumptions.items()}
        return table({"In short": self.plain(), "In full": self.summary(), **held}, "Certificate")

    def plain(self) -> str:
        """The certificate in words for everybody: whether each iteration was a step forward, and how far it came."""
        if not self.iterations:
            return "Nothing was checked, as no iteration was made."
        if not self.finite:
            return "Numbers left the finite range, so nothing is promised."
        if self.guaranteed:
            return (
                f"Every iteration was a step forward, which a theorem guarantees here: it was checked. {self._left()}"
            )
        steps = "Every iteration was a step forward"
        if self.rises:
            steps = f"Of {self.iterations} iterations {len(self.rises)} were no step forward"
        return f"{steps}; that was observed, and is not guaranteed. {self._left()}"

    def _left(self) -> str:
        """How far the result is from a point that no small step improves."""
        if self.subgradient is None or not self.first_residual:
            return "How far the result is from the best nearby is not known."
        share = self.subgradient / self.first_residual
        if share > 1:
            return "The slope of the objective is steeper than at the first step: this is no solution."
        return f"The slope of the objective fell to {percent(share)} of its first value; at a solution it is 0."

    def summary(self) -> str:
        """The certificate in a few lines."""
        lines = [*(self._descent() if self.iterations else ["No iteration was made, so nothing is certified."])]
        return "\n".join([*lines, *self._stationarity(), *self.notes])

    def _stationarity(self) -> list[str]:
        """How far the result may be from a stationary point."""
        if not self.iterations:
            return []
        if self.subgradient is None:
            return ["The distance to stationarity is not known: no element of ∂H is known at the result."]
        told = f"Distance to stationarity at most |A| = {self.subgradient:.2e}"
        if self.subgradient_rounding > VISIBLE * self.subgradient:
            told += f" + {self.subgradient_rounding:.0e} of rounding"
        if self.first_residual:
            told += f", {self.subgradient / self.first_residual:.1e} of the first step's"
        return [f"{told}."]

    def _descent(self) -> list[str]:
        """Whether the Lyapunov function fell, and what is known beforehand about that."""
        rose = f"rose at {_iterations(self.rises)}" if self.rises else "never rose"
        lines = [f"{self.lyapunov} {rose}."]
        if self.guaranteed:
            return [*lines, "Every assumption of the descent theorem held."]
        if not self.finite:
            return [*lines, "No guarantee applies: Φ or a step left the finite numbers."]
        if self.assumptions_held and self.monotone:
            told = "No guarantee is given: the result is farther from stationarity than the first step was"
            return [*lines, f"{told}, though every assumption of the descent theorem held."]
        if self.assumptions_held:
            why = "so the rise is rounding beyond what is estimated, or a part claims too much"
            return [*lines, f"No guarantee is given: every assumption of the descent theorem was seen to hold, {why}."]
        if self.safeguard:
            return [*lines, f"This descent was observed, and no theorem is behind it: {self.safeguard}."]
        if not self.assumptions:
            return [*lines, "No guarantee applies: the method has no descent theorem."]
        open_ones = [it for it in self.assumptions.values() if it.finding in (Finding.FAILED, Finding.NOT_CHECKED)]
        return [*lines, "No guarantee applies:", *(assumption.sentence() for assumption in open_ones)]


def _iterations(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"iteration{'s' if len(numbers) > 1 else ''} {shown}{more}"


@final
@define(eq=False)
class SeenTests:
    """The tests of one assumption so far."""

    held: int = 0
    failed: list[int] = field(factory=list)
    """the iterations at which it failed"""
    unchecked: list[int] = field(factory=list)
    """those at which there was no test"""

    def see(self, iteration: int, test: bool | None) -> None:
        if test:
            self.held += 1
        else:
            (self.unchecked if test is None else self.failed).append(iteration)


@final
@define(eq=False)
class CertificateBuilder:
    """Watches a run, and writes its certificate: what was seen so far."""

    tests: dict[str, SeenTests]
    """by assumption"""
    last: State | None = None
    rises: list[int] = field(factory=list)
    norm: float = 0.0
    """max |Y^k|"""
    first_residual: float | None = None
    first_scale: float = 0.0
    """the scale of the first objective"""
    finite: bool = True

    @classmethod
    def of(cls, method: Method) -> "CertificateBuilder":
        """Before the run."""
        return cls({it.name: SeenTests() for it in method.assumptions})

    def see(self, state: State) -> None:
        last, self.last = self.last, state
        self.norm = max(self.norm, state.Y.norm())
        numbers = (state.objective, state.lyapunov, 0.0 if state.step is None else state.step)
        self.finite = self.finite and all(map(math.isfinite, numbers))
        if last is None:
            self.first_scale = state.scale
            return
        if self.first_residual is None:
            self.first_residual = state.stationarity
        known_to = state.rounding * state.scale + last.rounding * last.scale
        if not state.lyapunov - last.lyapunov <= known_to + state.tolerance:
            self.rises.append(state.iteration)
        for name, tests in self.tests.items():
            if name not in state.not_due:
                unseen = state.step is None and name.endswith(STEP)
                tests.see(state.iteration, None if unseen else state.assumptions.get(name))

    def certificate(
        self, method: Method, end: State, A: Subgradient | None, relative: float | None, notes: tuple[str, ...]
    ) -> Certificate:
        """Of a run of this method that ended so; A is an element of ∂Φ there, and ``relative`` its relative size."""
        return Certificate(
            iterations=0 if self.last is None else self.last.iteration,
            lyapunov=method.lyapunov,
            rises=tuple(self.rises),
            assumptions={it.name: self._checked(it.name, it.statement) for it in method.assumptions},
            safeguard=method.safeguard,
            largest_norm=self.norm,
            stationarity=end.stationarity,
            subgradient=A.norm if A else None,
            relative_subgradient=relative,
            first_residual=self.first_residual,
            notes=notes,
            finite=self.finite,
            subgradient_rounding=A.rounding if A else 0.0,
        )

    def _checked(self, name: str, statement: str) -> CheckedAssumption:
        seen = self.tests[name]
        return CheckedAssumption(name, statement, seen.held, tuple(seen.failed), tuple(seen.unchecked))
