"""GNMF: the multiplicative updates of Cai, He, Han and Huang, for NMF with a graph on the rows."""

import math
from collections.abc import Mapping
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from attrs import evolve, frozen

from bregopt import (
    Assumption,
    Blocks,
    Method,
    ResolvedProblem,
    SmoothPart,
    SmoothRegularizer,
    State,
    Subgradient,
)
from bregopt.errors import IncompatibleError
from bregopt_methods.blockwise.block_update import check_blocks, check_two_blocks
from bregopt_methods.nmf.mu import GraphTerm, Multiplied, check_signs, multiplicative
from bregopt_methods.nmf.nonnegative import DESCENT, PlannedUpdate, check_penalties, least_subgradient, next_state

NAME = "gnmf"
TOLERANCE = 1e-10
"""Rounding allowed in the signs of L, relative to its largest entry."""


@runtime_checkable
class WithTerms(Protocol):
    """An F that is a loss and a smooth term on some of the blocks."""

    @property
    def loss(self) -> SmoothPart: ...

    @property
    def terms(self) -> Mapping[str, SmoothRegularizer]: ...


@runtime_checkable
class QuadraticForm(Protocol):
    """``(μ/2) Tr(XᵀLX)``."""

    @property
    def L(self) -> Any: ...

    @property
    def mu(self) -> float: ...


@final
@frozen
class GNMF(Method[PlannedUpdate]):
    """Multiplicative updates for graph-nmf, with weights l1 and η of H on the factors.

    The graph is on the rows of M, and so on U: L = D − A with affinities A ≥ 0. With W = W(Y^k), which is M in plain
    NMF::

        U ← U ∘ (WVᵀ + μAU)₊ / (UVVᵀ + μDU + ηU + l1)
        V ← V ∘ (UᵀW)₊ / (UᵀUV + ηV + l1)       with the new U

    where 0/0 leaves an entry as it is. It is ``mu`` where μ = 0, with what is said there of zeros and of signs. An L
    with a positive entry off the diagonal is refused: no A ≥ 0 belongs to it. The authors normalise the columns at the
    end; here they stay, since that would change Tr(UᵀLU).

    The update of U is a gradient step 1 in the metric P/U, where P is the denominator. The Hessian of F(·, W) + H is at
    most twice that: UVVᵀ/U bounds the one of the loss, and 2D − L = D + A is positive semidefinite, as D − A is. So Φ
    does not rise, which is a theorem; its assumption is tested. Three products an iteration.
    """

    uses_kernel = False

    def check(self, problem: ResolvedProblem) -> None:
        check_penalties(problem, NAME)
        check_affinities(form_of(problem)[1])

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[PlannedUpdate]:
        made = self._update(problem, Y, math.inf)
        check_signs(problem, made, NAME)
        return State.at(made.seen, problem.regularizer.value(Y), inner=made.plan)

    def advance(self, problem: ResolvedProblem, state: State[PlannedUpdate]) -> State[PlannedUpdate]:
        made = self._update(problem, state.inner.Y, state.inner.residual)
        return next_state(self, problem, state, state.inner, made.seen, made.plan)

    def _update(self, problem: ResolvedProblem, Y: Blocks, residual: float) -> Multiplied:
        F, term = form_of(problem)
        if tuple(F.terms) != Y.names[:1]:
            raise _no_graph(problem)
        rest = evolve(problem, smooth=F.loss)
        check_two_blocks(Y, NAME)
        check_blocks(rest, Y, NAME)
        graph = GraphTerm(F.terms[Y.names[0]], float(term.mu) * term.L.diagonal())
        return multiplicative(rest, Y, residual, NAME, graph)

    def subgradient(self, problem: ResolvedProblem, state: State[PlannedUpdate]) -> Subgradient:
        return least_subgradient(problem, state.Y, NAME)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (DESCENT,)


def form_of(problem: ResolvedProblem) -> tuple[WithTerms, QuadraticForm]:
    """F with its parts, and the graph in it."""
    F = problem.smooth
    if isinstance(F, WithTerms) and len(F.terms) == 1:
        (term,) = F.terms.values()
        if isinstance(term, QuadraticForm):
            return F, term
    raise _no_graph(problem)


def _no_graph(problem: ResolvedProblem) -> IncompatibleError:
    return IncompatibleError(
        f"The method gnmf needs a graph in F, (μ/2) Tr(UᵀLU) for the first block and nothing else, and the "
        f"{problem.name} has no such term: compose graph-nmf, or use mu, which takes no graph."
    )


def check_affinities(term: QuadraticForm) -> None:
    """Refuse an L that is not D − A with A ≥ 0."""
    L = term.L
    if isinstance(L, np.ndarray):
        off = L - np.diag(L.diagonal())
    else:
        from scipy.sparse import diags_array

        off = L - diags_array(L.diagonal())
    largest = float(off.max())
    if largest > TOLERANCE * float(abs(L).max()):
        raise IncompatibleError(
            f"The method gnmf needs L = D − A with affinities A >= 0, so no entry of L off its diagonal may be "
            f"positive. Got {largest:g} instead: use aapb or palm, which take every positive semidefinite L."
        )
