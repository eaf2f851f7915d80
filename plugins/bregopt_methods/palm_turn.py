"""One turn of a PALM-type method: a sweep with W exact, and a proximal gradient step on each of two blocks."""

import math
from collections.abc import Callable, Mapping
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Evaluation, Problem, Regularizer, Trait, oracle_of
from bregopt.errors import IncompatibleError
from bregopt_methods.palm_step import BlockStep

Modulus = Callable[[Regularizer, float], float]
"""``(H, L) -> c``."""


@final
@frozen(eq=False)
class PalmTurn:
    """What a turn from the point of ``evaluation`` made: Y, and the ξ ∈ ∂H(Y) of its steps."""

    evaluation: Evaluation
    Y: Blocks
    xi: Blocks
    residual: float
    """|(c(U + αΔ − U⁺), d(V + αΔ − V⁺))|, the norm of ξ plus the gradients that the steps took"""
    steps: tuple[BlockStep, ...]
    left: tuple[float, ...]
    """what the steps leave of the weights δ of the Lyapunov function, block by block"""

    @property
    def weights(self) -> tuple[float, ...]:
        """δ at Y, for the next turn."""
        return tuple(d if d > 0 else step.fresh for d, step in zip(self.left, self.steps, strict=True))

    @property
    def assumptions(self) -> Mapping[str, bool]:
        """Whether Φ must fall without inertia, and Φ + ½Σδ‖Δ‖² with it."""
        return {"step": all(step.margin >= 0 for step in self.steps), "extrapolation": min(self.left) >= 0}


def palm_turn(
    problem: Problem,
    Y: Blocks,
    Y_prev: Blocks,
    inertia: tuple[float, float],
    modulus: Modulus,
    weights: tuple[float, ...],
) -> PalmTurn:
    """W, the first block and the second, from Y with Δ = Y − Y_prev and ``inertia`` = (α, β)."""
    alpha, beta = inertia
    centre = _beyond(Y, Y_prev, alpha)
    at = centre if alpha == beta else _beyond(Y, Y_prev, beta)
    first, second = Y.names
    flat = np.empty_like(Y.flat)
    xi = Y.layout.views(flat)

    def step(here: Blocks, name: str) -> BlockStep:
        H, L = problem.regularizer[name], lipschitz(problem, here, name)
        return BlockStep.of(H, L, modulus(H, L), alpha, beta)

    on_first = step(Y, first)

    def update(rows: slice, gradient: Array) -> Array:
        X, xi[first][rows] = on_first.take(centre[first][rows], gradient)
        return X

    swept = oracle_of(problem).sweep(Y, at, update, row_wise=Trait.ROW_WISE in on_first.H.traits)
    on_second = step(Y.map(lambda name, old: swept.first if name == first else old), second)
    X, xi[second][...] = on_second.take(centre[second], swept.gradient)

    new, steps = Y.map(lambda name, _: swept.first if name == first else X), (on_first, on_second)
    gaps = [step.c * np.linalg.norm(centre[name] - new[name]) for name, step in zip(Y.names, steps, strict=True)]
    left = tuple(step.leaves(delta) for step, delta in zip(steps, weights, strict=True))
    return PalmTurn(swept.evaluation, new, Y.like(flat), math.hypot(*gaps), steps, left)


def lipschitz(problem: Problem, Y: Blocks, name: str) -> float:
    """The Lipschitz constant of ∇F in a block, or an error that says who should know it."""
    L = problem.smooth.block_lipschitz(Y, name)
    if L is None:
        raise IncompatibleError(
            f"A PALM-type method needs the Lipschitz constant of ∇F in block '{name}', and "
            f"{type(problem.smooth).__name__} does not know it: implement its method gram or block_lipschitz, "
            "or use the method aapb, which needs none."
        )
    return L


def _beyond(Y: Blocks, Y_prev: Blocks, weight: float) -> Blocks:
    return Y if weight == 0 or Y is Y_prev else Y.plus(weight, Y - Y_prev)
