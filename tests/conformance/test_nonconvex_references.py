"""Nonconvex regularizers at the edges: extreme sizes, ties, matrices without full rank, known distances."""

import itertools
import math

import numpy as np
import pytest
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.exp import lower_root
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import l0_nonneg
from nonconvex_parts import SEPARABLE


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_matrix_projections_attain_the_known_distance(shape, scale):
    X = scale * np.random.default_rng(3).standard_normal(shape)
    sigma2 = np.linalg.eigvalsh(X @ X.T)[::-1][: min(shape)]
    for k in (1, 2):
        assert np.sum((RankBall(k).prox(X, 0.3) - X) ** 2) == pytest.approx(sigma2[k:].sum(), rel=1e-9)
    assert np.sum(X * Orthonormal().prox(X, 7.0)) == pytest.approx(np.sqrt(sigma2).sum(), rel=1e-12)
    columns, rows = UnitColumns().prox(X, 2.0), UnitRows().prox(X, 2.0)
    np.testing.assert_allclose(np.sum(X * columns, axis=0), np.sqrt(np.sum(X**2, axis=0)), rtol=1e-13)
    np.testing.assert_allclose(np.sum(X * rows, axis=1), np.sqrt(np.sum(X**2, axis=1)), rtol=1e-13)


@pytest.mark.parametrize("p", [1 / 2, 2 / 3])
def test_the_prox_of_lp_is_accurate_for_tiny_and_huge_arguments(p):
    for weight in (1e-250, 1e-30, 1.0, 1e30, 1e250):
        z0 = (2 * (1 - p) * weight) ** (1 / (2 - p))
        x = z0 * (2 - p) / (2 - 2 * p) * np.array([0.5, 0.999999, 1.000001, 1.1, 3.0, 1e3, 1e12, 1e14, 1e50])
        z = Lp(1.0, p).prox(x, weight)
        assert np.array_equal(z > 0, x > z0 * (2 - p) / (2 - 2 * p))
        u, v = x[2:] / z0, z[2:] / z0
        np.testing.assert_allclose(v + p / (2 - 2 * p) * v ** (p - 1), u, rtol=1e-14)
    np.testing.assert_allclose(Lp(1.0, p).prox(np.array([1e-150, 1e300]), 1e-320), [1e-150, 1e300], rtol=1e-15)


def test_the_lower_root_is_that_of_lambert():
    from scipy.special import lambertw

    k = np.concatenate([np.logspace(-300, -0.44, 500), np.linspace(0, 0.3678, 2000)])
    np.testing.assert_allclose(lower_root(k), -lambertw(-k).real, rtol=1e-13, atol=0)
    edge = math.exp(-1) * (1 - np.logspace(-15, -2, 50))
    w = lower_root(edge)
    np.testing.assert_allclose(w * np.exp(-w), edge, rtol=1e-15)
    assert np.all(np.abs(lower_root(np.array([math.exp(-1), 0.4, 1e300])) - 1) < 1e-7)


def test_ties_go_where_the_documentation_says():
    one = np.array([1.0])
    assert L0(1.0).prox(one, 0.5) == 0
    assert Lp(1.0, p=0.5).prox(1.5 * one, 1.0) == 0
    assert MCP(1.0, 1.0).prox(2 * one, 4.0) == 0
    assert SCAD(1.0, 3.0).prox(3.5 * one, 3.0) == 0.5
    assert SCAD(1.0, 3.0).prox(np.array([6.0]), 9.0) == 0
    assert CappedL1(1.0, 1.0).prox(1.5 * one, 1.0) == 0.5
    assert CappedL1(1.0, 1.0).prox(4 * one, 8.0) == 0
    np.testing.assert_array_equal(L1MinusL2(1.0).prox(np.array([1.0, -2.0, 2.0]), 2.0), [0, -2, 0])
    np.testing.assert_array_equal(l0_nonneg(1).prox(np.array([[-5.0, 2.0, 2.0]]), 1.0), [[0, 2, 0]])
    for H in (*SEPARABLE, L1MinusL2(), l0_nonneg(), RankBall()):
        assert not H.prox(np.zeros((4, 3)), min(1.0, 0.5 * H.step_limit)).any()


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-3, 1e200])
def test_projections_onto_unit_norms_survive_every_scale_and_zero_lines(scale):
    X = scale * np.array([[3.0, 0.0, -1.0], [4.0, 0.0, 1.0]])
    Z = UnitColumns().prox(X, 1.0)
    np.testing.assert_allclose(Z, [[0.6, 1.0, -math.sqrt(0.5)], [0.8, 0.0, math.sqrt(0.5)]], rtol=1e-12)
    np.testing.assert_array_equal(UnitRows().prox(X.T, 1.0), Z.T)
    assert UnitColumns().value(Z) == UnitRows().value(Z.T) == 0
    assert UnitColumns().value(Z * (1 + 1e-6)) == UnitRows().value(Z) == math.inf


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_without_full_rank_still_becomes_orthonormal(shape, dtype):
    rng = np.random.default_rng(10)
    flat = np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1])).astype(dtype)
    for X in (flat, np.zeros(shape, dtype), 1e-30 * flat):
        Z = Orthonormal().prox(X, 1.0)
        assert Orthonormal().value(Z) == 0
        assert np.sum(X * Z) == pytest.approx(np.linalg.norm(X.astype(float)), rel=1e-5, abs=0)
    assert Orthonormal().value(1.001 * Z) == Orthonormal().value(flat) == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rank_counts_singular_values_beyond_rounding(dtype):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 40)).astype(dtype)
    for k, scale in itertools.product((1, 5, 39), (1e-3, 1.0, 1e3)):
        Z = RankBall(k).prox(dtype(scale) * X, 1.0)
        assert RankBall(k).value(Z) == RankBall(k).value(Z / dtype(3)) == RankBall(k).value(0 * Z) == 0
        assert RankBall(k).value(X) == math.inf
        assert k == 1 or RankBall(k - 1).value(Z) == math.inf


def test_l1_minus_l2_is_exactly_zero_on_one_entry_and_never_negative():
    X = np.zeros((3, 4))
    assert L1MinusL2().value(X) == 0
    X[1, 2] = 0.1
    assert L1MinusL2().value(X) == 0
    X[0, 0] = 1e-20
    assert L1MinusL2().value(X) == pytest.approx(1e-20, rel=1e-12)
