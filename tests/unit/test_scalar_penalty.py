"""The penalty in four numbers: its prox and its steepest slope against a search, and what it refuses."""

import math

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import ParameterError

PENALTIES = [
    bo.ScalarPenalty(),
    bo.ScalarPenalty(l1=0.7),
    bo.ScalarPenalty(ridge=0.4),
    bo.ScalarPenalty(l1=0.7, ridge=0.4),
    bo.ScalarPenalty(low=0.0),
    bo.ScalarPenalty(l1=0.7, low=0.0),
    bo.ScalarPenalty(l1=0.7, ridge=0.4, low=-0.5, high=1.0),
    bo.ScalarPenalty(l1=0.3, low=0.2, high=0.2),
]


@pytest.mark.parametrize("h", PENALTIES, ids=str)
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_the_prox_is_the_best_point_of_a_fine_grid(h, step):
    X = np.linspace(-2, 2, 41)
    Z = h.prox(X, step)
    grid = np.clip(np.linspace(-3, 3, 60001), h.low, h.high)

    def cost(z, x):
        return h.l1 * np.abs(z) + h.ridge * z**2 / 2 + (z - x) ** 2 / (2 * step)

    for x, z in zip(X, Z, strict=True):
        assert h.low <= z <= h.high
        assert cost(z, x) <= cost(grid, x).min() + 1e-12
    np.testing.assert_array_equal(h.prox(X, np.full(41, step)), Z)


@pytest.mark.parametrize("h", PENALTIES, ids=str)
def test_the_steepest_slope_is_the_one_along_which_the_function_falls_fastest(h):
    tiny = 1e-7
    for x in {0.0, 0.1, 0.2, -0.3, h.low, h.high} - {-math.inf, math.inf}:
        if not h.low <= x <= h.high:
            continue
        for g in (-2.0, -0.7, -0.1, 0.0, 0.3, 0.7, 1.9):

            def change(d, x=x, g=g):
                if not h.low <= x + d <= h.high:
                    return math.inf
                return g * d + h.l1 * (abs(x + d) - abs(x)) + h.ridge * ((x + d) ** 2 - x**2) / 2

            fastest = max(-change(tiny) / tiny, -change(-tiny) / tiny, 0.0)
            (A,) = h.steepest(np.array([x]), np.array([g]))
            assert abs(A) == pytest.approx(fastest, abs=1e-6)
            assert A == 0 or change(-tiny * math.copysign(1, A)) < 0


def test_values_are_those_of_the_formula():
    h = bo.ScalarPenalty(l1=2.0, ridge=3.0)
    np.testing.assert_allclose(h.values(np.array([[-1.0, 0.0, 2.0]])), [[3.5, 0.0, 10.0]])


def test_only_a_bare_ridge_is_quadratic():
    assert [h.quadratic for h in PENALTIES] == [True, False, True, False, False, False, False, False]


@pytest.mark.parametrize("numbers", [{"l1": -1.0}, {"ridge": -1.0}, {"low": 1.0, "high": 0.0}, {"low": math.nan}])
def test_a_function_that_is_not_convex_or_nowhere_finite_is_refused(numbers):
    with pytest.raises(ParameterError):
        bo.ScalarPenalty(**numbers)


def test_weights_for_single_entries_have_no_penalty_in_four_numbers():
    assert bo.make("regularizer", "l1", np.ones((2, 2))).scalar() is None
    assert bo.make("regularizer", "on-columns(l1(0.1), 0)").scalar() is None
    assert bo.make("regularizer", "with-nonneg(with-ridge(l1(0.5), 2))").scalar() == bo.ScalarPenalty(0.5, 2.0, 0.0)
    assert bo.make("regularizer", "scaled(elastic-net(0.5, 1), 2)").scalar() == bo.ScalarPenalty(1.0, 2.0)
