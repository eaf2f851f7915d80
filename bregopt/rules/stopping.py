"""When a run ends, and why."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import IncompatibleError, brief
from bregopt.part_errors import part_errors, wrong_result


class Status(Enum):
    """How a run ended; the value is machine-readable."""

    STATIONARY = "stationary"
    RELATIVE_ERROR = "relative-error"
    TARGET = "target"
    PLATEAU = "plateau"
    MAX_ITERATIONS = "max-iterations"
    MAX_SECONDS = "max-seconds"
    MAX_PRODUCTS = "max-products"
    INTERRUPTED = "interrupted"
    NOT_FINITE = "not-finite"
    DIVERGED = "diverged"
    STOPPED = "stopped"

    @property
    def converged(self) -> bool:
        """Whether the goal of the run was reached, rather than a limit."""
        return self in {Status.STATIONARY, Status.RELATIVE_ERROR, Status.TARGET, Status.PLATEAU}


@final
@frozen
class Verdict:
    """The end of a run: a status and a sentence."""

    status: Status
    reason: str


@final
@frozen(eq=False)
class Progress:
    """What a stop rule sees after each iteration, and of the start."""

    iteration: int
    Y: Blocks
    """Y^k"""
    seconds: float
    """since the run began, without compilation"""
    products: float
    """multiplications of 2·m·n·r flops so far"""
    objective: float
    """Φ(Y^k, W(Y^k))"""
    metrics: Mapping[str, float]
    """further figures of the problem at Y^k, such as ``relative_error``"""
    stationarity: float | None
    """the free residual; ``None`` before the first step or where a method has none"""
    history: Mapping[str, Sequence[float]]
    """the columns of ``result.history`` so far, the last entry that of Y^k"""
    subgradient: Callable[[], float | None]
    """|A|/max(first, |∇F|) for some A ∈ ∂Φ, computed on demand; its products are counted"""
    first: float | None = None
    """what stationarity is relative to: the free residual of the first step, or |∇F(Y⁰)| where that is known and larger

    ``None`` where a method has neither; ``subgradient`` then evaluates |∇F(Y⁰)|.
    """


class StopRule(ABC):
    """A reason to stop; rules compose with ``|`` (either) and ``&`` (both)."""

    @property
    def certain(self) -> bool:
        """Whether the rule ends every run sooner or later: a limit, not a goal."""
        return False

    @abstractmethod
    def judge(self, progress: Progress) -> Verdict | None:
        """The verdict, or ``None`` to go on."""

    @final
    def verdict(self, progress: Progress) -> Verdict | None:
        """``judge``, with its answer checked: what a run asks."""
        with part_errors:
            found = self.judge(progress)
        if found is None:
            return None
        if not (isinstance(found, Verdict) and isinstance(found.status, Status) and isinstance(found.reason, str)):
            raise wrong_result(self, "judge", "a Verdict of a Status and a sentence, or None", found)
        return found

    @final
    def __or__(self, other: "StopRule") -> "StopRule":
        return Either((self, _rule(other)))

    @final
    def __and__(self, other: "StopRule") -> "StopRule":
        return Both((self, _rule(other)))


def _rule(other: object) -> StopRule:
    if not isinstance(other, StopRule):
        raise IncompatibleError(f"A stop rule can only be combined with a stop rule. Got {brief(other)} instead.")
    return other


@frozen
class Combined(StopRule):
    """Several rules as one."""

    rules: tuple[StopRule, ...]

    @final
    def verdicts(self, progress: Progress) -> Iterator[Verdict | None]:
        """What each rule says, as far as it is asked."""
        return (rule.verdict(progress) for rule in self.rules)


@final
@frozen
class Either(Combined):
    """Stops as soon as one of its rules does."""

    @property
    def certain(self) -> bool:
        return any(rule.certain for rule in self.rules)

    def judge(self, progress: Progress) -> Verdict | None:
        return next((verdict for verdict in self.verdicts(progress) if verdict is not None), None)


@final
@frozen
class Both(Combined):
    """Stops once all its rules do at the same iteration; the status is the last rule's."""

    @property
    def certain(self) -> bool:
        return all(rule.certain for rule in self.rules)

    def judge(self, progress: Progress) -> Verdict | None:
        found: list[Verdict] = []
        for verdict in self.verdicts(progress):
            if verdict is None:
                return None
            found.append(verdict)
        return Verdict(found[-1].status, " ".join(verdict.reason for verdict in found))
