"""BPALM: W exactly, then a Bregman proximal step on each block, with a kernel of its own."""

import math
from operator import attrgetter
from typing import final

from attrs import field, frozen

from bregopt import (
    Array,
    Assumption,
    Blocks,
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
    """|(∇φ_i(X) − ∇φ_i(X⁺))/λ|, as far as it counts where a domain ends"""
    exact: bool
    """whether every proximal map is known to be a global minimiser"""
    bounded: bool
    """whether 1/λ ≥ 1"""


Updates = tuple[BlockwiseUpdate | None, BlockwiseUpdate]
"""The update that made Y^k, and the one that leaves it."""
ASSUMPTIONS = (
    Assumption("step", "λ ≤ 1: the kernel of each block bounds F in it, as F says", attrgetter("bounded")),
    Assumption("proximal map", "each is known to be a global minimiser", attrgetter("exact")),
)


@final
@frozen
class BPALM(Method[Updates]):
    """Bregman PALM: each block has a kernel φ of its own, which F brings, or (L/2)‖X‖² where it brings none.

    After Ahookhosh, Themelis and Patrinos, for the blocks in their order, W being W(Y^k)::

        X⁺ = argmin_X  H(X) + ⟨∇F, X⟩ + D_φ(X, X^k)/λ

    with the gradient where the blocks before it are new. F lies below its model with φ in each block, so Φ does not
    rise with λ ≤ 1. With quadratic kernels it is PPALM; with the kernels of KL-NMF, Burg's with a weight for each
    entry, it is the multiplicative update of Lee and Seung.
    """

    uses_kernel = False
    step: float = field(default=1.0, validator=validate.number(above=0))
    """λ"""

    def check(self, problem: ResolvedProblem) -> None:
        if type(problem.smooth).block_kernel is SmoothPart.block_kernel:
            check_constants(problem)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Updates]:
        following = self._update(problem, Y)
        return State.at(following.evaluation, problem.regularizer.value(Y), inner=(None, following))

    def advance(self, problem: ResolvedProblem, state: State[Updates]) -> State[Updates]:
        made = state.inner[1]
        following = self._update(problem, made.Y)
        return State.at(
            following.evaluation,
            problem.regularizer.value(made.Y),
            iteration=state.iteration + 1,
            step=self.step,
            stationarity=made.residual,
            assumptions=assumptions_met(ASSUMPTIONS, made),
            inner=(made, following),
        )

    def _update(self, problem: ResolvedProblem, Y: Blocks) -> BlockwiseUpdate:
        flat, slopes = Y.flat.copy(), Y.flat.copy()
        new, xi = Y.layout.views(flat), Y.layout.views(slopes)
        gaps, sizes, exact = list[float](), list[float](), True

        def update(name: str, rows: slice, gradient: Array) -> Array:
            nonlocal exact
            phi = block_kernel(problem, Y.like(flat.copy()), name, gradient)
            X, H = Blocks(**{name: Y[name]}), Separable(**{name: problem.regularizer[name]})
            slope = phi.gradient(X)
            P = Blocks(**{name: self.step * gradient}) - slope
            if not math.isfinite(P.flat.sum()):
                raise OverflowedError("The gradient left the range of finite numbers: shorten the step.")
            prox = resolve_prox(phi, H)
            exact = exact and getattr(prox, "exact", True)
            X_new = prox(P, self.step, phi)
            there = phi.gradient(X_new)
            fall = (slope - there) * (1.0 / self.step)
            gaps.append(phi.stationary(X_new, fall).norm())
            sizes.extend((slope.norm() / self.step, there.norm() / self.step))
            new[name][...], xi[name][...] = X_new[name], fall[name] - gradient
            return new[name]

        sweep = problem.oracle.sweep(Y, Y, update, row_wise=False)
        update(Y.names[-1], slice(None), sweep.gradient)
        return BlockwiseUpdate(
            evaluation=sweep.evaluation,
            Y=Y.like(flat),
            xi=Y.like(slopes),
            terms=math.hypot(*sizes),
            residual=math.hypot(*gaps),
            exact=exact,
            bounded=self.step <= 1.0,
        )

    def subgradient(self, problem: ResolvedProblem, state: State[Updates]) -> Subgradient | None:
        made = state.inner[0]
        if made is None:
            return None
        Y, seen = made.Y, problem.oracle.evaluate(made.Y, at=made.Y)
        found = Subgradient.at(seen, made.xi, made.terms)
        parts = dict[str, Array]()
        for name in Y.names:
            phi = block_kernel(problem, Y, name, seen.gradient[name])
            X, A = (Blocks(**{name: it[name]}) for it in (Y, found.A))
            parts[name] = phi.stationary(X, A)[name]
        return Subgradient(Y.replaced(**parts), found.gradient_norm, found.rounding)

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
        phi = L * make("kernel", "psi2")
    return phi
