"""An update of all blocks with W held: each is improved on its own model, and Φ is bounded for nothing."""

import math
from collections.abc import Callable
from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Evaluation, Regularizer, ResolvedProblem
from bregopt.errors import IncompatibleError

DIGITS = 0.1
"""The rounding of an entry of W − UV, in units of the rounding that an Evaluation allows its value."""


@final
@frozen(eq=False)
class BlockModel:
    """``⟨∇F, E⟩ + ½⟨EG, E⟩ + H(X + E)`` on the lines of a block: its rows, or its columns."""

    G: Array
    H: Regularizer
    columns: bool
    lines: int


Step = Callable[[Array, Array], tuple[Array, Array]]
"""``(X, ∇F) -> (X⁺, ξ)`` for some lines, one in each row: no worse on the model, with ξ ∈ ∂H(X⁺)."""
Solver = Callable[[BlockModel], Step]


@final
@frozen(eq=False)
class BlockUpdate:
    """The update from y, with W = W(y), to Y."""

    evaluation: Evaluation
    """at y"""
    Y: Blocks
    xi: Blocks
    """ξ ∈ ∂H(Y)"""
    bound: float
    """F(Y, W) + G(W) + H(Y) ≥ Φ(Y)"""
    scale: float
    """the sum of the absolute terms of the bound, and what the rounding of a residual brings to its square"""
    residual: float
    """|∇F + ξ|, the gradient of each block from before its step"""


def block_update(problem: ResolvedProblem, y: Blocks, solver: Solver, *, row_wise: bool) -> BlockUpdate:
    """X⁺ of each block on its model where the blocks before it are new.

    Two blocks of a factorisation take three products where ``row_wise``, else four.
    """
    H, F = problem.regularizer, problem.smooth
    flat, slopes, gains = y.flat.copy(), np.empty_like(y.flat), list[tuple[int, int, float, float]]()
    new, xi = y.layout.views(flat), y.layout.views(slopes)

    def planned(here: Blocks, name: str) -> tuple[BlockModel, Step]:
        columns = F.by_columns(here, name)
        model = BlockModel(gram(problem, here, name), H[name], columns, here[name].shape[columns])
        return model, solver(model)

    plans = {y.names[0]: planned(y, y.names[0])}

    def update(name: str, rows: slice, gradient: Array) -> Array:
        if name not in plans:  # the blocks before it are done
            plans[name] = planned(y.like(flat.copy()), name)
        model, step = plans[name]
        old, target, there = y[name][rows], new[name][rows], xi[name][rows]
        if model.columns:
            old, target, there, gradient = old.T, target.T, there.T, gradient.T
        target[...], there[...] = step(old, gradient)
        gains.append((y.names.index(name), rows.start or 0, *_gain(model, target - old, gradient, there)))
        return new[name][rows]

    by_rows = row_wise and not plans[y.names[0]][0].columns
    sweep = problem.oracle.sweep(y, y, update, row_wise=by_rows)
    last = y.names[-1]
    update(last, slice(None), sweep.gradient)

    pairs = [gain[2:] for gain in sorted(gains)]  # in an order that no thread decides
    Y = y.like(flat)
    changes, value, penalty = [change for change, _ in pairs], sweep.evaluation.value, H.value(Y)
    X, G = (y[last].T if plans[last][0].columns else y[last]), plans[last][0].G
    size = math.sqrt(abs(float(np.vdot(X @ G, X))))  # √c‖A‖ with all blocks new but the last
    return BlockUpdate(
        evaluation=sweep.evaluation,
        Y=Y,
        xi=y.like(slopes),
        bound=value + sum(changes) + penalty,
        scale=sweep.evaluation.scale
        + sum(map(abs, changes))
        + abs(penalty)
        + DIGITS * size * math.sqrt(2.0 * abs(value)),
        residual=math.sqrt(sum(square for _, square in pairs)),
    )


def _gain(model: BlockModel, E: Array, gradient: Array, xi: Array) -> tuple[float, float]:
    """``⟨∇F, E⟩ + ½⟨EG, E⟩`` and ``|∇F + ξ|²``."""
    residual = gradient + xi
    return float(np.vdot(gradient, E) + 0.5 * np.vdot(E @ model.G, E)), float(np.vdot(residual, residual))


def check_blocks(problem: ResolvedProblem, Y: Blocks, method: str) -> None:
    """Refuse an F that has no model of each block."""
    for name in Y.names:
        gram(problem, Y, name, f"The method {method}")


def check_two_blocks(Y: Blocks, method: str) -> None:
    """Refuse any number of blocks but two."""
    if len(Y.names) != 2:
        raise IncompatibleError(
            f"The method {method} needs two blocks. Got {', '.join(Y.names)} instead: ecd, els, palm and aapb take any "
            "number."
        )


def gram(problem: ResolvedProblem, Y: Blocks, name: str, method: str = "This method") -> Array:
    """G of the block's model."""
    G = problem.smooth.gram(Y, name)
    if G is None:
        raise IncompatibleError(
            f"{method} takes an F that is quadratic in each block, with one matrix for all rows or columns of it "
            f"(SmoothPart.gram), and {type(problem.smooth).__name__} of the {problem.name} knows none for the block "
            f"'{name}': use aapb, which needs none."
        )
    return G
