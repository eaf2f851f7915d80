"""BCD-NMD and 3B-NMD: W, then U and V by least squares, without momentum and with it."""

from functools import partial
from typing import final

from attrs import evolve, field, frozen

from bregopt import Array, Blocks, Method, ResolvedProblem, State, Subgradient, validate
from bregopt_methods.blockwise.block_update import BlockModel, block_update, gram
from bregopt_methods.blockwise.els import least_squares
from bregopt_methods.nmd.unregularized import check_factors, check_unregularized, unregularized_subgradient

BCD, THREE_BLOCKS = "bcd-nmd", "3b-nmd"
SOLVER = partial(least_squares, damping=0.0)
RESTARTED = "a step with momentum that would raise Φ is made again without, from Y^k"


@final
@frozen
class BCDNMD(Method[Blocks]):
    """BCD-NMD, without H: ``W = W(UV)``, ``U⁺ = argmin ‖W − UV‖``, ``V⁺ = argmin ‖W − U⁺V‖``; no step raises Φ.

    It is ``3b-nmd`` with β = 0. A direction in which V, or U⁺, is zero up to rounding is left as it is. State k holds
    Y^k with the next Y, so that one sweep, of three products, shows Φ(Y^k) and makes the next step.
    """

    uses_kernel = False

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, BCD)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Blocks]:
        check_factors(problem, Y, BCD)
        made = block_update(problem, Y, SOLVER, row_wise=True)
        return State.at(made.evaluation, 0.0, stationarity=made.residual, inner=made.Y)

    def advance(self, problem: ResolvedProblem, state: State[Blocks]) -> State[Blocks]:
        made, k = block_update(problem, state.inner, SOLVER, row_wise=True), state.iteration + 1
        if not made.evaluation.value <= state.objective:
            return evolve(state, iteration=k)
        return State.at(made.evaluation, 0.0, iteration=k, stationarity=made.residual, inner=made.Y)

    def subgradient(self, problem: ResolvedProblem, state: State[Blocks]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)

    @property
    def safeguard(self) -> str:
        return "each block is minimised in turn, which rounding alone could make rise, and such a step is not taken"


@final
@frozen(eq=False)
class Momentum:
    """What an iteration leaves to the next: two points at which W is taken."""

    here: Blocks
    """the factors of T̄, extrapolated"""
    there: Blocks
    """those that the last W was taken at"""


@final
@frozen
class NMD3B(Method[Momentum]):
    """3B-NMD, without H: ``Z = W(T̄) + ω(W(T̄) − W_prev)``, U⁺ and V⁺ for Z by least squares, ``T̄⁺ = T⁺ + β(T⁺ − T̄)``.

    ``U⁺ = argmin ‖Z − UV‖``, then ``V⁺ = argmin ‖Z − U⁺V‖`` and T⁺ = U⁺V⁺. Its authors have Z = W + β(W − Z_prev), with
    a share in every W so far, and a T̄ that is no product of rank r. Here T̄ is the product of the factors, each of them
    extrapolated so. Z goes on from the last W itself with ω = β/(1 + β), as far as theirs does where W moves evenly.
    That is two W, each at a matrix of rank r, and nothing of the size of M. There is no theorem for β > 0. With
    ``guard``, which its authors do not have, a step that would raise Φ is one of ``bcd-nmd`` instead, and the momentum
    starts anew. Thirteen products an iteration, seven more where a step is made again.
    """

    uses_kernel = False
    beta: float = field(default=0.7, validator=validate.number(at_least=0, below=1))
    guard: bool = field(default=False, validator=validate.instance_of(bool, "true or false"))

    def check(self, problem: ResolvedProblem) -> None:
        check_unregularized(problem, THREE_BLOCKS)

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Momentum]:
        check_factors(problem, Y, THREE_BLOCKS)
        return State.at(problem.oracle.evaluate(Y), 0.0, inner=Momentum(Y, Y))

    def advance(self, problem: ResolvedProblem, state: State[Momentum]) -> State[Momentum]:
        return three_block_step(problem, state, self.beta, 0.0, guard=self.guard)

    def subgradient(self, problem: ResolvedProblem, state: State[Momentum]) -> Subgradient:
        return unregularized_subgradient(problem, state.Y)

    @property
    def safeguard(self) -> str:
        return RESTARTED if self.guard else ""


def three_block_step(
    problem: ResolvedProblem, state: State[Momentum], beta: float, average: float, *, guard: bool
) -> State[Momentum]:
    """The next state of ``3b-nmd`` and ``nmd-tm``; ``average`` is the β of the factors themselves."""
    H, past, k = problem.regularizer, state.inner, state.iteration + 1
    Y = _solved(problem, state.Y, past, beta, average)
    seen = problem.oracle.evaluate(Y)
    if guard and not seen.value + H.value(Y) <= state.objective:
        here = Momentum(state.Y, state.Y)
        if past.here is not state.Y:
            Y = _solved(problem, state.Y, here, 0.0, average)
            seen = problem.oracle.evaluate(Y)
        if not seen.value + H.value(Y) <= state.objective:  # but for rounding it cannot be
            return evolve(state, iteration=k, beta=0.0, inner=here)
        return State.at(seen, H.value(Y), iteration=k, beta=0.0, inner=Momentum(Y, Y))
    onward = Y.plus(beta, Y - past.here) if beta > 0 else Y
    return State.at(seen, H.value(Y), iteration=k, beta=beta, inner=Momentum(onward, past.here))


def _solved(problem: ResolvedProblem, Y: Blocks, past: Momentum, beta: float, average: float) -> Blocks:
    """U⁺ and V⁺: as the weights of Z add up to one, they make ∇F for Z of the gradients for the single W."""
    first, second = Y.names

    def solved(at: Blocks, name: str) -> Array:
        G = problem.oracle.evaluate(past.here, at=at).gradient
        if beta > 0 and past.there is not past.here:
            G = G.plus(beta / (1.0 + beta), G - problem.oracle.evaluate(past.there, at=at).gradient)
        columns = name == second
        X, slope = (at[name].T, G[name].T) if columns else (at[name], G[name])
        new, _ = SOLVER(BlockModel(gram(problem, at, name), problem.regularizer[name], columns, len(X)))(X, slope)
        new = new + average * (new - X)
        return new.T if columns else new

    half = Blocks(**{first: solved(Y, first), second: Y[second]})
    return Blocks(**{first: half[first], second: solved(half, second)})
