"""Every loss and every model is what it says of itself, and a planted mistake is caught by the check for it."""

import re

import numpy as np
import pytest
from attrs import frozen
from bregopt_lowrank import ColumnLosses, EntrywiseLoss, Model
from planted import assert_caught, outcome

import bregopt as bo
from bregopt.host.compose import examples
from bregopt.testing import Status

EXAMPLES = dict(examples("loss"))
DEFAULTS = {entry.name: bo.make("loss", entry.name) for entry in bo.catalog("loss")}
every_loss = pytest.mark.parametrize("name", EXAMPLES)


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_loss_passes_with_its_default_parameters(name):
    report = bo.testing.check(DEFAULTS[name])
    assert report.ok, report.table()


def test_every_loss_and_every_model_has_an_example():
    for kind in ("loss", "model"):
        shown = {re.match(r"[\w-]+", label)[0] for label, _ in examples(kind)}
        assert shown == {entry.name for entry in bo.catalog(kind)}


def altered(loss, **members):
    """The same loss with other members; a function in place of a property stands for its value."""
    made = {name: property(member) if name in PROPERTIES else member for name, member in members.items()}
    other = type(type(loss).__name__, (type(loss),), made)
    return other(*(getattr(loss, field.name) for field in type(loss).__attrs_attrs__))


PROPERTIES = {name for name, member in vars(EntrywiseLoss).items() if isinstance(member, property)}


def with_entry(loss, change):
    """The loss with what ``change`` makes of (x, e, e', e'')."""
    entry = type(loss).entry
    return altered(loss, entry=staticmethod(lambda x, *rest: change(x, *entry(x, *rest))))


@every_loss
def test_a_slope_that_is_off_by_one_per_cent_is_caught(name):
    loss = EXAMPLES[name]
    assert_caught("loss/slope", loss, with_entry(loss, lambda x, e, s, c: (e, 1.01 * s, c)))


@every_loss
def test_a_bound_that_is_too_small_is_caught(name):
    loss = EXAMPLES[name]
    assert_caught("loss/bound", loss, altered(loss, bound=lambda self: 0.97 * loss.bound))
    assert_caught("loss/minimiser", loss, altered(loss, bound=lambda self: 0.97 * loss.bound))


@every_loss
def test_a_wrong_curvature_is_caught(name):
    loss = EXAMPLES[name]
    assert_caught("loss/curvature", loss, with_entry(loss, lambda x, e, s, c: (e, s, 0.9 * c)))


@every_loss
def test_a_form_for_arrays_that_differs_is_caught(name):
    loss = EXAMPLES[name]
    for place in range(4):

        def arrays(self, *given, place=place):
            found = [array.copy() for array in loss.arrays(*given)]
            found[place] = found[place] + 1e-9 * (1 + np.square(given[0]))
            return tuple(found)

        assert_caught("loss/arrays", loss, altered(loss, arrays=arrays))


@every_loss
def test_zeros_that_are_taken_for_what_they_are_not_are_caught(name):
    loss = EXAMPLES[name]
    wrong = altered(loss, zero=lambda self: "square")
    if loss.zero == "square":
        return assert_caught("loss/zero", loss, with_entry(loss, lambda x, e, s, c: (e + 1e-6, s, c)))
    assert outcome("loss/zero", wrong).status is Status.FAILED
    if loss.zero == "data" and loss.fits(np.zeros(1)).all():
        assert_caught("passes/sparse", loss, wrong)
    return None


@pytest.mark.parametrize("name", ["modulus", "square", "quantised(-1, 2)"])
def test_a_claim_of_convexity_that_is_false_is_caught(name):
    loss = EXAMPLES[name]
    assert outcome("loss/convex", loss).status is Status.NOT_APPLICABLE
    assert_caught("loss/convex", EXAMPLES["one-bit"], altered(loss, convex=lambda self: True))


@pytest.mark.parametrize("name", ["modulus", "square", "quantised(-1, 2)"])
def test_a_w_beyond_the_largest_is_caught(name):
    loss = EXAMPLES[name]
    assert_caught("loss/minimiser", loss, altered(loss, largest=lambda self, M: 0.9 * loss.largest(M)))


def short_loop(loops):
    """Loops of which the first gives slopes that are off."""

    def loops_of(self, weighted, missing):
        inner = loops(self, weighted, missing)

        def dense(X, M, upper, weights, i0, j0, a, b, p, sums):
            X *= 1.001

        return inner._replace(dense=dense)

    return loops_of


def infinite(x, e, s, c):
    return e, s if x < 3 else np.inf, c


def doubled(x, m):
    return 2 * (x - m) ** 2


def smaller(self, X, places, values, curvature):
    return EntrywiseLoss.sparse_residual(self, 0.99 * X, places, values, curvature)


LEAST_SQUARES, HUBER, RELU, LOGISTIC = (EXAMPLES[it] for it in ("least-squares", "huber(0.3)", "relu", "logistic"))
OTHERS = {
    "a factor of the data": ("loss/slope-per-data", LOGISTIC, altered(LOGISTIC, slope_per_data=lambda self: -1.0)),
    "a loss that is not flat": ("loss/zero", RELU, altered(LEAST_SQUARES, flat_at_zero=lambda self: True)),
    "data that do not fit": ("loss/usable", HUBER, altered(HUBER, fits=lambda self, M: M > 0)),
    "an error that is no mistake": ("loss/usable", HUBER, altered(HUBER, metric=lambda self: "mistakes")),
    "a slope that is not finite": ("loss/usable", HUBER, with_entry(HUBER, infinite)),
    "an error for zeros": ("loss/zero", LEAST_SQUARES, altered(LEAST_SQUARES, error=staticmethod(doubled))),
    "a loop of its own": ("passes/compiled", RELU, altered(RELU, loops=short_loop(type(RELU).loops))),
    "a sparse form of its own": ("passes/sparse", HUBER, altered(HUBER, sparse_residual=smaller)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", OTHERS)
def test_a_mistake_in_a_loss_is_caught_by_its_check(mistake):
    assert_caught(*OTHERS[mistake])


def test_an_entry_that_numba_cannot_compile_is_told_so():
    def entry(x, m):
        return [0.5 * (x - m) ** 2, {"slope": x - m}["slope"], 1.0 if object() else 0.0]

    found = outcome("passes/compiled", altered(LEAST_SQUARES, entry=staticmethod(entry)))
    assert found.status is Status.FAILED
    assert "TypingError" in found.message


def test_nothing_is_compiled_where_that_is_switched_off(monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", "0")
    assert outcome("passes/compiled", HUBER).status is Status.NOT_APPLICABLE


@frozen
class Six(EntrywiseLoss):
    """``e(x; m) = log cosh(x − m)``: a loss of one's own, of six lines."""

    @staticmethod
    def entry(x, m):
        s = np.tanh(x - m)
        return np.logaddexp(x - m, m - x) - np.log(2.0), s, 1.0 - s * s


def test_a_loss_of_ones_own_passes_without_a_form_for_arrays():
    report = bo.testing.check(Six())
    assert report.ok, report.table()
    assert {it.name: it.status for it in report.outcomes}["loss/arrays"] is Status.NOT_APPLICABLE


def test_losses_by_columns_keep_equal_ones_together():
    first = ColumnLosses.by_column(
        [bo.make("loss", "huber(1)"), bo.make("loss", "huber(1)"), bo.make("loss", "huber(2)")]
    )
    assert (first.stops, first.which) == ((2, 3), (0, 1))


MODELS = dict(examples("model"))


def altered_model(model, **members):
    given = {field.alias: getattr(model, field.name) for field in type(model).__attrs_attrs__ if field.init}
    return type("Altered", (type(model),), members)(**given)


def scaled(method, a=1.0, b=1.0):
    return lambda self, x, y, *rest: method(self, a * x, b * y, *rest)


def wrong_pull(model):
    def pull(self, Y, on_left, on_right):
        found = dict(type(model).pull(self, Y, on_left, on_right))
        first, *_ = found
        return {**found, first: 1.01 * found[first]}

    return pull


def bent(model):
    def factors(self, Y):
        L, R = type(model).factors(self, Y)
        return L + 1e-3 * np.square(L), R + 1e-3 * np.square(R)

    return factors


@pytest.mark.parametrize("name", MODELS)
def test_a_mistake_in_a_model_is_caught(name):
    model = MODELS[name]
    assert_caught("model/pull", model, altered_model(model, pull=wrong_pull(model)))
    if model.affine:
        assert_caught("model/shapes", model, altered_model(model, factors=bent(model)))
    for share in ({"a": 0.9}, {"b": 0.9}) if model.affine and not model.convex else ():
        assert_caught("model/lift", model, altered_model(model, lift=scaled(type(model).lift, **share)))
    assert_caught("model/smad", model, altered_model(model, lift=scaled(type(model).lift, a=0.03, b=0.03)))
    if name != "symmetric":
        steeper = altered_model(model, block_curvature=lambda self, Y, name: 1e-3)
        assert_caught("model/gram", model, steeper)


@pytest.mark.parametrize("name", ["product", "with-bias", "cp(3)", "cp(4)", "chain(2)", "linear"])
def test_a_wrong_gram_matrix_of_a_model_is_caught(name):
    model = MODELS[name]
    wrong = altered_model(model, gram=lambda self, Y, name: 1.01 * type(model).gram(self, Y, name))
    assert_caught("model/gram", model, wrong)


def test_a_kernel_that_a_loss_is_not_smooth_to_is_caught():
    model = MODELS["product"]
    assert_caught("model/smad", model, altered_model(model, lift=scaled(type(model).lift, a=0.3, b=0.3)))


def test_sides_that_are_mixed_up_are_caught():
    model = MODELS["with-bias"]
    wrong = altered_model(model, sides=property(lambda self: (("U", "b"), ("V", "a"))))
    assert_caught("model/shapes", model, wrong)


def test_a_model_with_a_block_left_out_is_caught():
    model = MODELS["with-bias"]

    def pull(self, Y, on_left, on_right):
        return {name: X for name, X in model.pull(Y, on_left, on_right).items() if name != "b"}

    assert_caught("model/pull", model, altered_model(model, pull=pull))


@pytest.mark.parametrize("name", ["product", "symmetric", "with-bias"])
def test_the_kernel_of_a_model_is_that_of_its_factors(name):
    model, rng = MODELS[name], np.random.default_rng(0)
    assert isinstance(model, Model)
    psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
    for a, b in ((1.0, 0.0), (0.3, 2.0)):
        sizes = model.shapes((4, 4), 2)
        Y, Z = (bo.Blocks(**{block: rng.standard_normal(size) for block, size in sizes.items()}) for _ in range(2))
        factors = [bo.Blocks(**dict(zip("LR", model.factors(point), strict=True))) for point in (Y, Z)]
        wanted = (a * psi1 + b * psi2).divergence(*factors)
        assert model.lift(a, b, (4, 4)).divergence(Y, Z) == pytest.approx(wanted, rel=1e-12)
