"""MU: the multiplicative updates of Lee and Seung."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
    Evaluation,
    Method,
    ResolvedProblem,
    ScalarPenalty,
    SmoothRegularizer,
    State,
    Subgradient,
)
from bregopt.errors import IncompatibleError
from bregopt_methods.blockwise.block_update import DIGITS, check_blocks, check_two_blocks, gram
from bregopt_methods.nmf.nonnegative import (
    DESCENT,
    PlannedUpdate,
    check_penalties,
    least_subgradient,
    next_state,
    penalties,
)

NAME = "mu"
NEGLIGIBLE, SETTLED = 2.0**-52, 1e3
"""An entry below that share of the largest of its block is set to zero, once its slope is that many residuals."""


@final
@frozen
class MU(Method[PlannedUpdate]):
    """Multiplicative updates for non-negative factors, with weights l1 and η of H on each of them.

    With W = W(Y^k), which is M in plain NMF::

        U ← U ∘ (WVᵀ)₊ / (UVVᵀ + ηU + l1)
        V ← V ∘ (UᵀW)₊ / (UᵀUV + ηV + l1)       with the new U

    where 0/0 leaves an entry as it is. An entry that is zero stays zero for ever, so start with positive ones.
    ``nndsvd`` has zeros, ``nndsvd(fill=mean)`` none. Factors alone never lead to zero, where a stationary point has
    many entries. So an entry below 2⁻⁵² of the largest of its block is set to zero once its slope is 1000 times the
    residual. Before that it might grow again.

    Each line minimises a majoriser of F(·, W) + H, with the diagonal Hessian (UVVᵀ + ηU + l1)/U, and a new W lowers
    F(·, W) + H once more. So Φ does not rise, which is a theorem; its assumption is tested. That holds for missing
    entries, weights and every loss with a closed-form W. But where WVᵀ is negative the update would set an entry to
    zero for ever, whether or not that is right: a problem that begins so is refused. State k holds Y^k with the update
    that leaves it, so its objective is exact. Three products an iteration. The step of a state is 1, in the metric of
    the majoriser.
    """

    uses_kernel = False

    def check(self, problem: ResolvedProblem) -> None:
        check_penalties(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[PlannedUpdate]:
        check_two_blocks(Y, NAME)
        check_blocks(problem, Y, NAME)
        made = multiplicative(problem, Y, math.inf, NAME)
        check_signs(problem, made, NAME)
        return State.at(made.seen, problem.regularizer.value(Y), inner=made.plan)

    def advance(self, problem: ResolvedProblem, state: State[PlannedUpdate]) -> State[PlannedUpdate]:
        made = multiplicative(problem, state.inner.Y, state.inner.residual, NAME)
        return next_state(self, problem, state, state.inner, made.seen, made.plan)

    def subgradient(self, problem: ResolvedProblem, state: State[PlannedUpdate]) -> Subgradient:
        return least_subgradient(problem, state.Y, NAME)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (DESCENT,)


@final
@frozen(eq=False)
class GraphTerm:
    """``S(U) = (μ/2) Tr(UᵀLU)`` with L = D − A, where A ≥ 0 has a zero diagonal."""

    S: SmoothRegularizer
    degrees: Array
    """the diagonal of μL, one number a row"""


@final
@frozen(eq=False)
class Multiplied:
    """A multiplicative update of both blocks, and what was seen where it begins."""

    seen: Evaluation
    plan: PlannedUpdate
    lowest: float
    """the least factor that an entry would have been multiplied with, before it was clipped at zero"""


@final
@frozen(eq=False)
class _Lines:
    """What the update of some lines of a block made, and what it adds to the sums of the block."""

    X: Array
    change: float
    """``⟨∇F, E⟩ + ½⟨EG, E⟩``"""
    residual: float
    """|c(X − prox_{H/c}(X − ∇F/c))|², c = tr(G): small also where entries are next to zero that should be zero"""
    lowest: float


def multiplicative(
    problem: ResolvedProblem, Y: Blocks, residual: float, method: str, graph: GraphTerm | None = None
) -> Multiplied:
    """U, then V, from Y with W = W(Y), after an update with this residual.

    A graph is left out of the problem's F, though not of what its oracle sees.
    """
    first, second = Y.names
    h, (U, V) = penalties(problem, Y.names, method), (Y[first], Y[second])
    ends = {name: (NEGLIGIBLE * float(np.max(Y[name], initial=0.0)), SETTLED * residual) for name in Y.names}
    G, parts = gram(problem, Y, first), dict[int, _Lines]()

    def update(name: str, rows: slice, gradient: Array) -> Array:
        degrees = 0.0 if graph is None else graph.degrees[rows, None]
        parts[rows.start] = made = multiplied(U[rows], gradient, G, h[first], ends[first], degrees)
        return made.X

    sweep = problem.oracle.sweep(Y, Y, update, row_wise=True)
    half = sweep.Y
    G_V = gram(problem, half, second)
    last = multiplied(V.T, sweep.gradient.T, G_V, h[second], ends[second])
    new = half.replaced(**{second: last.X.T})

    lines, seen = [*(parts[start] for start in sorted(parts)), last], sweep.evaluation
    before, after = (problem.regularizer.value(it) for it in (Y, new))
    bent = 0.0 if graph is None else graph.S.value(half[first] - U)
    changes = [bent, *(it.change for it in lines)]
    size = math.sqrt(abs(float(np.vdot(G, G_V))))
    scale = seen.scale + sum(map(abs, changes)) + before + after + DIGITS * size * math.sqrt(2.0 * abs(seen.value))
    plan = PlannedUpdate(
        Y=new,
        rise=sum(changes) + (after - before),
        rounding=seen.rounding * scale,
        residual=math.sqrt(sum(it.residual for it in lines)),
        step=1.0,
    )
    return Multiplied(seen, plan, min(it.lowest for it in lines))


def multiplied(
    X: Array, gradient: Array, G: Array, h: ScalarPenalty, ends: tuple[float, float], degrees: Array | float = 0.0
) -> _Lines:
    """``X ∘ (XG + DX − ∇F)₊ / (XG + DX + ηX + l1)`` for some lines; XG + DX − ∇F is cWVᵀ + AX, and D, A carry μ.

    Where that is below the first of ``ends``, and the slope above the second, it is zero.
    """
    old = np.maximum(X, 0.0)
    steep = old @ G + degrees * old
    numerator, denominator = steep - gradient, steep + h.ridge * old + h.l1
    live = (old > 0) & (denominator > 0)
    factor = np.divide(numerator, denominator, out=np.ones_like(old), where=live)
    new = old * np.maximum(factor, 0.0)
    small, settled = ends
    new[(new < small) & (denominator - numerator > settled)] = 0.0
    E, c = new - X, float(np.trace(G)) or 1.0
    residual = c * (old - h.prox(old - gradient / c, 1.0 / c))
    change = float(np.vdot(gradient, E) + 0.5 * np.vdot(E @ G, E))
    return _Lines(new, change, float(np.vdot(residual, residual)), float(np.min(factor, initial=1.0)))


def check_signs(problem: ResolvedProblem, made: Multiplied, method: str) -> None:
    """Refuse a problem whose first update would multiply with a negative number."""
    if made.lowest < -math.sqrt(made.seen.rounding):
        raise IncompatibleError(
            f"The method {method} multiplies U with WVᵀ/(UVVᵀ), which must not be negative, and in the {problem.name} "
            f"it is at this start: a factor is {made.lowest:.3g}. Such an entry would be set to zero and stay there. "
            "The data have to be non-negative, as in nmf; hals, ecd and aapb take data of either sign."
        )
