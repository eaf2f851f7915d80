"""Blocks that are non-negative: their H, and where to begin."""

from typing import final

import numpy as np
from attrs import frozen
from bregopt_lowrank import ScaledRandom

from bregopt import Blocks, Fixed, ProblemParts, Regularizer, Start, Zero, make
from bregopt.errors import DataError


def on_orthant(H: Regularizer | Fixed | str, block: str, owner: str) -> Regularizer | Fixed:
    """``H(X) if X ≥ 0, else ∞``; a fixed block has to be non-negative already."""
    if isinstance(H, Fixed):
        lowest = float(np.min(H.X, initial=0.0))
        if lowest < 0:
            raise DataError(f"The fixed block '{block}' must be non-negative for {owner}. Got {lowest:g} in it.")
        return H
    part: Regularizer = make("regularizer", H)
    found: Regularizer = make("regularizer", "nonneg" if isinstance(part, Zero) else "with-nonneg", *_arguments(part))
    return found


def _arguments(part: Regularizer) -> tuple[Regularizer, ...]:
    return () if isinstance(part, Zero) else (part,)


@final
@frozen
class AbsoluteRandom(Start):
    """The absolute values of ``scaled-random`` in the blocks that are to be non-negative, by default in all."""

    blocks: tuple[str, ...] = ()

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        Y = ScaledRandom().point(problem, rng)
        return Y.map(lambda name, X: np.abs(X) if name in (self.blocks or Y.names) else X)
