"""One moment of a run, and what a theorem assumes of the step that led there."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, final

from attrs import evolve, field, frozen

from bregopt.blocks import Blocks
from bregopt.parts.oracle import ROUNDING, Evaluation

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Inner = TypeVar("Inner", default=Any)
else:
    from typing import TypeVar

    Inner = TypeVar("Inner")
"""What a method carries on from state to state: a class of its own, which a checkpoint can hold."""
_NOTHING: Any = None


@final
@frozen
class Counts:
    """What was asked of the problem so far."""

    products: float = 0.0
    """multiplications of 2·m·n·r flops"""
    evaluations: int = 0
    gradients: int = 0
    proxes: int = 0


def _exactly(step: Any) -> float:
    return 0.0


@final
@frozen
class Assumption:
    """What a method's theorem assumes of every step: the statement, the test of a step, and what the test forgives.

    The name "step" is for what is assumed of λ. It counts as not checked where a state reports no λ.
    """

    name: str
    statement: str
    holds: Callable[[Any], bool]
    """of a step, as the method describes it"""
    tolerance: Callable[[Any], float] = _exactly
    """how far the Lyapunov function may rise at a step that passed the test: what rounding was forgiven"""


def assumptions_met(assumptions: Iterable[Assumption], step: Any) -> Mapping[str, bool]:
    """Each assumption by name, and whether the step meets it: what the state that the step led to reports."""
    return {assumption.name: assumption.holds(step) for assumption in assumptions}


@final
@frozen(eq=False, kw_only=True, slots=False)
class State(Generic[Inner]):
    """Y^k with what is known of it; immutable, so that states can be kept and compared."""

    iteration: int
    Y: Blocks
    objective: float
    """Φ(Y^k, W(Y^k))"""
    metrics: Mapping[str, float]
    lyapunov: float
    """the value of the method's Lyapunov function"""
    scale: float
    """the sum of the absolute terms of ``lyapunov``"""
    rounding: float = ROUNDING
    """the part of ``scale`` to which ``lyapunov`` is known"""
    tolerance: float = 0.0
    """what the tests of the assumptions forgave that step: so much more of a rise is rounding"""
    step: float | None = None
    """λ of the step that made Y^k; ``None`` at the start"""
    beta: float | None = None
    """β of that step"""
    divergence: float | None = None
    """D_ψ(Y^{k−1}, Y^k) in the kernel of that step"""
    stationarity: float | None = None
    """the free residual |∇ψ(Ȳ) − ∇ψ(Y^k)|/λ of that step"""
    assumptions: Mapping[str, bool] = field(factory=dict)
    """the assumptions of the method's theorem, and whether that step met them; one left out was not checked"""
    not_due: frozenset[str] = frozenset()
    """the assumptions that are not about that step"""
    exact: bool = True
    """False where ``objective`` is only an upper bound"""
    ended: str = ""
    """why no other state follows, in a sentence, where the method makes no iterations any more: the run ends here"""
    counts: Counts = field(factory=Counts)
    inner: Inner = _NOTHING
    """what the method itself carries on"""

    @classmethod
    def at(
        cls,
        evaluation: Evaluation,
        H: float,
        *,
        inner: Inner = _NOTHING,
        iteration: int = 0,
        lag: float = 0.0,
        **known: Any,
    ) -> "State[Inner]":
        """At the Y of an evaluation, with H(Y); ``lag`` is what the Lyapunov function adds to Φ."""
        return cls(
            iteration=iteration,
            Y=evaluation.Y,
            objective=evaluation.value + H,
            metrics=evaluation.metrics,
            lyapunov=evaluation.value + H + lag,
            scale=evaluation.scale + abs(H) + lag,
            rounding=evaluation.rounding,
            inner=inner,
            **known,
        )

    def counted(self, counts: Counts) -> "State[Inner]":
        """The same state, with what was asked until then."""
        state: State[Inner] = object.__new__(State)
        state.__dict__.update(self.__dict__)  # an iteration has no time for a constructor of so many
        state.__dict__["counts"] = counts
        return state

    def forgiven(self, last: "State", assumptions: Iterable[Assumption], *steps: Any) -> "State":
        """With the tolerance of the tests that the steps since the last state passed, where a rise asks for it."""
        if self.lyapunov <= last.lyapunov:
            return self
        passed = ((it, step) for step in steps for it in assumptions if it.holds(step))
        return evolve(self, tolerance=sum(it.tolerance(step) for it, step in passed))
