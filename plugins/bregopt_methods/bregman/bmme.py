"""BMME: block by block, each from an extrapolated point as far ahead as the last step of that block allows."""

import math
from operator import attrgetter
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
    Evaluation,
    Method,
    ResolvedProblem,
    State,
    Subgradient,
    Trait,
    assumptions_met,
    nesterov,
    validate,
)
from bregopt_methods.blockwise.block_update import check_two_blocks
from bregopt_methods.bregman.dc_step import SplitProblem, subgradient
from bregopt_methods.palm.iteration import FLOOR, BlockStep, check_constants, lipschitz

SLACK = 1e-12
"""Rounding of the β test, relative."""
KEPT = 1e-6
"""c is at least that part of ‖ξ₂‖/‖X‖, so that X keeps its digits in X + ξ₂/c where F does not see the block."""


@final
@frozen
class MajorizedStep:
    """``X⁺ = argmin_Z  r₁(Z) + ⟨∇F(X̄) − ξ₂, Z⟩ + (c/2)‖Z − X̄‖²`` with X̄ = X + β(X − X_prev) and ξ₂ ∈ ∂r₂(X).

    Where c ≥ L and −D_F ≤ (l/2)‖·‖² it gives ``Φ(X⁺) + (c/2)‖X⁺ − X‖² ≤ Φ(X) + (c + l)(β²/2)‖X − X_prev‖²``.
    """

    on_first: BlockStep
    """with r₁, L and c"""
    low: float
    """l, which is 0 where F is convex in the block"""
    beta: float
    before: float
    """c of the last step on this block"""

    @property
    def c(self) -> float:
        return self.on_first.c

    def passes(self, share: float) -> bool:
        """The β test."""
        return (self.c + self.low) * self.beta**2 <= share * self.before * (1 + SLACK)


@final
@frozen(eq=False)
class BmmeUpdate:
    """The update of both blocks from the Y of the evaluation: the new Y, and the ξ₁ ∈ ∂r₁(Y) of its steps."""

    split: SplitProblem
    evaluation: Evaluation
    Y: Blocks
    xi: Blocks
    residual: float
    """|(c(Ū − U⁺), d(V̄ − V⁺))|"""
    steps: tuple[MajorizedStep, ...]
    share: float
    theta: float
    least: float
    """the smallest c of the next updates"""

    @property
    def step_holds(self) -> bool:
        return all(step.c >= step.on_first.L for step in self.steps)

    @property
    def extrapolation(self) -> bool:
        return all(step.passes(self.share) for step in self.steps)

    @property
    def convexity(self) -> bool:
        return all(Trait.CONVEX in step.on_first.H.traits for step in self.steps)


ASSUMPTIONS = (
    Assumption("step", "c ≥ L in both blocks", attrgetter("step_holds")),
    Assumption("extrapolation", "(c + l)β² ≤ share·c of the last step, in both blocks", attrgetter("extrapolation")),
    Assumption("convexity", "H = r₁ − r₂ with both convex, as H claims by its convex parts", attrgetter("convexity")),
)
Updates = tuple[BmmeUpdate | None, BmmeUpdate]
"""The update that made Y^k, and the one that leaves it."""


@final
@frozen
class BMME(Method[Updates]):
    """Block majorisation-minimisation with extrapolation: β of each block as large as its last step allows.

    After Hien, Phan, Gillis, Ahookhosh and Patrinos, for k = 1, 2, …::

        W  = argmin_W  F(U, V, W) + G(W)
        U⁺ = prox_{r₁/c}(Ū − (∇_U F(Ū, V, W) − ξ₂(U))/c)       Ū = U + β_U(U − U_prev)
        V⁺ = prox_{r₁/d}(V̄ − (∇_V F(U⁺, V̄, W) − ξ₂(V))/d)      V̄ = V + β_V(V − V_prev)

    for H = r₁ − r₂, with the kernels (c/2)‖U‖², c = L(V), and (d/2)‖V‖², d = L(U⁺). In each block β is Nesterov's, or
    the largest with ``(c + l)β² ≤ share·c_prev``, where l bounds the curvature of F in the block from below: 0 where F
    has a ``gram`` without negative eigenvalues, else L. So Φ + ½Σc‖Y − Y_prev‖² cannot rise. W is taken at Y^k. With
    ``share`` = 0 and a convex H it is PPALM. Three products an iteration, or four where r₁ on U does not go by rows;
    two evaluations where F has no ``gram`` for V. State k holds Y^k with the update that leaves it.
    """

    share: float = field(default=0.9999, validator=validate.number(at_least=0, below=1))
    uses_kernel = False

    def check(self, problem: ResolvedProblem) -> None:
        check_constants(problem)
        SplitProblem(problem, "bmme").parts  # noqa: B018  (found, or refused with what is missing)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Updates]:
        check_two_blocks(Y, "bmme")
        following = self._update(problem, SplitProblem(problem, "bmme"), Y, Y, None)
        return State.at(following.evaluation, problem.regularizer.value(Y), inner=(None, following))

    def advance(self, problem: ResolvedProblem, state: State[Updates]) -> State[Updates]:
        made = state.inner[1]
        following = self._update(problem, made.split, made.Y, state.Y, made)
        moved = zip(made.steps, made.Y.names, strict=True)
        lag = 0.5 * sum(step.c * float(np.linalg.norm(made.Y[name] - state.Y[name])) ** 2 for step, name in moved)
        return State.at(
            following.evaluation,
            problem.regularizer.value(made.Y),
            iteration=state.iteration + 1,
            lag=lag if self.share else 0.0,
            step=1.0 / max(step.c for step in made.steps),
            beta=made.steps[0].beta,
            stationarity=made.residual,
            assumptions=assumptions_met(ASSUMPTIONS, made),
            inner=(made, following),
        )

    def _update(
        self, problem: ResolvedProblem, split: SplitProblem, Y: Blocks, Y_prev: Blocks, last: BmmeUpdate | None
    ) -> BmmeUpdate:
        """W, the first block and the second, from Y."""
        (first, second), F = Y.names, problem.smooth
        nesterovs, theta = nesterov(1.0 if last is None else last.theta)
        least = 0.0 if last is None else last.least
        before = (0.0, 0.0) if last is None else tuple(step.c for step in last.steps)
        xi2 = None if split.convex else split.slope(Y)
        flat, U = np.empty_like(Y.flat), np.empty_like(Y[first])
        xi = Y.layout.views(flat)

        def planned(name: str, here: Blocks, gram: Array | None) -> tuple[MajorizedStep, Array]:
            """The step on a block, and X̄."""
            L, c_prev, X = lipschitz(problem, here, name), before[Y.names.index(name)], Y[name]
            low = L if gram is None else max(0.0, -float(np.linalg.eigvalsh(gram)[0]))
            wanted = L
            if xi2 is not None and X.any():
                wanted = max(L, KEPT * float(np.linalg.norm(xi2[name]) / np.linalg.norm(X)))
            on_first = BlockStep.of(split.on(name).first, L, wanted, 0.0, 0.0, least)
            beta = min(nesterovs, math.sqrt(self.share * c_prev / (on_first.c + low)))
            return MajorizedStep(on_first, low, beta, c_prev), X + beta * (X - Y_prev[name]) if beta else X

        def with_U(V: Array) -> Blocks:
            return Y.map(lambda name, _: U if name == first else V)

        def update(name: str, rows: slice, gradient: Array) -> Array:
            g = gradient if xi2 is None else gradient - xi2[first][rows]
            U[rows], xi[first][rows] = on_U.on_first.take(U_bar[rows], g)
            return U[rows]

        on_U, U_bar = planned(first, Y, F.gram(Y, first))
        at = Y if U_bar is Y[first] else Y.map(lambda name, X: U_bar if name == first else X)
        if F.gram(Y, second) is None:  # U⁺ decides β for V, so the gradient at V̄ takes an evaluation of its own
            seen = problem.oracle.evaluate(Y, at=at)
            update(first, slice(0, len(U)), seen.gradient[first])
            on_V, V_bar = planned(second, with_U(Y[second]), None)
            gradient = problem.oracle.evaluate(Y, at=with_U(V_bar)).gradient[second]
        else:
            sweep = problem.oracle.sweep(Y, at, update, row_wise=Trait.ROW_WISE in on_U.on_first.H.traits)
            half, seen = with_U(Y[second]), sweep.evaluation
            gram = F.gram(half, second)
            on_V, V_bar = planned(second, half, gram)
            gradient = sweep.gradient if gram is None else sweep.gradient + gram @ (V_bar - Y[second])
        V, xi[second][...] = on_V.on_first.take(V_bar, gradient if xi2 is None else gradient - xi2[second])

        gaps = (on_U.c * np.linalg.norm(U_bar - U), on_V.c * np.linalg.norm(V_bar - V))
        least = least or FLOOR * max(on_U.c, on_V.c)
        return BmmeUpdate(
            split, seen, with_U(V), Y.like(flat), math.hypot(*gaps), (on_U, on_V), self.share, theta, least
        )

    def subgradient(self, problem: ResolvedProblem, state: State[Updates]) -> Subgradient | None:
        made = state.inner[0]
        if made is None:
            return None
        Y, xi, pairs = made.Y, made.xi, zip(made.steps, made.Y.names, strict=True)
        terms = xi.norm() + 2.0 * math.hypot(*(step.c * float(np.linalg.norm(Y[name])) for step, name in pairs))
        if not made.split.convex:
            xi2 = made.split.slope(Y)
            xi, terms = xi - xi2, terms + xi2.norm()
        return subgradient(problem, Y, xi, 1.0 / max(step.c for step in made.steps), terms)

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + ½Σc|Y^k − Y^{k−1}|², a c for each block" if self.share else "Φ(Y^k)"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return ASSUMPTIONS
