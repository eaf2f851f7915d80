"""What PALM-type methods share: W exactly, then a proximal gradient step on each block."""

import math
from abc import abstractmethod
from collections.abc import Callable
from operator import attrgetter
from typing import final

import numpy as np
from attrs import frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
    Evaluation,
    Method,
    Regularizer,
    ResolvedProblem,
    SmoothPart,
    State,
    Subgradient,
    Trait,
    assumptions_met,
)
from bregopt.errors import IncompatibleError, OverflowedError

FLOOR = 1e-20
"""The smallest c as a share of those of the first update: where a block goes to zero, L of the other goes there too."""
ANY = 1e-300
"""A c where nothing asks for one: the other block is zero, L is zero too, and a step of any length will do."""
SHARE = 0.5
"""Share of the longest step of a proximal map that is taken at most."""


Updates = tuple["PalmUpdate | None", "PalmUpdate"]
"""The update that made Y^k, and the one that leaves it."""
Modulus = Callable[[Regularizer, float], float]
"""``(H, L) -> c``."""
Ahead = Callable[[str, slice, Array], Array]
"""``(block, rows, X⁺ on these rows) -> what the steps on later blocks see of them``."""


class PalmMethod(Method[Updates]):
    """W, then the blocks in their order, for k = 1, 2, … with Δ = Y − Y_prev, which is zero at first; with two blocks::

        W  = argmin_W  F(U, V, W) + G(W)
        U⁺ = prox_{H₁/c}(U + α_k Δ_U − ∇_U F(U + β_k Δ_U, V, W)/c)
        V⁺ = prox_{H₂/d}(V + α_k Δ_V − ∇_V F(U⁺, V + β_k Δ_V, W)/d)

    Each of any number of blocks sees the new ones before it and the old ones after it. State k holds Y^k with the
    update that leaves it, so the one sweep of an iteration also evaluates Φ(Y^k, W(Y^k)). The step of a state is the
    shortest one of 1/c, 1/d, ….
    """

    uses_kernel = False

    @property
    @abstractmethod
    def moves(self) -> bool:
        """Whether there is inertia."""

    @abstractmethod
    def inertia(self, k: int) -> tuple[float, float]:
        """α_k and β_k."""

    @abstractmethod
    def modulus(self, H: Regularizer, L: float) -> float:
        """c for a block with this H and an L-Lipschitz gradient; an H that the rule has no c for is refused."""

    @final
    def check(self, problem: ResolvedProblem) -> None:
        check_constants(problem)
        for H in problem.regularizer.distinct():
            self.modulus(H, 1.0)

    @final
    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Updates]:
        following = self._update(problem, Y, Y, 1, None)
        return State.at(following.evaluation, problem.regularizer.value(Y), inner=(None, following))

    @final
    def advance(self, problem: ResolvedProblem, state: State[Updates]) -> State[Updates]:
        made = state.inner[1]
        k, Y = state.iteration + 1, made.Y
        following = self._update(problem, Y, state.Y, k + 1, made)
        return State.at(
            following.evaluation,
            problem.regularizer.value(Y),
            iteration=k,
            lag=_lag(made, state.Y) if self.moves else 0.0,
            step=1.0 / max(step.c for step in made.steps),
            beta=made.steps[0].beta,
            stationarity=made.residual,
            assumptions=assumptions_met(self.assumptions, made),
            inner=(made, following),
        )

    def _update(
        self, problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, k: int, last: "PalmUpdate | None"
    ) -> "PalmUpdate":
        """The update that leaves Y, with α_k and β_k."""
        alpha, beta = self.inertia(k)
        centre = beyond(Y, Y_prev, alpha)
        at = centre if alpha == beta else beyond(Y, Y_prev, beta)
        return palm_update(problem, Y, centre, at, (alpha, beta), self.modulus, last)

    @final
    def subgradient(self, problem: ResolvedProblem, state: State[Updates]) -> Subgradient | None:
        made = state.inner[0]
        return None if made is None else made.subgradient(problem)

    @property
    def lyapunov(self) -> str:
        return "Φ(Y^k) + ½Σδ|Y^k − Y^{k−1}|², a δ for each block" if self.moves else "Φ(Y^k)"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (STEP, EXTRAPOLATION) if self.moves else (STEP,)


class WithoutInertia(PalmMethod):
    """α = β = 0, and so Δ has no part in it."""

    moves = False

    @final
    def inertia(self, k: int) -> tuple[float, float]:
        return 0.0, 0.0


def _lag(made: "PalmUpdate", Y_prev: Blocks) -> float:
    """``½Σδ‖Y − Y_prev‖²``."""
    pairs = zip(Y_prev.names, made.weights, strict=True)
    return 0.5 * sum(delta * float(np.linalg.norm(made.Y[name] - Y_prev[name])) ** 2 for name, delta in pairs)


@final
@frozen
class BlockStep:
    """``X⁺ = prox_{H/c}(X + αΔ − ∇F(X + βΔ)/c)`` with Δ = X − X_prev and an L-Lipschitz ∇F.

    For D = X⁺ − X it gives ``Φ(X⁺) ≤ Φ(X) − ½A‖D‖² + κ‖D‖‖Δ‖``, A the ``margin`` and κ the ``drag``.
    """

    H: Regularizer
    L: float
    c: float
    alpha: float
    beta: float

    @classmethod
    def of(cls, H: Regularizer, L: float, wanted: float, alpha: float, beta: float, least: float) -> "BlockStep":
        """The step with c as wanted, or larger where the proximal map asks for it, and at least the ``least``."""
        return cls(H, L, max(wanted, least, ANY, 1.0 / (SHARE * H.step_limit)), alpha, beta)

    def take(self, centre: Array, gradient: Array) -> tuple[Array, Array]:
        """X⁺ and the ξ ∈ ∂H(X⁺) that comes with it, from X + αΔ and the gradient; some rows of them, or all."""
        P = gradient * (-1.0 / self.c)
        P += centre
        if not math.isfinite(np.vdot(P, P)):
            raise OverflowedError("A block left the range of finite numbers: lower the inertia or shorten the step.")
        X = self.H.prox(P, 1.0 / self.c)
        P -= X
        P *= self.c
        return X, P

    @property
    def margin(self) -> float:
        """``A = c − L + max(0, c − ρ)``, ρ the modulus of weak convexity of H where there is one."""
        rho = self.H.weak_convexity
        return self.c - self.L + (0.0 if rho is None else max(0.0, self.c - rho))

    @property
    def drag(self) -> float:
        """``κ = αc + βL``."""
        return self.alpha * self.c + self.beta * self.L

    def leaves(self, delta: float) -> float:
        """``δ⁺ = A − κ²/δ``: if it is not negative, ``Φ(X⁺) + ½δ⁺‖D‖² ≤ Φ(X) + ½δ‖Δ‖²``.

        With the same L and c at every step that can go on for ever if 2κ ≤ A, which is the rule of iPALM for c.
        """
        if self.drag == 0:
            return self.margin
        return self.margin - self.drag * (self.drag / delta) if delta > 0 else -math.inf

    @property
    def fresh(self) -> float:
        """δ after a step that leaves none: that of iPALM, ``A − κ``, or none again."""
        return max(self.margin - self.drag, 0.0)


@final
@frozen(eq=False)
class PalmUpdate:
    """The update of all blocks from the Y of the evaluation: the new Y, and the ξ ∈ ∂H(Y) of its steps."""

    evaluation: Evaluation
    Y: Blocks
    xi: Blocks
    residual: float
    """|(c(U + αΔ − U⁺), d(V + αΔ − V⁺), …)|, the norm of ξ plus the gradients that the steps took"""
    steps: tuple[BlockStep, ...]
    left: tuple[float, ...]
    """what the steps leave of the weights δ of the Lyapunov function, block by block"""
    least: float
    """the smallest c of the next updates"""

    @property
    def weights(self) -> tuple[float, ...]:
        """δ at Y, for the next update."""
        return tuple(d if d > 0 else step.fresh for d, step in zip(self.left, self.steps, strict=True))

    def subgradient(self, problem: ResolvedProblem) -> Subgradient:
        """A = ∇F(Y, W(Y)) + ξ, with ξ ∈ ∂H(Y) from the steps that made Y; it costs an evaluation."""
        pairs = zip(self.steps, self.Y.names, strict=True)
        scaled = (step.c * float(np.linalg.norm(self.Y[name])) for step, name in pairs)
        terms = self.xi.norm() + 2.0 * math.hypot(*scaled)
        return Subgradient.at(problem.oracle.evaluate(self.Y, at=self.Y), self.xi, terms)

    @property
    def falls(self) -> bool:
        """Whether Φ must fall, without inertia."""
        return all(step.margin >= 0 for step in self.steps)

    @property
    def falls_with_inertia(self) -> bool:
        """Whether Φ + ½Σδ‖Δ‖² must fall."""
        return min(self.left) >= 0


STEP = Assumption("step", "c ≥ L in every block; where H is ρ-weakly convex 2c ≥ L + ρ will do", attrgetter("falls"))
EXTRAPOLATION = Assumption(
    "extrapolation",
    "c allows for the inertia and for the growth of L: A − κ²/δ ≥ 0 in every block",
    attrgetter("falls_with_inertia"),
)


def palm_update(
    problem: ResolvedProblem,
    Y: Blocks,
    centre: Blocks,
    at: Blocks,
    inertia: tuple[float, float],
    modulus: Modulus,
    last: PalmUpdate | None,
    ahead: Ahead | None = None,
) -> PalmUpdate:
    """W = W(Y), then a step on each block from the ``centre`` with the gradient at ``at``, after the last update.

    The gradient for a block is that at the new blocks before it, the block of ``at``, and the blocks of Y after it;
    instead of a new block X⁺ it may see another one, which ``ahead`` makes of X⁺. ``inertia`` = (α, β) is what the
    steps know of how far ``centre`` and ``at`` lie from Y.
    """
    weights, least = ((math.inf,) * len(Y), 0.0) if last is None else (last.weights, last.least)
    flat, slopes = Y.flat.copy(), np.empty_like(Y.flat)
    new, xi = Y.layout.views(flat), Y.layout.views(slopes)
    reached = flat if ahead is None else Y.flat.copy()
    seen = Y.layout.views(reached)

    def step(here: Blocks, name: str) -> BlockStep:
        H, L = problem.regularizer[name], lipschitz(problem, here, name)
        return BlockStep.of(H, L, modulus(H, L), *inertia, least)

    steps = {Y.names[0]: step(Y, Y.names[0])}

    def update(name: str, rows: slice, gradient: Array) -> Array:
        if name not in steps:  # the blocks before it are done
            steps[name] = step(Y.like(reached.copy()), name)
        new[name][rows], xi[name][rows] = steps[name].take(centre[name][rows], gradient)
        if ahead is not None:
            seen[name][rows] = ahead(name, rows, new[name][rows])
        return seen[name][rows]

    sweep = problem.oracle.sweep(Y, at, update, row_wise=Trait.ROW_WISE in problem.regularizer[Y.names[0]].traits)
    update(Y.names[-1], slice(None), sweep.gradient)

    gaps = [steps[name].c * np.linalg.norm(centre[name] - new[name]) for name in Y.names]
    left = tuple(steps[name].leaves(delta) for name, delta in zip(Y.names, weights, strict=True))
    least = least or FLOOR * max(step.c for step in steps.values())
    taken = tuple(steps[name] for name in Y.names)
    return PalmUpdate(sweep.evaluation, Y.like(flat), Y.like(slopes), math.hypot(*gaps), taken, left, least)


def check_constants(problem: ResolvedProblem) -> None:
    """Refuse an F that knows no Lipschitz constants."""
    F = type(problem.smooth)
    if F.gram is SmoothPart.gram and F.block_lipschitz is SmoothPart.block_lipschitz:
        raise IncompatibleError(
            f"A PALM-type method needs Lipschitz constants of ∇F, and {F.__name__} knows none: "
            "implement its method gram or block_lipschitz, or use the method aapb, which needs none."
        )


def lipschitz(problem: ResolvedProblem, Y: Blocks, name: str) -> float:
    """The Lipschitz constant of ∇F in a block, or an error that says who should know it."""
    L = problem.smooth.block_lipschitz(Y, name)
    if L is None:
        raise IncompatibleError(
            f"A PALM-type method needs the Lipschitz constant of ∇F in block '{name}', and "
            f"{type(problem.smooth).__name__} does not know it: implement its method gram or block_lipschitz, "
            "or use the method aapb, which needs none."
        )
    return L


def beyond(Y: Blocks, Y_prev: Blocks, weight: float) -> Blocks:
    """``Y + weight·(Y − Y_prev)``."""
    return Y if weight == 0 or Y is Y_prev else Y.plus(weight, Y - Y_prev)
