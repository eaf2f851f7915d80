"""A smooth regularizer on U put into F: its gradient joins the pass, its curvature joins the kernel."""

from contextlib import AbstractContextManager
from typing import Any, final

from attrs import evolve, field, frozen

from bregopt import (
    Array,
    Blocks,
    Evaluation,
    Kernel,
    KernelPolicy,
    Norms,
    Oracle,
    Smad,
    SmoothPart,
    SmoothRegularizer,
    Sweep,
    Update,
)
from bregopt_lowrank.factorization import Factorization, constants


@final
@frozen(eq=False)
class WithSmooth(SmoothPart):
    """``F(U, V, W) = ½‖W − UV‖² + S(U)``."""

    S: SmoothRegularizer
    bound: Kernel = field(repr=False)
    """a quadratic kernel on U that S is 1-smad to"""
    loss: Factorization = field(factory=Factorization)

    def value(self, Y: Blocks, W: Any) -> float:
        return self.loss.value(Y, W) + self.S.value(Y["U"])

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        value, gradient = self.loss.value_and_gradient(Y, W)
        return value + self.S.value(Y["U"]), self.added(gradient, Y)

    def added(self, gradient: Blocks, Y: Blocks) -> Blocks:
        """The gradient with that of S at Y."""
        slope = self.S.gradient(Y["U"])
        return gradient.map(lambda name, X: X + slope if name == "U" else X)

    def gram(self, Y: Blocks, name: str) -> Array | None:
        return None if name == "U" else self.loss.gram(Y, name)

    def block_lipschitz(self, Y: Blocks, name: str) -> float | None:
        loss = self.loss.block_lipschitz(Y, name)
        return loss if loss is None or name != "U" else loss + self.bound.smoothness

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        """The constants of the loss and of S from above; from below those of the loss will do, as S is convex."""
        return constants(kernel, norms, reduced, self.bound)


@final
@frozen(eq=False)
class SharedPolicy(KernelPolicy):
    """A policy plus a kernel that does not depend on W."""

    policy: KernelPolicy
    share: Kernel

    def at(self, norms: Norms) -> Kernel:
        return self.policy.kernel_at(norms) + self.share

    def sample(self) -> Kernel:
        return self.policy.sample() + self.share

    def pick(self, reduced: bool) -> "SharedPolicy":
        return SharedPolicy(self.policy.pick(reduced), self.share)


@final
@frozen(eq=False)
class SmoothOracle(Oracle):
    """The evaluations of the loss, with S added."""

    smooth: WithSmooth
    oracle: Oracle

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        evaluation = self.oracle.evaluate(Y, at, value_at=value_at)
        S = self.smooth.S.value(Y["U"])
        changes: dict[str, Any] = {"value": evaluation.value + S, "scale": evaluation.scale + S}
        if at is not None:
            changes["gradient"] = self.smooth.added(evaluation.gradient, at)
        if at is not None and evaluation.value_at is not None:
            changes["value_at"] = evaluation.value_at + self.smooth.S.value(at["U"])
        return evolve(evaluation, **changes)

    def working(self) -> AbstractContextManager[Any]:
        return self.oracle.working()

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        slope = self.smooth.S.gradient(at["U"])
        sweep = self.oracle.sweep(Y, at, lambda rows, left: update(rows, left + slope[rows]), row_wise=row_wise)
        S, evaluation = self.smooth.S.value(Y["U"]), sweep.evaluation
        return evolve(sweep, evaluation=evolve(evaluation, value=evaluation.value + S, scale=evaluation.scale + S))
