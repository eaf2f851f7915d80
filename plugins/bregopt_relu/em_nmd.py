"""EM-NMD: the likelihood of max(0, UV + noise), by the expectation of what the zeros hide."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np
from attrs import evolve, field, frozen
from bregopt_lowrank import ColumnLosses, EntrywiseLoss, LowRankBlock, PassRequest, PassResult, Tile, TorchEntries

from bregopt import Array, Blocks, Evaluation, Method, Oracle, ResolvedProblem, State, Subgradient, make, validate
from bregopt.errors import IncompatibleError
from bregopt_relu.relu import Relu
from bregopt_relu.tobit import Tobit

NAME = "em-nmd"
MAXIMISATION = "naive-nmd"
"""The method that finds T⁺."""
LEAST = 2.0**-52
"""Share of the first σ that σ does not fall below."""
LEVEL = 1e-12
"""Share of the mean square of M below which the variance of its entries is rounding."""


@final
@frozen
class KeptVariance(EntrywiseLoss):
    """The slopes of ``tobit(σ)``, with the variance ``σ²(1 − e'')`` that the noise of a zero keeps for its value."""

    sigma: float
    kept: float = 1.0

    entry = Tobit.entry

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        _, slope, curvature, error = Tobit(self.sigma).arrays(X, M)
        return np.where(M > 0, 0.0, self.sigma**2 * (1.0 - curvature)), slope, curvature, error

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        _, slope, curvature, error = Tobit(self.sigma).tensors(torch, X, tile.M)
        return TorchEntries(slope, torch.where(tile.M > 0, 0.0, self.sigma**2 * (1.0 - curvature)), error)


@final
@frozen(eq=False)
class Expectation(Oracle):
    """``½‖Z − UV‖²`` for Z = E[UV + noise | M], which is W for the loss ``tobit(σ)``; its values are that loss."""

    block: LowRankBlock
    counted: Oracle
    """the oracle of the problem, which keeps the account"""
    sigma: float

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        block, U, V = self.block, Y["U"], Y["V"]
        if at is None:
            result, gradient = self._pass(Tobit(self.sigma), 1.0, U, V), None
        else:
            flat = np.empty_like(at.flat)
            left, right = at.layout.views(flat).values()
            result = self._pass(Tobit(self.sigma), 3.0, U, V, U_bar=at["U"], V_bar=at["V"], left=left)
            right[...] = _right(result).T
            if result.cross is not None and result.gram_bar is not None:
                right += result.cross @ V + result.gram_bar @ (at["V"] - V)
            gradient = at.like(flat)
        return Evaluation(
            Y=Y,
            W=None,
            value=result.value,
            at=at,
            gradient=gradient,
            rounding=block.rounding,
            scale=block.scale(result.value, U, V) + result.cancelled,
        )

    def variance(self, Y: Blocks, T: Blocks) -> float:
        """``E‖UV + noise − T‖² / mn`` given M, for the UV of Y: σ² of the next iteration."""
        M, (m, n), wanted = self.block.M, self.block.M.shape, {}
        if T is not Y:
            wanted = {"U_bar": T["U"], "V_bar": T["V"], "left": np.empty_like(T["U"]), "distance": True}
        result = self._pass(KeptVariance(self.sigma), 4.0 if wanted else 1.0, Y["U"], Y["V"], **wanted)
        distance = result.distance if wanted else result.residual
        return (result.value + M.missing * self.sigma**2 + distance) / (m * n)

    def _pass(self, loss: EntrywiseLoss, products: float, U: Array, V: Array, **wanted: Any) -> PassResult:
        M, losses = self.block.M, ColumnLosses.one(loss, self.block.M.shape[1])
        self.counted.charge(products * M.share(losses, self.block.rank))
        return M.run_pass(PassRequest(losses, 1.0, U, V, **wanted))


def _right(result: PassResult) -> Array:
    if result.right is None:
        raise RuntimeError("A pass was asked for a product and left it out.")
    return result.right


@final
@frozen(eq=False)
class Latent:
    """What an iteration leaves to the next."""

    sigma: float
    first: float
    """the σ of the start"""
    own: State
    """Y^k with the value of ``tobit(σ)``"""


@final
@frozen
class EMNMD(Method[Latent]):
    """EM-NMD, for ``relu`` without H: expectation maximisation for M = max(0, T + noise), T of rank r, noise N(0, σ²).

    ``Z = E[T + noise | M]``, which is M where M > 0; ``T⁺ = TSVD_r(Z)``; ``σ²⁺ = (v + ‖T⁺ − Z‖²)/mn``, where v sums up
    the variances that the noise keeps given M. The likelihood of (T, σ) never falls, while Φ, the objective of the
    problem, may rise. A missing entry is expected at T, and keeps the variance σ². Z is W for the loss ``tobit(σ)``, so
    T⁺ is that of ``naive-nmd`` for this loss, with as many ``steps`` towards the SVD. The first σ² is the variance of
    the entries of M. Thirteen products an iteration, and six for each further step.
    """

    uses_kernel = False
    minimises_phi = False
    steps: int = field(default=1, validator=validate.whole(at_least=1))

    def check(self, problem: ResolvedProblem) -> None:
        with _in_its_own_name():
            self._maximisation().check(problem)
        block = problem.block
        loss = block.loss.single if isinstance(block, LowRankBlock) else None
        if not isinstance(block, LowRankBlock) or not isinstance(loss, Relu):
            raise IncompatibleError(
                f"The method {NAME} is for the loss relu, M = max(0, UV + noise), and the {problem.name} has "
                f"{'another block' if loss is None else repr(loss)}: use naive-nmd, which takes every loss."
            )
        if block.curvature != 1 or any(block.M.read(rows).weights is not None for rows in block.M.tiles()[:1]):
            raise IncompatibleError(f"The method {NAME} is for noise of one size: no weights. Use naive-nmd.")

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[Latent]:
        sigma = deviation(_block(problem))
        problem.oracle.charge(2.0 / _block(problem).rank)
        with _in_its_own_name():
            own = self._maximisation().start(_with(problem, sigma), Y)
        return _shown(problem, Latent(sigma, sigma, own), 0)

    def advance(self, problem: ResolvedProblem, state: State[Latent]) -> State[Latent]:
        past = state.inner
        following = self._maximisation().advance(_with(problem, past.sigma), past.own)
        variance = Expectation(_block(problem), problem.oracle, past.sigma).variance(state.Y, following.Y)
        sigma = max(math.sqrt(variance), LEAST * past.first)
        seen = Expectation(_block(problem), problem.oracle, sigma).evaluate(following.Y)
        return _shown(problem, Latent(sigma, past.first, State.at(seen, 0.0)), state.iteration + 1)

    def _maximisation(self) -> Method:
        method: Method = make("method", MAXIMISATION, steps=self.steps)
        return method

    def subgradient(self, problem: ResolvedProblem, state: State[Latent]) -> Subgradient:
        """``A = ∇F(Y, W(Y))``, by an evaluation."""
        seen = problem.oracle.evaluate(state.Y, at=state.Y)
        return Subgradient(seen.gradient, seen.gradient.norm(), seen.gradient_rounding)

    @property
    def lyapunov(self) -> str:
        return "−σ₀² log likelihood of (Y^k, σ_k), up to a constant,"

    @property
    def safeguard(self) -> str:
        return "what the zeros hide, T and σ are improved in turn, and none of these can raise it but by rounding"


@contextmanager
def _in_its_own_name() -> Iterator[None]:
    """What naive-nmd refuses is refused by em-nmd, and its message says so."""
    try:
        yield
    except IncompatibleError as error:
        raise IncompatibleError(str(error).replace(MAXIMISATION, NAME)) from None


def _block(problem: ResolvedProblem) -> LowRankBlock:
    if not isinstance(problem.block, LowRankBlock):
        raise RuntimeError("The method was run on a problem that it had refused.")
    return problem.block


def _with(problem: ResolvedProblem, sigma: float) -> ResolvedProblem:
    """The problem with the loss ``tobit(σ)``."""
    return evolve(problem, oracle=Expectation(_block(problem), problem.oracle, sigma))


def _shown(problem: ResolvedProblem, latent: Latent, k: int) -> State[Latent]:
    """The state with Φ(Y^k), and ``σ₀²(Σe/σ² + n₊ log(σ/σ_least))``, where n₊ entries of M are positive."""
    own, ratio = latent.own, latent.sigma / latent.first
    log = latent.first**2 * _block(problem).M.nonzeros * math.log(max(ratio / LEAST, 1.0))
    shown: State[Latent] = State.at(problem.oracle.evaluate(own.Y), 0.0, iteration=k, inner=latent)
    return evolve(shown, lyapunov=own.objective / ratio**2 + log, scale=own.scale / ratio**2 + log)


def deviation(block: LowRankBlock) -> float:
    """The standard deviation of the known entries of M, or their root mean square where they are all alike.

    At X = 0 the slopes of the loss are −M: a pass with a single column of ones sums them up.
    """
    (m, n), known = block.M.shape, max(block.M.known, 1)
    left = np.empty((m, 1))
    block.M.run_pass(PassRequest(block.loss, 1.0, np.zeros((m, 1)), np.zeros((1, n)), V_bar=np.ones((1, n)), left=left))
    square = block.M.frobenius**2 / known
    variance = square - (float(left.sum()) / known) ** 2
    return math.sqrt(variance if variance > LEVEL * square else square) or 1.0
