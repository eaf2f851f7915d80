"""BPALM: W exactly, then a Bregman proximal step on each block, with a kernel of its own."""

import math
from functools import cache
from operator import attrgetter
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
from attrs import field, frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
    BregmanProx,
    Evaluation,
    Kernel,
    Method,
    ResolvedProblem,
    Separable,
    SmoothPart,
    State,
    Subgradient,
    assumptions_met,
    make,
    nesterov,
    resolve_prox,
    validate,
)
from bregopt.errors import IncompatibleError, OverflowedError
from bregopt_methods.palm.iteration import ANY, check_constants, lipschitz


@final
@frozen(eq=False)
class BlockwiseUpdate:
    """The update of all blocks from the Y of the evaluation."""

    evaluation: Evaluation
    Y: Blocks
    xi: Blocks
    """ξ ∈ ∂H(Y)"""
    terms: float
    """the size of the vectors that ξ was made of"""
    residual: float
    """|(∇φ_i(X̄) − ∇φ_i(X⁺))/λ|, as far as it counts where a domain ends"""
    beta: float
    theta: float
    """of Nesterov's sequence, for the next update"""
    exact: bool
    """whether every proximal map is known to be a global minimiser"""
    bounded: bool
    """whether λ ≤ 1, and Φ cannot rise by the extrapolation"""


PROXES: WeakKeyDictionary[ResolvedProblem, dict[tuple[str, type], BregmanProx]] = WeakKeyDictionary()
"""The proximal maps of the runs at work, by block and kind of kernel: a checkpoint could not hold them."""
Updates = tuple[BlockwiseUpdate | None, BlockwiseUpdate]
"""The update that made Y^k, and the one that leaves it."""
ASSUMPTIONS = (
    Assumption(
        "step", "λ ≤ 1: the kernel of each block bounds F in it, as F says; β = 0, or guarded", attrgetter("bounded")
    ),
    Assumption("proximal map", "each is known to be a global minimiser", attrgetter("exact")),
)


@final
@frozen
class BPALM(Method[Updates]):
    """Bregman PALM: each block has a kernel φ of its own, which F brings, or (L/2)‖X‖² where it brings none.

    After Ahookhosh, Themelis and Patrinos, for the blocks in their order, W being W(Y^k)::

        X⁺ = argmin_X  H(X) + ⟨∇F(X̄), X⟩ + D_φ(X, X̄)/λ,     X̄ = X^k + β_k(X^k − X^{k−1})

    with the gradient where the blocks before it are new. F lies below its model with φ in each block, so Φ does not
    rise with λ ≤ 1 and β = 0. With ``inertia`` β is Nesterov's; where Φ has risen, the update is made again without it,
    and the sequence begins anew. An entry that goes fast to the end of the domain of φ is not extrapolated. With
    quadratic kernels and β = 0 it is PPALM; with the kernels of KL-NMF, Burg's with a weight for each entry, it is the
    multiplicative update of Lee and Seung.
    """

    uses_kernel = False
    step: float = field(default=1.0, validator=validate.number(above=0))
    """λ"""
    inertia: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        if type(problem.smooth).block_kernel is SmoothPart.block_kernel:
            check_constants(problem)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Updates]:
        following = self._update(problem, Y, Y, 1.0)
        return State.at(following.evaluation, problem.regularizer.value(Y), inner=(None, following))

    def advance(self, problem: ResolvedProblem, state: State[Updates]) -> State[Updates]:
        made, k = state.inner[1], state.iteration + 1
        following = self._update(problem, made.Y, state.Y, made.theta)
        if made.beta > 0 and self._rises(problem, state, following.evaluation):
            made = self._update(problem, state.Y, state.Y, 1.0)
            following = self._update(problem, made.Y, state.Y, made.theta)
        return State.at(
            following.evaluation,
            problem.regularizer.value(made.Y),
            iteration=k,
            step=self.step,
            beta=made.beta,
            stationarity=made.residual,
            assumptions=assumptions_met(ASSUMPTIONS, made),
            inner=(made, following),
        )

    def _rises(self, problem: ResolvedProblem, state: State[Updates], seen: Evaluation) -> bool:
        return not seen.value + problem.regularizer.value(seen.Y) <= state.objective

    def _update(self, problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, theta: float) -> BlockwiseUpdate:
        """From Y, with what Nesterov's sequence has for β."""
        beta, following = nesterov(theta) if self.inertia else (0.0, 1.0)
        ahead = Y if beta == 0 or Y is Y_prev else self._ahead(problem, Y, Y_prev, beta)
        flat, slopes = Y.flat.copy(), Y.flat.copy()
        new, xi = Y.layout.views(flat), Y.layout.views(slopes)
        gaps, sizes, exact = list[float](), list[float](), True

        def update(name: str, rows: slice, gradient: Array) -> Array:
            nonlocal exact
            here = Y.like(flat.copy()).replaced(**{name: ahead[name]})
            phi, G = block_kernel(problem, here, name, gradient), Blocks(**{name: gradient})
            X = Blocks(**{name: ahead[name]})
            slope = phi.gradient(X)
            P = G * self.step - slope
            if not math.isfinite(P.flat.sum()):
                raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
            prox = proximal_map(problem, name, phi)
            exact = exact and getattr(prox, "exact", True)
            X_new = prox(P, self.step, phi)
            there = phi.gradient(X_new)
            fall = (slope - there) * (1.0 / self.step)
            gaps.append(phi.stationary(X_new, fall, G).norm())
            sizes.extend((slope.norm() / self.step, there.norm() / self.step))
            new[name][...], xi[name][...] = X_new[name], fall[name] - gradient
            return new[name]

        sweep = problem.oracle.sweep(Y, ahead, update, row_wise=False)
        update(Y.names[-1], slice(None), sweep.gradient)
        return BlockwiseUpdate(
            evaluation=sweep.evaluation,
            Y=Y.like(flat),
            xi=Y.like(slopes),
            terms=math.hypot(*sizes),
            residual=math.hypot(*gaps),
            beta=0.0 if ahead is Y else beta,
            theta=following,
            exact=exact,
            bounded=self.step <= 1.0,
        )

    def _ahead(self, problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, beta: float) -> Blocks:
        """Ȳ, with the blocks where their kernels allow it."""
        kernel = problem.kernel.sample()
        D = kernel.onward(Y, Y - Y_prev)
        return Y.plus(min(beta, 0.5 * kernel.longest(Y, D)), D)

    def subgradient(self, problem: ResolvedProblem, state: State[Updates]) -> Subgradient | None:
        made = state.inner[0]
        if made is None:
            return None
        Y, seen = made.Y, problem.oracle.evaluate(made.Y, at=made.Y)
        found = Subgradient.at(seen, made.xi, made.terms)
        parts, counted = dict[str, Array](), 0.0
        for name in Y.names:
            phi = block_kernel(problem, Y, name, seen.gradient[name])
            X, A, G = (Blocks(**{name: it[name]}) for it in (Y, found.A, seen.gradient))
            parts[name] = phi.stationary(X, A, G)[name]
            counted += float(np.sum(np.square(phi.gradient(X)[name][parts[name] == A[name]])))
        terms = min(made.terms, 2.0 * math.sqrt(counted) / self.step + found.gradient_norm)
        return Subgradient(Y.replaced(**parts), found.gradient_norm, Subgradient.at(seen, made.xi, terms).rounding)

    @property
    def safeguard(self) -> str:
        return "an update that raised Φ is made again without extrapolation" if self.inertia else ""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return ASSUMPTIONS


def block_kernel(problem: ResolvedProblem, Y: Blocks, name: str, gradient: Array) -> Kernel:
    """φ of the block at Y."""
    phi = problem.smooth.block_kernel(Y, name, gradient)
    if phi is None:
        L = max(lipschitz(problem, Y, name), ANY)
        if math.isinf(L) or math.isnan(L):
            raise IncompatibleError(f"∇F has no finite Lipschitz constant in block '{name}' at this point.")
        phi = L * half_square()
    return phi


def proximal_map(problem: ResolvedProblem, name: str, phi: Kernel) -> BregmanProx:
    """Of the family of φ with H on the block: plugins are asked once in a run."""
    known, key = PROXES.setdefault(problem, {}), (name, type(phi))
    if key not in known:
        known[key] = resolve_prox(phi, Separable(**{name: problem.regularizer[name]}))
    return known[key]


@cache
def half_square() -> Kernel:
    """``½‖X‖²``."""
    kernel: Kernel = make("kernel", "psi2")
    return kernel
