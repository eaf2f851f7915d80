"""The problem: F + G + H with the kernel that measures steps, as it is stated and as it is solved."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import evolve, field, frozen, validators

from bregopt import validate
from bregopt.blocks import Array, Blocks
from bregopt.errors import IncompatibleError, brief, parameter
from bregopt.labels import Labels
from bregopt.notebook import table
from bregopt.part_results import blocks, instance
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.named import NamedKernel, NamedRegularizer
from bregopt.parts.oracle import Metric, Oracle
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable, Zero
from bregopt.parts.smooth import SmoothPart


class Start(ABC):
    """A way to make Y⁰ for a problem."""

    @abstractmethod
    def point(self, problem: "ProblemParts", rng: np.random.Generator) -> Blocks: ...


Named = Regularizer | str
"""A regularizer, or the spec of one."""


def _separable(H: Separable | Named | Mapping[str, Named] | None) -> Separable:
    if isinstance(H, Separable):
        return H
    if isinstance(H, Mapping):
        return Separable(**{str(name): _regularizer(part) for name, part in H.items()})
    return Separable(None if H is None else _regularizer(H))


def _regularizer(H: Named) -> Regularizer:
    return NamedRegularizer(H) if isinstance(H, str) else H


def _policy(kernel: KernelPolicy | str) -> KernelPolicy:
    return NamedKernel(kernel) if isinstance(kernel, str) else kernel


@final
@frozen(eq=False)
class Fixed:
    """A block that stays as it is: ``compose("relu-nmd", M, rank=20, V=Fixed(V0))`` is a problem in U alone."""

    X: Array = field(converter=np.asarray, repr=False)


@frozen(eq=False, kw_only=True, repr=False)
class ProblemParts:
    """What ``Problem`` and ``ResolvedProblem`` share: the parts of Φ, the kernel and the start."""

    smooth: SmoothPart = field(validator=validate.instance_of(SmoothPart, "a SmoothPart"))
    block: ClosedFormBlock = field(validator=validate.instance_of(ClosedFormBlock, "a ClosedFormBlock"))
    regularizer: Separable = field(converter=_separable, default=None)
    kernel: KernelPolicy = field(
        converter=_policy, validator=validate.instance_of(KernelPolicy, "a Kernel, a KernelPolicy or a spec")
    )
    start: Start | Blocks | None = None
    shapes: Mapping[str, tuple[int, ...]] | None = field(default=None)
    metrics: Mapping[str, Metric] = field(factory=dict)
    name: str = "two-block problem"
    kernel_named: bool = False
    """whether the user asked for this kernel, so that a method should use it"""
    notes: tuple[str, ...] = ()
    """sentences about the data or the model that a result repeats"""
    labels: Labels | None = None
    """what the rows and columns of the data are called"""

    @shapes.validator
    def _check_names(self, attribute: object, shapes: Mapping[str, tuple[int, ...]] | None) -> None:
        """H has to be on blocks that there are."""
        names = self.start.names if isinstance(self.start, Blocks) else tuple(shapes or ())
        for name in self.regularizer.named if names else ():
            if name not in names:
                raise parameter("regularizer", "Problem", f"for the blocks {', '.join(names)}", name)

    @final
    def facts(self) -> dict[str, str]:
        """What the problem is, in short, by labels for people."""
        model, H = self.smooth.data_model(self.block), self.regularizer
        everywhere = {} if isinstance(H[""], Zero) else {"other blocks" if H.named else "every block": H[""]}
        parts = {
            f"H on {name}": repr(part) for name, part in {**H.named, **everywhere}.items() if not isinstance(part, Zero)
        }
        size = {} if model is None else {"Data": f"{'×'.join(map(str, model.shape))}, as {model.formula}"}
        return {**size, **(parts or {"H": "none"}), **({"Labels": repr(self.labels)} if self.labels else {})}

    @final
    def __repr__(self) -> str:
        told = "; ".join(f"{label}: {text}" for label, text in self.facts().items())
        return f"{type(self).__name__}({self.name}; {told})"

    @final
    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {label}: {text}" for label, text in self.facts().items())])

    @final
    def _repr_html_(self) -> str:
        return table(self.facts(), self.name)

    @final
    def freeze(self, **blocks: Array) -> "Problem":
        """The problem in the other blocks, where these stay as given: ``problem.freeze(V=V0)``.

        It is convex where H is, and the loss: what comes out does not depend on the start.
        """
        fixed = Blocks(**blocks)
        found = self.smooth.freeze(self.block, fixed)
        if found is None:
            raise IncompatibleError(
                f"{type(self.smooth).__name__} of the {self.name} does not say what it is where "
                f"{', '.join(fixed.names)} stays (SmoothPart.freeze)."
            )
        smooth, block, kernel = found
        rest = {name: part for name, part in self.regularizer.named.items() if name not in fixed.names}
        return Problem(
            smooth=smooth,
            block=block,
            regularizer=Separable(self.regularizer[""], **rest),
            kernel=kernel,
            start=self.start if isinstance(self.start, Start) else None,
            metrics=self.metrics,
            name=f"{self.name} with {', '.join(fixed.names)} fixed",
            notes=self.notes,
            labels=self.labels,
        )

    @final
    def first_point(self, start: Start | Blocks | None, rng: np.random.Generator) -> Blocks:
        """Y⁰ from an explicit start, or else from the problem's own."""
        chosen = start if start is not None else self.start
        if isinstance(chosen, Blocks):
            return chosen
        if isinstance(chosen, Start):
            Y = instance(chosen, "point", chosen.point(self, rng), Blocks, "Blocks")
            return blocks(chosen, "point", Y, Y.layout, finite=True)
        if chosen is None:
            raise IncompatibleError(f"The {self.name} has no default start: pass start=Blocks(...).")
        raise IncompatibleError(f"A start must be Blocks or a Start. Got {brief(chosen)} instead.")


@final
@frozen(eq=False, kw_only=True, repr=False)
class Problem(ProblemParts):
    """``min Φ(Y, W) = F(Y, W) + G(W) + H(Y)``, as it is stated.

    Parameters
    ----------
    smooth : SmoothPart
        F.
    block : ClosedFormBlock
        The W block and G.
    regularizer : Separable, mapping, Regularizer or str, optional
        H by blocks, as in ``{"U": "l1(0.1)"}``; one Regularizer, or its spec, means the same on every block, ``None``
        means H = 0.
    kernel : Kernel, KernelPolicy or str
        ψ, such as ``"3*psi1 + 2*psi2"``.
    start : Start or Blocks, optional
        The default start.
    shapes : mapping, optional
        The blocks and their shapes, as in ``{"U": (60, 4), "V": (4, 50)}``: a random start is made by them.
    metrics : mapping, optional
        Further figures for the history, each a function of (Y, W).
    name : str
        What results and reports call the problem.
    notes : tuple of str
        Sentences about the data or the model, which the result repeats.
    labels : Labels, optional
        What the rows and columns of the data are called; ``compose`` takes them from the data.
    kernel_named : bool
        Whether the user asked for this kernel, so that the choice of a method should respect it.
    prox, oracle : optional
        A Bregman proximal map and an oracle of your own; ``bregopt.solve`` asks the plugins for what is missing.
    """

    prox: BregmanProx | None = field(default=None)
    oracle: Oracle | None = field(
        default=None, validator=validators.optional(validate.instance_of(Oracle, "an Oracle"))
    )

    @prox.validator
    def _is_function(self, attribute: object, prox: object) -> None:
        if not (prox is None or callable(prox)):
            raise parameter("prox", "Problem", "a function (P, step, kernel)", prox)


@final
@frozen(eq=False)
class ResolvedKernel:
    """A kernel with its Bregman proximal map."""

    policy: KernelPolicy
    prox: BregmanProx
    exact: bool
    """whether ``prox`` is known to be a global minimiser"""

    @classmethod
    def of(cls, policy: KernelPolicy, prox: BregmanProx) -> "ResolvedKernel":
        """A map that is not exact says so by an attribute ``exact = False``."""
        return cls(policy, prox, getattr(prox, "exact", True))


@final
@frozen(eq=False, kw_only=True, repr=False)
class ResolvedProblem(ProblemParts):
    """A problem that can be solved: its oracle, and the proximal map of its kernel, are there."""

    oracle: Oracle
    prox: BregmanProx
    exact_prox: bool
    """whether ``prox`` is known to be a global minimiser"""
    others: tuple[ResolvedKernel, ...] = ()
    """further kernels, which methods bring along"""

    def using(self, kernel: KernelPolicy | None) -> "ResolvedProblem":
        """The same problem with one of its further kernels; with ``None`` it stays as it is."""
        if kernel is None or kernel is self.kernel:
            return self
        found = next((other for other in self.others if other.policy is kernel), None)
        if found is None:
            raise IncompatibleError(f"The {self.name} was not resolved for the kernel {kernel!r}: use bregopt.solve.")
        rest = *(other for other in self.others if other is not found), self.resolved_kernel
        return evolve(self, kernel=found.policy, prox=found.prox, exact_prox=found.exact, others=rest)

    @property
    def resolved_kernel(self) -> ResolvedKernel:
        """The kernel in use, with its proximal map."""
        return ResolvedKernel(self.kernel, self.prox, self.exact_prox)
