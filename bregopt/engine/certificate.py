"""What was true of a run: where the Lyapunov function rose, which assumptions held, how stationary the end is."""

from collections.abc import Mapping
from typing import final

from attrs import frozen

from bregopt.engine.method import Method, Subgradient
from bregopt.engine.state import State


@final
@frozen
class Assumption:
    """One assumption of the method's theorem over a run."""

    name: str
    statement: str
    failed_at: tuple[int, ...]
    """the iterations whose step did not meet it"""

    @property
    def held(self) -> bool:
        return not self.failed_at


@final
@frozen
class Certificate:
    """What was seen of a run. Iteration k is the step from Y^{k−1} to Y^k."""

    lyapunov: str
    """the function that may not rise"""
    rises: tuple[int, ...]
    """the iterations at which it rose by more than rounding"""
    assumptions: Mapping[str, Assumption]
    largest_norm: float
    """max |Y^k|: convergence of the whole sequence is promised for bounded sequences only"""
    stationarity: float | None
    """the free residual of the last step"""
    subgradient: float | None
    """|A| of an element A of ∂Φ at the result"""
    relative_subgradient: float | None
    """|A| / max(1, |∇F|)"""
    first_residual: float | None
    """the free residual of the first step, to compare |A| with"""
    notes: tuple[str, ...] = ()

    @property
    def guaranteed(self) -> bool:
        """Whether every assumption of the descent theorem was seen to hold at every iteration."""
        return bool(self.assumptions) and all(assumption.held for assumption in self.assumptions.values())

    @property
    def monotone(self) -> bool:
        return not self.rises

    def summary(self) -> str:
        """The certificate in a few lines."""
        lines = [
            f"{self.lyapunov} rose at {_iterations(self.rises)}." if self.rises else f"{self.lyapunov} never rose."
        ]
        broken = [assumption for assumption in self.assumptions.values() if not assumption.held]
        if self.guaranteed:
            lines.append("Every assumption of the descent theorem held.")
        elif not self.assumptions:
            lines.append("No guarantee applies: the method has no descent theorem.")
        else:
            lines.append("No guarantee applies:")
            lines += [f"  {a.name}: {a.statement}; not met at {_iterations(a.failed_at)}." for a in broken]
        if self.subgradient is not None and self.first_residual:
            share = self.subgradient / self.first_residual
            lines.append(
                f"Distance to stationarity at most |A| = {self.subgradient:.2e}, {share:.1e} of the first step's."
            )
        return "\n".join([*lines, *self.notes])


def _iterations(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"iteration{'s' if len(numbers) > 1 else ''} {shown}{more}"


@final
class CertificateBuilder:
    """Watches a run and writes its certificate."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._last: State | None = None
        self._rises: list[int] = []
        self._failed: dict[str, list[int]] = {name: [] for name in method.assumptions}
        self._norm = 0.0
        self._first_residual: float | None = None

    def see(self, state: State) -> None:
        last, self._last = self._last, state
        self._norm = max(self._norm, state.Y.norm())
        if last is None:
            return
        if self._first_residual is None:
            self._first_residual = state.stationarity
        if not state.lyapunov - last.lyapunov <= state.rounding * max(state.scale, last.scale):
            self._rises.append(state.iteration)
        for name, met in state.assumptions.items():
            if not met:
                self._failed[name].append(state.iteration)

    def certificate(self, end: State, A: Subgradient | None, notes: tuple[str, ...]) -> Certificate:
        return Certificate(
            lyapunov=self._method.lyapunov,
            rises=tuple(self._rises),
            assumptions={
                name: Assumption(name, statement, tuple(self._failed[name]))
                for name, statement in self._method.assumptions.items()
            },
            largest_norm=self._norm,
            stationarity=end.stationarity,
            subgradient=A.norm if A else None,
            relative_subgradient=A.relative if A else None,
            first_residual=self._first_residual,
            notes=notes,
        )
