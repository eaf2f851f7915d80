"""An update of both blocks with W held: each is improved on its own model, and Φ is bounded for nothing."""

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
    """``⟨∇F, E⟩ + ½⟨EG, E⟩ + H(X + E)`` on the lines of a block: the rows of the first, the columns of the second."""

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
    """U⁺ on its model at y, then V⁺ on its model at (U⁺, V): three products where ``row_wise``, else four."""
    first, second = y.names
    U, V, H = y[first], y[second], problem.regularizer
    flat, gains = np.empty_like(y.flat), list[tuple[int, float, float]]()
    xi = y.layout.views(flat)
    on_U = BlockModel(gram(problem, y, first), H[first], False, U.shape[0])
    step = solver(on_U)

    def update(rows: slice, gradient: Array) -> Array:
        new, xi[first][rows] = step(U[rows], gradient)
        gains.append((rows.start, *_gain(on_U, new - U[rows], gradient, xi[first][rows])))
        return new

    sweep = problem.oracle.sweep(y, y, update, row_wise=row_wise)
    half = y.map(lambda name, old: sweep.first if name == first else old)
    on_V = BlockModel(gram(problem, half, second), H[second], True, V.shape[1])
    VT, xi[second].T[...] = solver(on_V)(V.T, sweep.gradient.T)
    Y = y.map(lambda name, _: sweep.first if name == first else VT.T)

    last = _gain(on_V, VT - V.T, sweep.gradient.T, xi[second].T)
    pairs = [*(gain for _, *gain in sorted(gains)), last]  # in an order that no thread decides
    changes, F, penalty = [change for change, _ in pairs], sweep.evaluation.value, H.value(Y)
    size = math.sqrt(abs(float(np.vdot(on_U.G, on_V.G))))  # ‖U⁺V‖
    return BlockUpdate(
        evaluation=sweep.evaluation,
        Y=Y,
        xi=y.like(flat),
        bound=F + sum(changes) + penalty,
        scale=sweep.evaluation.scale + sum(map(abs, changes)) + abs(penalty) + DIGITS * size * math.sqrt(2.0 * abs(F)),
        residual=math.sqrt(sum(square for _, square in pairs)),
    )


def _gain(model: BlockModel, E: Array, gradient: Array, xi: Array) -> tuple[float, float]:
    """``⟨∇F, E⟩ + ½⟨EG, E⟩`` and ``|∇F + ξ|²``."""
    residual = gradient + xi
    return float(np.vdot(gradient, E) + 0.5 * np.vdot(E @ model.G, E)), float(np.vdot(residual, residual))


def check_blocks(problem: ResolvedProblem, Y: Blocks) -> None:
    """Refuse an F that has no model of each of two blocks."""
    if len(Y.names) != 2:
        raise IncompatibleError(
            f"A method that goes block by block needs two blocks. Got {Y!r} instead: use aapb, which takes any number."
        )
    for name in Y.names:
        gram(problem, Y, name)


def gram(problem: ResolvedProblem, Y: Blocks, name: str) -> Array:
    """G of the block's model."""
    G = problem.smooth.gram(Y, name)
    if G is None:
        raise IncompatibleError(
            f"The method takes an F that is quadratic in each block, with one matrix for all rows or columns of it "
            f"(SmoothPart.gram), and {type(problem.smooth).__name__} of the {problem.name} knows none for the block "
            f"'{name}': use aapb, or a PALM-type method."
        )
    return G
