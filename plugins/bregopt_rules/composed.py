"""β rules made of others: the least of two, one that begins anew, one that is confirmed by the gap of F."""

from abc import abstractmethod
from typing import Any, final

from attrs import field, frozen

from bregopt import Extrapolation, ExtrapolationContext, make, validate

NESTEROV: Any = "nesterov"
ASSUMPTION2: Any = "assumption2"


def _rule(spec: Any) -> Extrapolation:
    rule: Extrapolation = make("extrapolation", spec)
    return rule


@frozen
class Combined(Extrapolation):
    """A rule made of others, with the δ and ε of one of them."""

    delta: float = field(init=False, repr=False)
    epsilon: float = field(init=False, repr=False)

    @property
    @abstractmethod
    def source(self) -> Extrapolation:
        """The rule whose δ and ε hold."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "delta", self.source.delta)
        object.__setattr__(self, "epsilon", self.source.epsilon)


@final
@frozen
class Least(Combined):
    """``β = min(β₁, β₂)``: with Assumption 2 as the second, its guarantee for any first rule."""

    first: Extrapolation = field(default=NESTEROV, converter=_rule)
    second: Extrapolation = field(default=ASSUMPTION2, converter=_rule)

    @property
    def source(self) -> Extrapolation:
        return self.second

    def begin(self) -> tuple[Any, Any]:
        return self.first.begin(), self.second.begin()

    def choose(self, context: ExtrapolationContext, memory: tuple[Any, Any]) -> tuple[float, tuple[Any, Any]]:
        one, first = self.first.choice(context, memory[0])
        two, second = self.second.choice(context, memory[1])
        return min(one, two), (first, second)


@final
@frozen
class ExactGap(Extrapolation):
    """The β of a rule, shortened until ``D_{ψ_k}(Y^k, Ȳ)/λ_k + gap ≤ ((δ − ε)/λ_{k−1})·D_{ψ_{k−1}}(Y^{k−1}, Y^k)``.

    The gap is F(Ȳ) + ⟨∇F(Ȳ), Y^k − Ȳ⟩ − F(Y^k), seen at Ȳ, where Assumption 2 takes a bound of it.
    """

    rule: Extrapolation = field(default=NESTEROV, converter=_rule)
    delta: float = field(default=0.999, validator=validate.number(above=0, below=1))
    epsilon: float = field(default=0.001, validator=validate.number(above=0, below=1))
    exact: bool = field(default=True, init=False)

    def begin(self) -> Any:
        return self.rule.begin()

    def choose(self, context: ExtrapolationContext, memory: Any) -> tuple[float, Any]:
        return self.rule.choice(context, memory)


@final
@frozen
class Restart(Combined):
    """A rule that begins anew, with β = 0, ``when`` something happens.

    ``objective``: Φ rose; ``gradient``: ⟨Ȳ^{k−1} − Y^k, Y^k − Y^{k−1}⟩ > 0; ``bregman``: D_ψ(Y^k, Ȳ) would exceed ρ
    times that of the last move; ``periodic``: ``every`` so many iterations.
    """

    rule: Extrapolation = field(default=NESTEROV, converter=_rule)
    when: str = field(default="objective", validator=validate.one_of("objective", "gradient", "bregman", "periodic"))
    rho: float = field(default=0.99, validator=validate.number(above=0, below=1))
    every: int = field(default=200, validator=validate.whole(at_least=1))

    @property
    def source(self) -> Extrapolation:
        return self.rule

    def begin(self) -> tuple[Any, int]:
        return self.rule.begin(), 0

    def choose(self, context: ExtrapolationContext, memory: tuple[Any, int]) -> tuple[float, tuple[Any, int]]:
        inner, age = memory
        beta, after = self.rule.choice(context, inner)
        if not self._due(context, beta, age):
            return beta, (after, age + 1)
        _, after = self.rule.choice(context, self.rule.begin())
        return 0.0, (after, 0)

    def _due(self, context: ExtrapolationContext, beta: float, age: int) -> bool:
        if self.when == "objective":
            return context.rise is not None and context.rise > 0
        if self.when == "gradient":
            return context.Y_bar_prev is not None and (context.Y_bar_prev - context.Y).dot(context.D) > 0
        if self.when == "bregman":
            kernel = context.forecast(beta).kernel
            return (
                beta > 0
                and kernel.divergence(context.Y, context.Y.plus(beta, context.D)) > self.rho * context.divergence
            )
        return age + 1 >= self.every
