"""Naive-NMD: W and the best matrix of rank r for it, in turn."""

from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Method, ResolvedProblem, State, Subgradient, validate
from bregopt_methods.nmd.a_nmd import bases, root_size
from bregopt_methods.nmd.unregularized import check_factors, check_unregularized, curvature, unregularized_subgradient

NAME = "naive-nmd"


@final
@frozen
class NaiveNMD(Method[None]):
    """Naive-NMD, without H: ``W = W(T)``, ``T⁺ = TSVD_r(W)``, each the exact minimiser of ½‖W − T‖².

    W is known by its products only. From bases (P, Q) of T, and of what WQᵀ and PᵀW add to them, a step finds the best
    matrix of rank r with its columns in the one, or with its rows in the other. T is among these, so no step raises
    ½‖W − T‖², and as W(T⁺) lowers it further, none raises Φ. ``steps`` of them in a row lead to the exact SVD, from
    which a few differ little, as T is close to the last one. Six products a step, and one for the value.
    """

    uses_kernel = False
    steps: int = field(default=1, validator=validate.whole(at_least=1))

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, NAME)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[None]:
        check_factors(problem, Y, NAME)
        return State.at(problem.oracle.evaluate(Y), 0.0)

    def advance(self, problem: ResolvedProblem, state: State[None]) -> State[None]:
        T = state.Y
        for _ in range(self.steps):
            T = improved(problem, state.Y, T)
        seen, k = problem.oracle.evaluate(T), state.iteration + 1
        if not seen.value <= state.objective:
            return evolve(state, iteration=k)
        return State.at(seen, 0.0, iteration=k)

    def subgradient(self, problem: ResolvedProblem, state: State[None]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)

    @property
    def safeguard(self) -> str:
        return "W and T are minimised in turn, which rounding alone could make rise, and such a step is not taken"


def improved(problem: ResolvedProblem, Y: Blocks, T: Blocks) -> Blocks:
    """Balanced factors of a matrix of rank r that is no farther from W = W(Y) than T is.

    The gradient of (c/2)‖W − AB‖² at (A, B) is c(ABBᵀ − WBᵀ, AᵀAB − AᵀW). The size t of A and B makes AB as large as T:
    next to a larger one W would lose its digits.
    """
    first, second = T.names
    c, t, at = curvature(problem, Y), root_size(T), bases(T)

    def products(A: Array, B: Array) -> tuple[Array, Array]:
        """WBᵀ and AᵀW."""
        G = problem.oracle.evaluate(Y, at=Blocks(**{first: t * A, second: t * B})).gradient
        return t**2 * (A @ (B @ B.T)) - G[first] / (c * t), t**2 * ((A.T @ A) @ B) - G[second] / (c * t)

    P, Q = at[first], at[second]
    WQt, PtW = products(P, Q)
    P_more, Q_more = _added(P, WQt), _added(Q.T, PtW.T).T
    W_more, more_W = products(P_more, Q_more)
    left, right = np.hstack([P, P_more]), np.vstack([Q, Q_more])
    by_columns = np.linalg.svd(np.vstack([PtW, more_W]), full_matrices=False)
    by_rows = np.linalg.svd(np.hstack([WQt, W_more]), full_matrices=False)
    r = P.shape[1]
    A, s, B = max(by_columns, by_rows, key=lambda found: float(np.linalg.norm(found[1][:r])))
    root = np.sqrt(s[:r])
    U, V = A[:, :r] * root, root[:, None] * B[:r]
    return Blocks(**{first: left @ U, second: V} if A is by_columns[0] else {first: U, second: V @ right})


def _added(P: Array, X: Array) -> Array:
    """An orthonormal basis of the columns that X adds to those of P, filled up with zeros where there is no room."""
    r = P.shape[1]
    found = np.linalg.qr(np.hstack([P, X]))[0][:, r:]
    return np.pad(found, ((0, 0), (0, r - found.shape[1])))
