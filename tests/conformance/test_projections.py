"""Indicators of convex sets: each prox is the projection."""

import math

import numpy as np
import pytest
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.with_nonneg import l1_nonneg, with_nonneg
from prox_rivals import cases

from bregopt import Trait


def test_the_box_clips():
    X = np.array([[-2.0, 0.1, 3.0]])
    np.testing.assert_array_equal(Box(-1, 2).prox(X, 0.1), [[-1.0, 0.1, 2.0]])
    np.testing.assert_array_equal(Box(-math.inf, math.inf).prox(X, 0.1), X)
    assert Box(None, None) == Box(-math.inf, math.inf)
    assert Trait.HOMOGENEOUS in Box(0, math.inf).traits
    assert Trait.HOMOGENEOUS not in Box(0, 1).traits


def by_bisection(x, radius):
    """The projection onto {z ≥ 0, Σz = radius}: max(x − θ, 0) with θ found by halving."""
    low, high = x.max() - radius, x.max()
    for _ in range(200):
        theta = 0.5 * (low + high)
        low, high = (theta, high) if np.maximum(x - theta, 0).sum() > radius else (low, theta)
    return np.maximum(x - theta, 0)


@pytest.mark.parametrize("radius", [0.3, 1.0, 40.0])
def test_the_simplex_projection_agrees_with_bisection(radius):
    for X, step in cases((30, 4)):
        wanted = np.stack([by_bisection(x, radius) for x in X.T], axis=1)
        np.testing.assert_allclose(Simplex(radius).prox(X, step), wanted, atol=1e-12 * (radius + np.abs(X).max()))
        np.testing.assert_allclose(Simplex(radius, "row").prox(X.T, step), wanted.T, atol=1e-11 * np.abs(wanted).max())
        whole = by_bisection(X.ravel(), radius).reshape(X.shape)
        np.testing.assert_allclose(Simplex(radius, "all").prox(X, step), whole, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_projections_are_feasible_however_long_and_large_the_line(dtype, scale):
    X = (scale * np.random.default_rng(0).standard_normal((100_000, 2))).astype(dtype)
    for H in (Simplex(), L1Ball(1.0, "column"), L1Ball(), Ball(1.0, "column"), Ball(), Box(-0.1, 0.3)):
        Z = H.prox(X, 1.0)
        assert Z.dtype == dtype
        assert H.value(Z) == 0.0
    assert Simplex().prox(X + dtype(1e3 * scale), 1.0).sum(axis=0, dtype=np.float64) == pytest.approx(1.0, rel=1e-6)


def test_the_simplex_projection_does_not_see_a_shift():
    X = np.random.default_rng(0).integers(-900, 900, (50, 3)) / 1024
    np.testing.assert_allclose(Simplex().prox(X + 2.0**40, 1.0), Simplex().prox(X, 1.0), rtol=1e-13)


def test_the_simplex_projection_sums_to_the_radius_where_a_running_sum_would_not():
    X = np.full((200_000, 1), -0.3)
    X[7] = 0.4
    Z = Simplex().prox(X, 1.0)
    assert np.count_nonzero(Z) == 200_000
    assert Simplex().value(Z) == 0.0


def test_an_infeasible_point_costs_infinity():
    inside = np.full((4, 3), 0.25)
    for H in (Simplex(), L1Ball(3.0), Ball(np.sqrt(0.75)), Box(0.0, 0.25), l1_nonneg(0.0), with_nonneg(L21(0.0))):
        assert H.value(inside) == 0.0
        outside = inside.copy()
        outside[1, 1] += 1e-6
        if isinstance(H, Simplex | L1Ball | Ball | Box):
            assert H.value(outside) == math.inf
        outside[1, 1] = -1e-6
        if not isinstance(H, L1Ball | Ball):
            assert H.value(outside) == math.inf


@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_the_l1_ball_projection_thresholds_to_the_radius(radius):
    for X, step in cases((20, 3)):
        wanted = X.copy()
        for column in wanted.T:
            if np.abs(column).sum() > radius:
                column[:] = np.sign(column) * by_bisection(np.abs(column), radius)
        room = 1e-12 * (radius + np.abs(X).max())
        np.testing.assert_allclose(L1Ball(radius, "column").prox(X, step), wanted, atol=room)
        np.testing.assert_allclose(L1Ball(radius, "row").prox(X.T, step), wanted.T, atol=room)
        threshold = np.sort(np.abs(X - L1Ball(radius).prox(X, step)).ravel())[-1]
        np.testing.assert_allclose(L1Ball(radius).prox(X, step), L1(1.0).prox(X, threshold), atol=room)


def test_the_ball_is_a_ball_and_not_a_sphere():
    inside = np.array([[0.3, 0.0], [0.0, -0.2]])
    for per in ("all", "row", "column"):
        np.testing.assert_array_equal(Ball(1.0, per).prox(inside, 2.0), inside)
        assert Ball(1.0, per).value(0.0 * inside) == 0.0
    X = np.array([[3.0, 0.1], [4.0, 0.2]])
    np.testing.assert_allclose(Ball(2.0, "column").prox(X, 9.0), [[1.2, 0.1], [1.6, 0.2]], rtol=1e-15)
    np.testing.assert_allclose(Ball(2.0).prox(X, 9.0), X * (2 / np.linalg.norm(X)), rtol=1e-15)
