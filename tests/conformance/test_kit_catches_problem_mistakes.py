"""Planted mistakes in smooth parts, blocks, oracles and constants: each is caught by the check that is there for it."""

import numpy as np
import pytest
from attrs import evolve, frozen
from planted import assert_caught, outcome

import bregopt as bo
from bregopt.testing import Status
from bregopt.testing.kinds import checks_of

RNG = np.random.default_rng(0)
M = np.maximum(0.0, RNG.standard_normal((5, 4)))
Y = bo.Blocks(U=RNG.standard_normal((5, 2)), V=RNG.standard_normal((2, 4)))


def relu(kernel="tight", M=M):
    return bo.compose("relu-nmd", M, rank=2, kernel=kernel, threads=1)


RIGHT = (relu(), Y)
AFFINE = (bo.compose("completion", M, rank=2, mask=M > 0), Y)


class Replaced:
    """Another part with some of its methods replaced."""

    def __init__(self, inner, methods):
        self.inner, self.methods = inner, methods


def method(name):
    """The one that replaces the inner part's, or the inner part's."""
    return lambda self, *arguments: self.methods.get(name, getattr(self.inner, name))(*arguments)


class Smooth(Replaced, bo.SmoothPart):
    """The factorisation loss with other methods."""

    value, value_and_gradient, smad, gram = map(method, ("value", "value_and_gradient", "smad", "gram"))
    block_gradient, block_lipschitz, block_kernel = map(method, ("block_gradient", "block_lipschitz", "block_kernel"))
    of_product = property(lambda self: self.methods.get("of_product", self.inner.of_product))


class Block(Replaced, bo.ClosedFormBlock):
    """The W block with other methods."""

    argmin, value, norms, bound_norms = map(method, ("argmin", "value", "norms", "bound_norms"))
    affine = method("affine")


@frozen(eq=False)
class Seen(bo.Oracle):
    """Evaluations of the right oracle, changed."""

    changes: dict

    def evaluate(self, Y, at=None, *, value_at=False):
        evaluation = RIGHT[0].oracle.evaluate(Y, at, value_at=value_at)
        return evolve(evaluation, **{name: change(evaluation) for name, change in self.changes.items()})


@frozen(eq=False)
class Sweeping(bo.Oracle):
    """Evaluations of the right oracle, with another sweep."""

    swept: object

    def evaluate(self, Y, at=None, *, value_at=False):
        return RIGHT[0].oracle.evaluate(Y, at, value_at=value_at)

    def sweep(self, Y, at, update, *, row_wise):
        return self.swept(Y, at, update, row_wise)


def smooth(problem=RIGHT[0], **methods):
    return evolve(problem, smooth=Smooth(problem.smooth, methods), oracle=None), Y


def block(**methods):
    return evolve(RIGHT[0], block=Block(RIGHT[0].block, methods), oracle=None), Y


def seen(**changes):
    return evolve(RIGHT[0], oracle=Seen(changes)), Y


def sweeping(swept):
    return evolve(RIGHT[0], oracle=Sweeping(swept)), Y


def right_sweep(Y, at, update, row_wise):
    return RIGHT[0].oracle.sweep(Y, at, update, row_wise=row_wise)


def with_gradient(Y, at, update, row_wise):
    swept = right_sweep(Y, at, update, row_wise)
    return evolve(swept, gradient=1.001 * swept.gradient)


def with_value(Y, at, update, row_wise):
    swept = right_sweep(Y, at, update, row_wise)
    return evolve(swept, evaluation=evolve(swept.evaluation, value=1.001 * swept.evaluation.value))


def from_a_steeper_slope(Y, at, update, row_wise):
    return right_sweep(Y, at, lambda name, rows, G: update(name, rows, 1.001 * G), row_wise)


def at_V_itself(Y, at, update, row_wise):
    return right_sweep(Y, bo.Blocks(U=at.U, V=Y.V), update, row_wise)


def without_the_last_row(Y, at, update, row_wise):
    def most(name, rows, G):
        return np.vstack([update(name, slice(0, 4), G[:4]), at.U[4:]])

    return right_sweep(Y, at, most, row_wise)


def twice(Y, at, update, row_wise):
    return right_sweep(Y, at, lambda name, rows, G: 0.5 * (update(name, rows, G) + update(name, rows, G)), row_wise)


def row_by_row(Y, at, update, row_wise):
    def single(name, rows, G):
        return np.vstack([update(name, slice(i, i + 1), G[i : i + 1]) for i in range(len(G))])

    return right_sweep(Y, at, single, row_wise)


def stretched_block(Y, W, name):
    return 1.001 * RIGHT[0].smooth.block_gradient(Y, W, name)


def flatter(Y, name):
    return 0.95 * RIGHT[0].smooth.block_lipschitz(Y, name)


def flatter_kernel(Y, name, gradient):
    return flatter(Y, name) * bo.make("kernel", "psi2")


def with_a_term_of_U(Y, W):
    return RIGHT[0].smooth.value(Y, W) + 0.01 * float(np.vdot(Y.U, Y.U))


def steeper_gram(Y, name):
    return 1.001 * RIGHT[0].smooth.gram(Y, name)


def only(name, factor):
    """A gradient with one block scaled."""

    def value_and_gradient(Y, W):
        value, gradient = RIGHT[0].smooth.value_and_gradient(Y, W)
        return value, gradient.map(lambda block, X: factor * X if block == name else X)

    return value_and_gradient


def times(pair, **factors):
    """The same promises with some of the constants scaled."""
    problem = pair[0]

    def smad(kernel, norms, reduced):
        known = problem.smooth.smad(kernel, norms, reduced)
        return known and evolve(known, **{name: factor * getattr(known, name) for name, factor in factors.items()})

    return smooth(problem, smad=smad)


@frozen
class Shrunk(bo.KernelPolicy):
    """``share·(ψ1 + ‖W‖₂ψ2)``, which a smooth part may believe to be the tight kernel."""

    share: float

    def at(self, norms):
        return self.share * bo.make("kernel", "tight").at(norms)

    def sample(self):
        return self.share * bo.make("kernel", "tight").sample()


def planted(share):
    """The tight kernel times a share, with a smooth part that claims upper = 1 for it."""
    problem = evolve(RIGHT[0], kernel=Shrunk(share), prox=None)

    def smad(kernel, norms, reduced):
        own = kernel.strong_convexity == share * norms["spectral"]
        return bo.Smad(1.0) if own and not reduced else None

    return smooth(problem, smad=smad)


def reduced_only(share):
    """The fixed kernel of the reduced function times a share, with the claim upper = 1."""
    norm = float(np.linalg.norm(M, 2))
    kernel = share * bo.make("kernel", bo.host.spec.Spec("fixed", (norm,)))
    problem = evolve(RIGHT[0], kernel=kernel, prox=None)
    return smooth(problem, smad=lambda kernel, norms, reduced: bo.Smad(1.0) if reduced else None)


def shifted(smooth, Y):
    return RIGHT[0].block.argmin(smooth, Y * 0.97)


def too_small(W):
    return {**RIGHT[0].block.norms(W), "spectral": 0.9 * float(np.linalg.norm(np.asarray(W), 2))}


def stretched_gradient(evaluation):
    return evaluation.gradient * 1.001 if evaluation.has_gradient else None


def stale(norms, Y, Y_prev):
    return norms


MISTAKES = {
    "gradient of V wrong": ("smooth/gradient", RIGHT, smooth(value_and_gradient=only("V", 0.5))),
    "gradient of U times 1.001": ("smooth/gradient", RIGHT, smooth(value_and_gradient=only("U", 1.001))),
    "Gram matrix of V wrong": ("smooth/gram", RIGHT, smooth(gram=lambda Y, name: Y.V @ Y.V.T)),
    "Gram matrix times 1.001": ("smooth/gram", RIGHT, smooth(gram=steeper_gram)),
    "gradient of a block": ("smooth/block-bounds", RIGHT, smooth(block_gradient=stretched_block)),
    "Lipschitz constant of a block": ("smooth/block-bounds", RIGHT, smooth(block_lipschitz=flatter)),
    "kernel of a block": ("smooth/block-bounds", RIGHT, smooth(block_kernel=flatter_kernel)),
    "F of more than a product": ("smooth/of-product", RIGHT, smooth(value=with_a_term_of_U)),
    "two values": ("smooth/value-consistent", RIGHT, smooth(value=lambda Y, W: 2 * RIGHT[0].smooth.value(Y, W))),
    "argmin off": ("block/optimal", RIGHT, block(argmin=shifted)),
    "W with a kink": ("block/affine", AFFINE, block(affine=lambda: True)),
    "norms too small": ("block/bounds", RIGHT, block(norms=too_small)),
    "bound_norms too small": ("block/bounds", RIGHT, block(bound_norms=stale)),
    "value of an evaluation": ("oracle/equals-plain", RIGHT, seen(value=lambda evaluation: 1.001 * evaluation.value)),
    "gradient of an evaluation": ("oracle/equals-plain", RIGHT, seen(gradient=stretched_gradient)),
    "norms of an evaluation": ("oracle/equals-plain", RIGHT, seen(norms=lambda it: {**it.norms, "spectral": 0.0})),
    "metrics of an evaluation": ("oracle/equals-plain", RIGHT, seen(metrics=lambda evaluation: {})),
    "gradient of a sweep": ("oracle/sweep", sweeping(right_sweep), sweeping(with_gradient)),
    "value of a sweep": ("oracle/sweep", RIGHT, sweeping(with_value)),
    "first gradient of a sweep": ("oracle/sweep", RIGHT, sweeping(from_a_steeper_slope)),
    "no extrapolation of V in a sweep": ("oracle/sweep", RIGHT, sweeping(at_V_itself)),
    "row missed by a sweep": ("oracle/sweep", RIGHT, sweeping(without_the_last_row)),
    "rows asked for twice by a sweep": ("oracle/sweep", RIGHT, sweeping(twice)),
    "update cut into rows against its will": ("oracle/sweep", RIGHT, sweeping(row_by_row)),
    "evaluation of a sweep": ("oracle/sweep", seen(), seen(gradient=stretched_gradient)),
    "tight kernel times 0.95": ("smad/upper", planted(1.0), planted(0.95)),
    "fixed kernel times 0.95": ("smad/upper", reduced_only(1.0), reduced_only(0.95)),
    "upper times 0.95": ("smad/upper", RIGHT, times(RIGHT, upper=0.95)),
    "lower times 0.95": ("smad/lower", (relu("fixed"), Y), times((relu("fixed"), Y), lower=0.95)),
    "low times 0.95": ("smad/low", RIGHT, times(RIGHT, low=0.95)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_problem_is_caught_by_its_check(mistake):
    assert_caught(*MISTAKES[mistake])


@pytest.mark.parametrize("seed", range(3))
def test_the_tight_kernel_times_095_is_caught_with_every_seed(seed):
    assert outcome("smad/upper", planted(0.95), seed).status is Status.FAILED


def test_a_problem_alone_is_checked_at_its_start():
    assert outcome("block/optimal", relu()).status is Status.PASSED
    assert list(checks_of(relu())) == list(checks_of(RIGHT))


def test_a_counterexample_of_a_problem_alone_begins_with_its_start():
    assert_caught("smooth/gradient", relu(), smooth(value_and_gradient=only("V", 0.5))[0])


def test_a_sweep_says_which_row_it_missed_and_how_often_it_asked():
    assert "asked 0 times for row 4" in outcome("oracle/sweep", sweeping(without_the_last_row)).message
    assert "asked 2 times for row 0" in outcome("oracle/sweep", sweeping(twice)).message
    assert "row_wise=False" in outcome("oracle/sweep", sweeping(row_by_row)).message


def test_claims_of_form_are_checked_where_they_are_made():
    plain = smooth(gram=lambda Y, name: None, of_product=False)
    for check in ("smooth/gram", "smooth/of-product"):
        assert outcome(check, plain).status is Status.NOT_APPLICABLE
        assert outcome(check, RIGHT).status is Status.PASSED


def test_sweeps_are_checked_for_a_special_oracle_only():
    plain = evolve(RIGHT[0], oracle=bo.PlainOracle(RIGHT[0].smooth, RIGHT[0].block))
    assert outcome("oracle/sweep", (plain, Y)).status is Status.NOT_APPLICABLE
    assert outcome("oracle/sweep", RIGHT).status is Status.PASSED
