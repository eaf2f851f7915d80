"""The problem: F + G + H with the kernel that measures steps, and what was resolved from these parts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import validate
from bregopt.blocks import Blocks
from bregopt.errors import IncompatibleError
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.oracle import Metric, Oracle
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable
from bregopt.parts.smooth import SmoothPart


class Start(ABC):
    """A way to make Y⁰ for a problem."""

    @abstractmethod
    def point(self, problem: "Problem", rng: np.random.Generator) -> Blocks: ...


def _separable(H: Separable | Regularizer | None) -> Separable:
    return H if isinstance(H, Separable) else Separable(H)


@final
@frozen(eq=False, kw_only=True)
class Problem:
    """``min Φ(Y, W) = F(Y, W) + G(W) + H(Y)``.

    Parameters
    ----------
    smooth : SmoothPart
        F.
    block : ClosedFormBlock
        The W block and G.
    regularizer : Separable or Regularizer, optional
        H by blocks; one Regularizer means the same on every block, ``None`` means H = 0.
    kernel : Kernel or KernelPolicy
        ψ.
    start : Start or Blocks, optional
        The default start.
    metrics : mapping, optional
        Further figures for the history, each a function of (Y, W).
    name : str
        What results and reports call the problem.
    prox, oracle : optional
        The Bregman proximal map and the oracle; ``bregopt.solve`` asks the plugins for what is missing.
    """

    smooth: SmoothPart = field(validator=validate.instance_of(SmoothPart, "a SmoothPart"))
    block: ClosedFormBlock = field(validator=validate.instance_of(ClosedFormBlock, "a ClosedFormBlock"))
    regularizer: Separable = field(converter=_separable, default=None)
    kernel: KernelPolicy = field(validator=validate.instance_of(KernelPolicy, "a Kernel or a KernelPolicy"))
    start: Start | Blocks | None = None
    metrics: Mapping[str, Metric] = field(factory=dict)
    name: str = "two-block problem"
    prox: BregmanProx | None = None
    oracle: Oracle | None = None
    exact_prox: bool = True
    """whether ``prox`` is known to be a global minimiser"""

    @property
    def resolved(self) -> bool:
        return self.prox is not None and self.oracle is not None

    def seen_through(self, oracle: Oracle, prox: BregmanProx) -> "Problem":
        """The same problem with this oracle and this proximal map; a map that is not exact says so."""
        return evolve(self, oracle=oracle, prox=prox, exact_prox=self.exact_prox and getattr(prox, "exact", True))

    def first_point(self, start: Start | Blocks | None, rng: np.random.Generator) -> Blocks:
        """Y⁰ from an explicit start, or else from the problem's own."""
        chosen = start if start is not None else self.start
        if isinstance(chosen, Blocks):
            return chosen
        if isinstance(chosen, Start):
            return chosen.point(self, rng)
        if chosen is None:
            raise IncompatibleError(f"The {self.name} has no default start: pass start=Blocks(...).")
        raise IncompatibleError(f"A start must be Blocks or a Start. Got {chosen!r} instead.")


def oracle_of(problem: Problem) -> Oracle:
    """The oracle of a problem that was resolved."""
    if problem.oracle is None:
        raise IncompatibleError(f"The {problem.name} has no oracle yet: use bregopt.solve, which asks the plugins.")
    return problem.oracle
