"""The interface of every algorithm: a first state, and how to advance; and of what chooses an algorithm."""

from abc import ABC, abstractmethod
from typing import Generic, final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.state import Assumption, Inner, State
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.oracle import LAST_DIGITS, Evaluation
from bregopt.problem import ResolvedProblem


@final
@frozen(eq=False)
class Subgradient:
    """An element A of ∂Φ(Y^k, W(Y^k)), and the size of the smooth gradient it is compared with."""

    A: Blocks
    gradient_norm: float
    rounding: float = 0.0
    """the distance to stationarity is at most |A| and this"""

    @classmethod
    def at(cls, evaluation: Evaluation, xi: Blocks, terms: float) -> "Subgradient":
        """``∇F(Y, W(Y)) + ξ`` at the Y of an evaluation; ``terms`` is the size of the vectors that ξ was made of."""
        gradient = evaluation.gradient
        return cls(gradient + xi, gradient.norm(), evaluation.gradient_rounding + LAST_DIGITS * terms)

    @property
    def norm(self) -> float:
        return self.A.norm()

    def relative_to(self, first: float) -> float:
        """``|A| / max(first, |∇F|)``, where ``first`` is what the start of the run showed of such a size."""
        return self.norm / (max(first, self.gradient_norm) or 1.0)


@final
@frozen(eq=False)
class Momentum:
    """What Nesterov's extrapolation goes on with: ``Ȳ = Y + β(Y − Y_prev)``, where β follows from θ."""

    Y_prev: Blocks
    theta: float


class Method(ABC, Generic[Inner]):
    """An iteration on states. What its theorem assumes and which function falls are part of it.

    ``Method[Carried]`` keeps a Carried in ``State.inner``. A checkpoint holds it: numbers, text, tuples, mappings,
    arrays, Blocks, and attrs classes of these.
    """

    kernel: KernelPolicy | None = None
    """a kernel of the method's own, in place of the problem's"""

    @property
    def uses_kernel(self) -> bool:
        """Whether steps are measured by the kernel of the problem."""
        return True

    @property
    def members(self) -> "tuple[Method, ...]":
        """The methods that this one is made of: the kernels they bring are resolved too."""
        return ()

    @property
    def lyapunov(self) -> str:
        """The function that may not rise, as reports call it."""
        return "Φ(Y^k)"

    @property
    def minimises_phi(self) -> bool:
        """Whether Φ is what the method minimises: a run then returns the state with the least Φ that it has seen."""
        return True

    @property
    def safeguard(self) -> str:
        """Why the Lyapunov function does not rise, where no theorem says so and steps that raise it are refused."""
        return ""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions of the descent theorem, where there is one."""
        return ()

    def check(self, problem: ResolvedProblem) -> None:
        """Refuse a problem that the method cannot solve, with an error that says what it can."""
        return

    @abstractmethod
    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Inner]:
        """State 0 at Y."""

    @abstractmethod
    def advance(self, problem: ResolvedProblem, state: State[Inner]) -> State[Inner]:
        """The next state."""

    def momentum(self, state: State[Inner]) -> Momentum | None:
        """What a method that takes over from this state may go on with; ``None`` where there is nothing of the sort."""
        return None

    def take_over(self, problem: ResolvedProblem, Y: Blocks, momentum: Momentum) -> State[Inner]:
        """State 0 at Y, where another method has come to with this momentum; here it is lost."""
        return self.start(problem, Y)

    def subgradient(self, problem: ResolvedProblem, state: State[Inner]) -> Subgradient | None:
        """An element of ∂Φ at the state, where the method knows one."""
        return None

    def remarks(self, state: State[Inner]) -> tuple[str, ...]:
        """Sentences about the run that led to this state, which the result repeats."""
        return ()


class Selector(ABC):
    """Chooses the method for a problem, before the run."""

    @abstractmethod
    def select(self, problem: ResolvedProblem, Y: Blocks) -> tuple[Method, str]:
        """The method to run on this problem from Y, and a sentence that says which it is and why."""
