"""How far to go beyond Y^k along the last move: the β of Ȳ = Y^k + β(Y^k − Y^{k−1})."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import OverflowedError
from bregopt.part_errors import wrong_result
from bregopt.parts.kernel import Kernel
from bregopt.parts.smooth import Smad


def nesterov(theta: float) -> tuple[float, float]:
    """``β = (θ − 1)/θ⁺`` and ``θ⁺ = (1 + √(1 + 4θ²))/2``; θ = 1 at the beginning, where β = 0."""
    following = (1.0 + math.sqrt(1.0 + 4.0 * theta * theta)) / 2.0
    return (theta - 1.0) / following, following


@final
@frozen
class Forecast:
    """The kernel ψ_k of the coming step, or an upper bound of it, and what F promises about it."""

    kernel: Kernel
    smad: Smad | None


@final
@frozen(eq=False)
class ExtrapolationContext:
    """What is known when β_k is chosen."""

    iteration: int
    Y: Blocks
    D: Blocks
    """Y^k − Y^{k−1}"""
    step: float
    """λ_k, as planned"""
    step_prev: float
    """λ_{k−1}"""
    kernel_prev: Kernel
    """ψ_{k−1}"""
    divergence: float
    """D_{ψ_{k−1}}(Y^{k−1}, Y^k)"""
    longest: float
    """β must stay below this for Ȳ to lie in the kernel's domain"""
    forecast: Callable[[float], Forecast]
    """what is known of step k if β is chosen so"""
    steady: bool
    """whether the forecast is the same for every β"""
    Y_bar_prev: Blocks | None = None
    """the point that the last step was taken from"""
    rise: float | None = None
    """Φ(Y^k) − Φ(Y^{k−1}), or that of the step before where Φ(Y^k) is not known yet"""


class Extrapolation(ABC):
    """A rule for β_k; what it remembers is an argument and a return value."""

    moves: ClassVar[bool] = True
    """False where β is always zero."""
    delta: float = 0.999
    """δ of Assumption 2 and of the Lyapunov function Φ + (δ/λ)D."""
    epsilon: float = 0.001
    """ε of Assumption 2."""
    exact: bool = False
    """Whether a β is to be shortened until Assumption 2 holds with the gap of F itself, seen at Ȳ, for its bound."""

    @property
    def promises_descent(self) -> bool:
        """Whether every β meets Assumption 2, corrected for a kernel and a step that change, with what F promises."""
        return False

    def begin(self) -> Any:
        """The memory before the first choice."""
        return None

    @abstractmethod
    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        """β_k ≥ 0 and the memory for the next choice."""

    @final
    def choice(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        """``choose``, with its answer checked: what methods ask."""
        found: Any = self.choose(context, memory)
        match found:
            case (Real(), after) if 0 <= found[0] < math.inf:
                return float(found[0]), after
            case (Real(), _) if not math.isfinite(context.divergence):
                raise OverflowedError("The last step left the range of finite numbers.")
            case _:
                raise wrong_result(self, "choose", "a pair (β, memory), β a finite number >= 0", found)
