"""Regularizers made of others: those on the orthant against formulas written by hand, and what a wrapper carries."""

import math

import numpy as np
import pytest
from attrs import field, frozen
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.with_nonneg import WithNonNegative

import bregopt as bo
from bregopt import Trait
from bregopt.errors import IncompatibleError, ParameterError


def cases():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 50.0):
        for step in (0.0, 0.1, 1.0, 30.0):
            X = scale * rng.standard_normal((5, 3))
            X[0], X[1] = -np.abs(X[0]), 0.3 * step  # a row that vanishes, and one on the threshold
            yield X, step


def row_shrunk(X, threshold):
    length = np.sqrt((X * X).sum(axis=1, keepdims=True))
    left = np.maximum(length - threshold, 0.0)
    return X * np.divide(left, length, out=left, where=length > 0)


def largest(X, s):
    kept = np.zeros_like(X)
    for i, row in enumerate(X):
        kept[i, np.argsort(-row, kind="stable")[:s]] = np.sort(row)[::-1][:s]
    return kept


BY_HAND = {
    "l1-nonneg(0.3)": (lambda X: 0.3 * float(X.sum()), lambda X, t: np.maximum(X - t * 0.3, 0.0)),
    "l21-nonneg(0.3)": (
        lambda X: 0.3 * float(np.sqrt((X * X).sum(axis=1)).sum()),
        lambda X, t: row_shrunk(np.maximum(X, 0.0), t * 0.3),
    ),
    "l0-nonneg(2, per=row)": (lambda X: 0.0, lambda X, t: largest(np.maximum(X, 0.0), 2)),
}


@pytest.mark.parametrize("spec", BY_HAND)
def test_on_the_orthant_the_digits_are_those_of_the_formula_written_by_hand(spec):
    H, (value, prox) = bo.make("regularizer", spec), BY_HAND[spec]
    for X, step in cases():
        Z = H.prox(X, step)
        np.testing.assert_array_equal(Z, prox(X, step))
        assert H.value(Z) == value(Z)
        assert H.value(-1.0 - np.abs(X)) == math.inf


@pytest.mark.parametrize(("spec", "plain"), [
    ("l1-nonneg(0.3)", L1(0.3)), ("l21-nonneg(0.3)", L21(0.3)), ("l0-nonneg(2)", L0Ball(2)),
])  # fmt: skip
def test_a_name_on_the_orthant_is_with_nonneg_of_the_plain_one(spec, plain):
    H = bo.make("regularizer", spec)
    assert isinstance(H, WithNonNegative)
    assert repr(H) == f"WithNonNegative(H={plain!r})"
    assert H.traits == plain.traits
    assert H.split() == (H, 0.0)
    assert bo.make("regularizer", "with-nonneg", H) is H


def test_loops_over_coordinates_see_l1_on_the_orthant_by_its_four_numbers():
    assert bo.make("regularizer", "l1-nonneg(0.3)").scalar() == bo.ScalarPenalty(l1=0.3, low=0.0)
    assert bo.make("regularizer", "l21-nonneg(0.3)").scalar() is None


def test_l1_on_the_orthant_takes_steps_and_weights_by_entry_and_keeps_single_precision():
    X = np.linspace(-1, 2, 6).reshape(2, 3)
    steps, weights = np.array([[0.5], [2.0]]), np.array([0.1, 0.2, 0.9])
    H = bo.make("regularizer", "with-nonneg", L1(weights))
    np.testing.assert_array_equal(H.prox(X, steps), np.maximum(X - steps * weights, 0.0))
    assert H.prox(X.astype(np.float32), steps).dtype == np.float32
    with pytest.raises(ParameterError, match="broadcasts against the shape"):
        H.prox(np.ones((2, 4)), 1.0)


@pytest.mark.parametrize("spec", ["l0-nonneg(0)", "l0-nonneg(1, per=rows)", "l1-nonneg(-1)", "l21-nonneg(1, per=all)"])
def test_a_name_on_the_orthant_refuses_what_the_plain_one_refuses(spec):
    with pytest.raises(ParameterError, match=r"The '\w+' parameter of L\w+ must be"):
        bo.make("regularizer", spec)


CONCAVE = bo.make("regularizer", "l1-minus-ridge(1, 0.5)")


@frozen
class Mirrored(bo.WrappedRegularizer):
    """``H(−X)``."""

    def value(self, X):
        return self.H.value(-X)

    def prox(self, X, step):
        return -self.H.prox(-X, step)


@frozen
class Doubled(Mirrored):
    """``2·H(−X)``."""

    of: str = field(default="twice")
    kept = Trait.SEPARABLE

    def ridge(self, eta):
        return 2.0 * eta


def test_a_wrapper_that_says_nothing_is_as_its_regularizer():
    H = Mirrored(CONCAVE)
    assert (H.traits, H.weak_convexity, H.step_limit) == (CONCAVE.traits, 0.5, 2.0)
    inner, eta = H.split()
    assert (type(inner), inner.H.eta, eta) == (Mirrored, 1.0, -0.5)
    assert Mirrored(L0Ball(1)).weak_convexity is None
    assert Mirrored(bo.make("regularizer", "huber")).split() is None
    with pytest.raises(IncompatibleError, match="can only be made of a Regularizer"):
        Mirrored("l1")


def test_a_wrapper_carries_the_ridge_the_modulus_and_the_traits_that_it_keeps():
    H = Doubled(CONCAVE, of="two")
    assert (H.traits, H.weak_convexity) == (Trait.SEPARABLE, 1.0)
    inner, eta = H.split()
    assert (inner.of, eta) == ("two", -1.0)
    assert bo.make("regularizer", "with-ridge", CONCAVE, 0.2).weak_convexity == pytest.approx(0.3)
    assert bo.make("regularizer", "with-ridge", CONCAVE, 0.7).weak_convexity == 0.0


def test_the_kit_checks_a_wrapper_of_ones_own():
    report = bo.testing.check(Mirrored(bo.make("regularizer", "elastic-net(0.4, 0.7)")))
    assert report.ok, report.table()
