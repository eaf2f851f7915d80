"""HALS: hierarchical alternating least squares, with the repeats of Gillis and Glineur."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Assumption, Blocks, Evaluation, Method, ResolvedProblem, State, Subgradient, validate
from bregopt_methods.blockwise.block_update import BlockModel, Step, block_update, check_blocks, check_two_blocks
from bregopt_methods.blockwise.ecd import coordinates, curvatures
from bregopt_methods.nmf.nonnegative import (
    DESCENT,
    PlannedUpdate,
    check_penalties,
    least_subgradient,
    next_state,
    penalties,
)

NAME = "hals"
Sweeps = tuple[int, int]
"""How often an iteration goes over the columns of U at most, and over the rows of V."""


@final
@frozen(eq=False)
class Carried:
    """The update that leaves Y^k, and how often it and the next ones go over a block."""

    plan: PlannedUpdate
    sweeps: Sweeps


@final
@frozen
class HALS(Method[Carried]):
    """Accelerated HALS for non-negative factors: columns of U one by one, each exactly, then rows of V.

    With W = W(Y^k), which is M in plain NMF, an iteration makes ``s`` times::

        for p = 1 … r:   u_p ← argmin over this column of F((U, V), W) + H(U)

    and then the same for the rows of V with the new U. WVᵀ and VVᵀ are made once, so repeats are cheap: where a product
    visits K entries, ``s = ⌊1 + α(K + nr)/(mr + m)⌋`` for U, and for V m and n change places. A row of U, or a column
    of V, takes part until it moves by less than ``enough`` of its first move. The authors stop by the moves of the
    whole block; here each line goes by its own, so it does not matter how a pass cuts M. ``alpha=0`` is HALS without
    repeats.

    It serves every loss with a closed-form W: no step raises F(·, W) + H, and a new W lowers it. So Φ does not rise,
    which is a theorem; its assumption is tested. F does not see a column of U whose row of V is zero: the column stays,
    or goes to zero where H has a weight, and two that are zero stay zero. State k holds Y^k with the update that leaves
    it, so its objective is exact. Three products an iteration, and one for K. The step of a state is 1/max_p (VVᵀ)_pp,
    or that for V, if it is shorter.
    """

    uses_kernel = False
    alpha: float = field(default=0.5, validator=validate.number(at_least=0))
    enough: float = field(default=0.01, validator=validate.number(at_least=0))

    def check(self, problem: ResolvedProblem) -> None:
        check_penalties(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Carried]:
        check_two_blocks(Y, NAME)
        check_blocks(problem, Y, NAME)
        penalties(problem, Y.names, NAME)
        sweeps = self._sweeps(problem.oracle.evaluate(Y))
        seen, plan = self._update(problem, Y, sweeps)
        return State.at(seen, problem.regularizer.value(Y), inner=Carried(plan, sweeps))

    def advance(self, problem: ResolvedProblem, state: State[Carried]) -> State[Carried]:
        made, sweeps = state.inner.plan, state.inner.sweeps
        seen, plan = self._update(problem, made.Y, sweeps)
        return next_state(self, problem, state, made, seen, Carried(plan, sweeps))

    def _sweeps(self, seen: Evaluation) -> Sweeps:
        """By what a value costs, in products."""
        (m, r), (_, n) = (seen.Y[name].shape for name in seen.Y.names)
        K = seen.products * m * n
        return int(1 + self.alpha * (K + n * r) / (m * r + m)), int(1 + self.alpha * (K + m * r) / (n * r + n))

    def _update(self, problem: ResolvedProblem, Y: Blocks, sweeps: Sweeps) -> tuple[Evaluation, PlannedUpdate]:
        """Both blocks from Y, and what was seen at Y."""
        steepest = list[float]()

        def solver(model: BlockModel) -> Step:
            steepest.append(float(curvatures(model).max()))
            return repeated(model, sweeps[model.columns], self.enough)

        made = block_update(problem, Y, solver, row_wise=True)
        seen = made.evaluation
        rise = made.bound - (seen.value + problem.regularizer.value(Y))
        return seen, PlannedUpdate(made.Y, rise, seen.rounding * made.scale, made.residual, 1.0 / max(steepest))

    def subgradient(self, problem: ResolvedProblem, state: State[Carried]) -> Subgradient:
        return least_subgradient(problem, state.Y, NAME)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (DESCENT,)


def repeated(model: BlockModel, sweeps: int, enough: float) -> Step:
    """Sweeps over the coordinates; a line that moves by less than ``enough`` of its first move is left out of more."""
    sweep = coordinates(model, sweeps=1)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        new, xi = sweep(X, gradient)
        lines, moves = np.arange(len(X)), _lengths(new - X)
        least = enough * moves
        for _ in range(1, sweeps):
            moving = (moves >= least) & (moves > 0)
            lines, least = lines[moving], least[moving]
            if not len(lines):
                break
            before = new[lines]
            new[lines], xi[lines] = sweep(before, gradient[lines] + (before - X[lines]) @ model.G)
            moves = _lengths(new[lines] - before)
        return new, xi

    return step


def _lengths(E: Array) -> Array:
    """Of the lines."""
    return np.asarray(np.linalg.norm(E, axis=1))
