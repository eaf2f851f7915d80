"""Coordinate descent on a support that is opened and closed again, for H that limits the number of non-zeros."""

import math
from functools import partial
from itertools import repeat
from typing import final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import (
    Array,
    Blocks,
    Method,
    Regularizer,
    ResolvedProblem,
    State,
    Subgradient,
    Trait,
    nesterov,
    validate,
)
from bregopt.errors import IncompatibleError
from bregopt_methods.blockwise.block_update import BlockModel, Step, block_update, check_blocks, gram
from bregopt_methods.blockwise.ecd import coordinates, curvatures, sweep
from bregopt_methods.blockwise.extrapolated import subgradient

SWEEPS = 2
"""Over the coordinates of the support, after one over all of them."""
REST = 8
"""Iterations without room before the next round: fewer than those over which a run counts as standing still."""
BETTER = 1e-3
"""The share of Φ by which a round has to lower it: some it falls without."""


def closing(room: float, iterations: int) -> tuple[float, ...]:
    """From that room to none: most of it goes first."""
    return tuple(room * (1.0 - k / iterations) ** 3 for k in range(1, iterations + 1))


@final
@frozen(eq=False)
class Searched:
    """What an iteration leaves to the next."""

    Y: Blocks
    """where it goes on: with more non-zeros than H allows, while there is room"""
    Y_prev: Blocks
    theta: float
    """of Nesterov's sequence"""
    bound: float
    """of Φ(Y); infinite while there is room"""
    best: Blocks
    """the best point so far that H allows"""
    least: float
    """Φ there, or a bound of it"""
    goal: float
    """below which the round that goes on found something better"""
    vain: int
    """rounds in a row that found nothing better"""
    xi: Blocks | None
    """an element of ∂H(Y), where H allows Y"""


@final
@frozen
class SupportSearch(Method[Searched]):
    """Looks for the places of non-zeros, for H that limits their number, such as l0-ball.

    With y = Y^k + β_k(Y^k − Y^{k−1}), W = W(y) and c the diagonal of VVᵀ an iteration makes, for U and then for V::

        Z ← one sweep of coordinate descent over all entries, from U_y
        S ← the allowed places with the largest Σ c_p z_ip²: what the model loses without them
        U^{k+1} ← two sweeps over the entries in S, from Z on S and 0 elsewhere

    Where every step keeps to s non-zeros, the first s places stay for long. So more are allowed at first: all of them
    for three iterations, and fewer with each of the next six. Then s of them are kept for eight. From there on the
    search goes in rounds from the best point so far: ``room``, a share of the places that H does not allow, is opened
    and closed again over ten iterations, and eight follow without. After ``patience`` rounds in a row that lowered
    Φ by less than a thousandth the places stay as they are. A state is the best part of Y^k that H allows. Φ rises
    where places are opened, and a run returns the least Φ that it has seen. An iteration takes four products, and one
    more while there is room; a product less where H on U goes row by row.
    """

    room: float = field(default=0.3, validator=validate.number(at_least=0, at_most=1))
    patience: int = field(default=3, validator=validate.whole(at_least=0))
    uses_kernel = False

    @property
    def first(self) -> tuple[float, ...]:
        """The room of each iteration before the rounds."""
        return (1.0, 1.0, 1.0, *closing(1.0, 6), *repeat(0.0, REST))

    @property
    def round(self) -> tuple[float, ...]:
        """The room of each iteration of a round."""
        return (*closing(self.room, 10), *repeat(0.0, REST))

    def check(self, problem: ResolvedProblem) -> None:
        limits = [H.sparsity() for H in problem.regularizer.distinct()]
        if all(limit is None for limit in limits):
            raise IncompatibleError(
                "The method support-search looks for the places of non-zeros, and H limits their number on no block, "
                "as l0-ball and l0-nonneg do: ecd takes every separable H, aapb every H with a Bregman proximal map."
            )
        for H in problem.regularizer.distinct():
            if _entries(H).scalar() is None:
                raise IncompatibleError(
                    "Beside a limit on the number of non-zeros, the method support-search takes none, l1, ridge and "
                    f"bounds on the entries. Got {H!r} instead; aapb takes every H with a Bregman proximal map."
                )

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Searched]:
        check_blocks(problem, Y, "support-search")
        there, H = problem.oracle.evaluate(Y), problem.regularizer.value(Y)
        objective = there.value + H
        return State.at(there, H, inner=Searched(Y, Y, 1.0, objective, Y, objective, objective, 0, None))

    def advance(self, problem: ResolvedProblem, state: State[Searched]) -> State[Searched]:
        past, k = state.inner, state.iteration
        room, begins = self._room(k)
        if begins and past.vain < self.patience:
            past = self._from_the_best(past)
        over = k >= len(self.first) and past.vain == self.patience
        if over:
            room = 0.0
        beta, theta = nesterov(past.theta)
        y = past.Y if beta == 0 else past.Y.plus(beta, past.Y - past.Y_prev)
        row_wise = Trait.ROW_WISE in problem.regularizer[y.names[0]].traits
        made = block_update(problem, y, partial(_on_support, room=room, held=over), row_wise=row_wise)
        bound = math.inf if room > 0 else made.bound
        if room == 0 and bound > past.bound:
            theta = 1.0
        if room == 0:
            Y, evaluation, objective, scale = made.Y, made.evaluation, made.bound, made.scale
        else:
            Y = _closed(problem, made.Y)
            evaluation, H = problem.oracle.evaluate(Y), problem.regularizer.value(Y)
            objective, scale = evaluation.value + H, evaluation.scale + abs(H)
        better = objective < past.least
        best, least = (Y, objective) if better else (past.best, past.least)
        xi = made.xi if room == 0 else None
        return State(
            iteration=k + 1,
            Y=Y,
            objective=objective,
            metrics=evaluation.metrics,
            lyapunov=objective,
            scale=scale,
            rounding=evaluation.rounding,
            beta=beta,
            stationarity=made.residual,
            exact=room > 0,
            inner=Searched(made.Y, past.Y, theta, bound, best, least, past.goal, past.vain, xi),
        )

    def _from_the_best(self, past: Searched) -> Searched:
        """Where the next round begins."""
        vain = past.vain + 1 if past.least > past.goal else 0
        goal = past.least - BETTER * abs(past.least)
        return evolve(past, Y=past.best, Y_prev=past.best, theta=1.0, goal=goal, vain=vain)

    def _room(self, k: int) -> tuple[float, bool]:
        """The room of the iteration after state k, and whether a round begins there."""
        first, later = self.first, self.round
        place = (k - len(first)) % len(later)
        return (first[k], False) if k < len(first) else (later[place], place == 0)

    def subgradient(self, problem: ResolvedProblem, state: State[Searched]) -> Subgradient | None:
        return subgradient(problem, state.Y, state.inner.xi)


def _entries(H: Regularizer) -> Regularizer:
    """H on the values of non-zeros, wherever these are."""
    limit = H.sparsity()
    return H if limit is None else limit.entries


def _gains(c: Array, X: Array, columns: bool) -> Array:
    """``c_p x²`` of each entry, twice what the model loses without it."""
    return (c[:, None] if columns else c) * np.square(X)


def _on_support(model: BlockModel, room: float, held: bool) -> Step:
    """A sweep over all coordinates, and more over those of the best places that are allowed; ``held``, over these only.

    The places are then those of the point itself; where it has fewer non-zeros, the first others.
    """
    limit, h = model.H.sparsity(), _entries(model.H).scalar()
    if h is None:
        raise RuntimeError("The check of support-search let a penalty pass that has no scalar form.")
    if limit is None or room == 1:
        return coordinates(evolve(model, H=_entries(model.H)), 1 + SWEEPS)
    G, c, allowed = model.G, curvatures(model), limit.allowed

    def step(X: Array, gradient: Array) -> tuple[Array, Array]:
        old, before = np.array(X.T, order="C"), np.ascontiguousarray(gradient.T)
        Z = old
        if not held:
            Z, _ = sweep(old.copy(), before, G, c, 1, lambda p, z: h.prox(z, 1.0 / c[p]))
        gains = _gains(c, Z, columns=True)
        places = allowed(gains, room) if model.columns else allowed(gains.T, room).T
        Z = np.where(places, Z, 0.0)
        new, xi = sweep(
            Z, before + G @ (Z - old), G, c, SWEEPS, lambda p, z: np.where(places[p], h.prox(z, 1.0 / c[p]), 0.0)
        )
        return new.T, xi.T

    return step


def _closed(problem: ResolvedProblem, Y: Blocks) -> Blocks:
    """Y on the best places that are allowed, one block after the other."""
    for name in Y.names:
        limit, columns = problem.regularizer[name].sparsity(), problem.smooth.by_columns(Y, name)
        if limit is not None:
            flat = Y.flat.copy()
            places = limit.allowed(_gains(np.diag(gram(problem, Y, name)), Y[name], columns), 0.0)
            Y.layout.views(flat)[name][...] *= places
            Y = Y.like(flat)
    return Y
