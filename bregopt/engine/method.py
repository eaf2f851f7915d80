"""The interface of every algorithm: a first state, and how to advance."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.state import State
from bregopt.parts.kernel import KernelPolicy
from bregopt.problem import Problem


@final
@frozen(eq=False)
class Subgradient:
    """An element A of ∂Φ(Y^k, W(Y^k)), and the size of the smooth gradient it is compared with."""

    A: Blocks
    gradient_norm: float

    @property
    def norm(self) -> float:
        return self.A.norm()

    @property
    def relative(self) -> float:
        """``|A| / max(1, |∇F|)``."""
        return self.norm / max(1.0, self.gradient_norm)


class Method(ABC):
    """An iteration on states. What its theorem assumes and which function falls are part of it."""

    kernel: KernelPolicy | None = None
    """a kernel of the method's own, in place of the problem's"""

    @property
    def lyapunov(self) -> str:
        """The function that may not rise, as reports call it."""
        return "Φ(Y^k)"

    @property
    def assumptions(self) -> Mapping[str, str]:
        """The statement of each assumption of the theorem by name; states say whether it was met."""
        return {}

    def settle(self, problem: Problem, Y: Blocks) -> tuple["Method", tuple[str, ...]]:
        """The method to run on this problem from Y, and what is to be said of it: itself, but for one that picks."""
        return self, ()

    def check(self, problem: Problem) -> None:
        """Refuse a problem that the method cannot solve, with an error that says what it can."""
        return

    @abstractmethod
    def start(self, problem: Problem, Y: Blocks) -> State:
        """State 0 at Y."""

    @abstractmethod
    def advance(self, problem: Problem, state: State) -> State:
        """The next state."""

    def subgradient(self, problem: Problem, state: State) -> Subgradient | None:
        """An element of ∂Φ at the state, where the method knows one."""
        return None
