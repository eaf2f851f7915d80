"""Extrapolated least squares."""

from functools import partial
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, ResolvedProblem, tikhonov, validate
from bregopt.errors import IncompatibleError
from bregopt_methods.blockwise.block_update import BlockModel, Solver, Step
from bregopt_methods.blockwise.extrapolated import ExtrapolatedBlocks

LEAST = 1e-12
"""The least damping: it keeps a singular G harmless."""


@final
@frozen
class ELS(ExtrapolatedBlocks):
    """Extrapolated least squares, for H = 0 or Tikhonov: W at Nesterov's point, then U and V by least squares.

    With y = Y^k + β_k(Y^k − Y^{k−1}), β_k = (θ_{k−1} − 1)/θ_k, and W = W(y)::

        U^{k+1} = argmin_U  F((U, V_y), W) + H(U) + (τ/2)‖U − U_y‖²,         τ = damping·tr(V_y V_yᵀ)/r
        V^{k+1} = argmin_V  F((U^{k+1}, V), W) + H(V) + (τ'/2)‖V − V_y‖²,    τ' alike

    The objective of a state is the bound F(Y^k, W) + H(Y^k) of Φ(Y^k), its metrics are those at y: both cost nothing.
    Where the bound would rise, θ starts anew and the step is made from Y^k. Three products an iteration, six where
    the step is made twice. A little damping tames the directions that a rank above the one of the data leaves open.
    With ``balance`` each iteration ends with the factors of the same product UV that have the least H.
    """

    damping: float = field(default=1e-3, validator=validate.number(at_least=0))
    balance: bool = field(default=True, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        check_tikhonov(problem, "els")

    @property
    def name(self) -> str:
        return "els"

    @property
    def solver(self) -> Solver:
        return partial(least_squares, damping=self.damping)

    def row_wise(self, problem: ResolvedProblem, name: str) -> bool:
        return True


def check_tikhonov(problem: ResolvedProblem, method: str) -> None:
    """Refuse an H that no linear system minimises."""
    for H in problem.regularizer.distinct():
        if tikhonov(H) is None:
            raise IncompatibleError(
                f"The method {method} solves a least-squares problem for each block: it can take H = 0 or Tikhonov "
                f"(ridge). Got {H!r} instead; ecd takes every separable H, aapb every H with a Bregman proximal map."
            )


def least_squares(model: BlockModel, damping: float) -> Step:
    """``X⁺ = X − (∇F + ηX)(G + ηI + τI)⁻¹`` with τ = damping·tr(G)/r.

    With τ → 0 it minimises the model; with τ the model plus ``(τ/2)‖X⁺ − X‖²``, which has the same fixed points.
    """
    eta, trace = tikhonov(model.H) or 0.0, float(np.trace(model.G))
    values, Q = np.linalg.eigh(model.G)
    weights = np.maximum(values, 0.0) + (eta + max(damping, LEAST) * trace / len(values))
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        new: Array = X - (((gradient + eta * X) @ Q) * inverse) @ Q.T
        return new, eta * new

    return step
