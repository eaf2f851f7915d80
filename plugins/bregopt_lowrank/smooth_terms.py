"""Smooth regularizers put into F: their gradients join the pass, their curvatures join the kernel."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, final

from attrs import evolve, field, frozen

from bregopt import (
    Array,
    Blocks,
    DataModel,
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
    """``F(Y, W) = (c/2)‖W − A(Y)‖² + Σ S_i(Y_i)``."""

    terms: Mapping[str, SmoothRegularizer]
    """S by block"""
    bounds: Mapping[str, Kernel] = field(repr=False)
    """for each block a quadratic kernel that its S is 1-smad to"""
    loss: Factorization = field(factory=Factorization)

    @property
    def bound(self) -> Kernel:
        """The sum of the bounds."""
        first, *rest = self.bounds.values()
        for kernel in rest:
            first = first + kernel
        return first

    def of(self, Y: Blocks) -> float:
        """``Σ S_i(Y_i)``."""
        return sum(S.value(Y[name]) for name, S in self.terms.items())

    def value(self, Y: Blocks, W: Any) -> float:
        return self.loss.value(Y, W) + self.of(Y)

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        value, gradient = self.loss.value_and_gradient(Y, W)
        return value + self.of(Y), self.added(gradient, Y)

    def added(self, gradient: Blocks, Y: Blocks) -> Blocks:
        """The gradient with those of the S at Y."""
        slopes = {name: S.gradient(Y[name]) for name, S in self.terms.items()}
        return gradient.map(lambda name, X: X + slopes[name] if name in slopes else X)

    def data_model(self, block: Any) -> DataModel | None:
        return self.loss.data_model(block)

    def gram(self, Y: Blocks, name: str) -> Array | None:
        return None if name in self.terms else self.loss.gram(Y, name)

    def by_columns(self, Y: Blocks, name: str) -> bool:
        return self.loss.by_columns(Y, name)

    def block_lipschitz(self, Y: Blocks, name: str) -> float | None:
        loss = self.loss.block_lipschitz(Y, name)
        return loss if loss is None or name not in self.terms else loss + self.bounds[name].smoothness

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        """The constants of the loss and of S from above; from below those of the loss will do, as S is convex."""
        return constants(self.loss, kernel, norms, reduced, self.bound)


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
    """The evaluations of the loss, with the S added."""

    smooth: WithSmooth
    oracle: Oracle

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        evaluation = self.oracle.evaluate(Y, at, value_at=value_at)
        S = self.smooth.of(Y)
        changes: dict[str, Any] = {"value": evaluation.value + S, "scale": evaluation.scale + S}
        if at is not None:
            changes["gradient"] = self.smooth.added(evaluation.gradient, at)
        if at is not None and evaluation.value_at is not None:
            changes["value_at"] = evaluation.value_at + self.smooth.of(at)
        return evolve(evaluation, **changes)

    def working(self) -> AbstractContextManager[Any]:
        return self.oracle.working()

    def sweep(self, Y: Blocks, at: Blocks, update: Update, *, row_wise: bool) -> Sweep:
        slopes, last = {name: S.gradient(at[name]) for name, S in self.smooth.terms.items()}, Y.names[-1]

        def added(name: str, rows: slice, gradient: Array) -> Array:
            return update(name, rows, gradient + slopes[name][rows] if name in slopes else gradient)

        sweep = self.oracle.sweep(Y, at, added, row_wise=row_wise)
        S, evaluation = self.smooth.of(Y), sweep.evaluation
        gradient = sweep.gradient + slopes[last] if last in slopes else sweep.gradient
        seen = evolve(evaluation, value=evaluation.value + S, scale=evaluation.scale + S)
        return evolve(sweep, evaluation=seen, gradient=gradient)
