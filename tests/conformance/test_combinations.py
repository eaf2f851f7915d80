"""Regularizers made of others: multiples, sums with a ridge, restrictions to columns and to the orthant."""

import math

import numpy as np
import pytest
from attrs import frozen
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.graph import Graph
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.on_columns import on_columns
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.scaled import scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.tv import TV
from bregopt_regularizers.with_nonneg import ABSOLUTE, l1_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge
from convex_parts import ALL, WEIGHTS, L
from planted import Planted
from prox_rivals import cases, check_claims, check_prox, check_separable, objective

from bregopt import Regularizer, Trait, Zero
from bregopt.errors import IncompatibleError


@frozen
class Sunken(Regularizer):
    """``Σ|x| − (ρ/2)‖X‖²``, with a prox for steps below 1/ρ."""

    rho: float = 0.5
    traits = Trait.SEPARABLE

    @property
    def weak_convexity(self):
        return self.rho

    @property
    def step_limit(self):
        return 1 / self.rho

    def value(self, X):
        return float(np.abs(X).sum()) - self.rho / 2 * float(np.sum(X**2))

    def prox(self, X, step):
        return soft(X, step) / (1 - step * self.rho)

    def split(self):
        return L1(1.0), -self.rho

    def piece(self, X):
        return L1(np.sign(X))


def test_a_multiple_carries_the_modulus_the_step_limit_and_the_split():
    H = scaled(Sunken(), 4.0)
    assert (H.weak_convexity, H.step_limit, H.traits) == (2.0, 0.5, Trait.SEPARABLE)
    assert H.split()[1] == -2.0
    assert H.piece(WEIGHTS).value(WEIGHTS) == pytest.approx(4 * WEIGHTS.sum())
    assert scaled(L1(0.4), 4.0).piece(WEIGHTS) is None
    steps = list(cases(steps=(0.01, 0.1, 0.45)))
    check_prox(H, steps)
    check_claims(H, steps)
    assert scaled(L0Ball(1), 2.0).weak_convexity is None


@pytest.mark.parametrize(("eta", "modulus", "limit"), [(0.2, 0.3, 1 / 0.3), (0.5, 0.0, math.inf), (2.0, 0.0, math.inf)])
def test_a_ridge_lowers_the_modulus_and_raises_the_step_limit(eta, modulus, limit):
    H = with_ridge(Sunken(), eta)
    assert H.weak_convexity == pytest.approx(modulus)
    assert H.step_limit == pytest.approx(limit)
    assert (Trait.CONVEX in H.traits) == (modulus == 0)
    assert H.split()[1] == pytest.approx(eta - 0.5)
    steps = list(cases(steps=(0.01, 0.9 * min(limit, 10.0))))
    check_prox(H, steps)
    check_claims(H, steps)
    assert with_ridge(L0Ball(1), 2.0).weak_convexity is None


def test_columns_carry_the_modulus_and_the_step_limit():
    H = on_columns(Sunken(), [0, 2])
    assert (H.weak_convexity, H.step_limit, H.traits) == (0.5, 2.0, Trait.SEPARABLE)
    assert H.split() is None
    check_separable(H, list(cases(steps=(0.01, 0.1))))


def test_columns_of_constant_norm_leave_the_norm_of_the_block_free():
    H = Planted(Zero(), Zero().prox, Trait.CONSTANT_NORM | Trait.HOMOGENEOUS)
    assert on_columns(H, 0).traits == Trait.HOMOGENEOUS
    assert scaled(H, 2.0).traits == H.traits


def same(H, G):
    assert H.traits == G.traits
    for X, step in cases():
        Z = G.prox(X, step)
        np.testing.assert_allclose(H.prox(X, step), Z, rtol=1e-13, atol=1e-15 * np.abs(X).max())
        assert H.value(Z) == pytest.approx(G.value(Z))
        assert objective(H, X, Z, step) == pytest.approx(objective(G, X, Z, step))


def test_combinations_are_what_the_parts_written_by_hand_are():
    same(scaled(L1(0.2), 2.0), L1(0.4))
    same(scaled(Simplex(), 2.0), Simplex())
    same(scaled(Graph(L, 0.7), 2.0), Graph(L, 1.4))
    same(with_ridge(L1(0.4), 0.7), ElasticNet(0.4, 0.7))
    same(with_ridge(Zero(), 0.7), Ridge(0.7))
    same(with_nonneg(Box(-1.0, math.inf)), NonNegative())
    same(on_columns(L1(0.4), [1, 2]), L1([0.0, 0.4, 0.4]))
    same(on_columns(Ball(0.7, "column"), range(3)), Ball(0.7, "column"))


def test_what_is_on_the_orthant_already_is_left_as_it_is():
    for H in (NonNegative(), l1_nonneg(0.4), l21_nonneg(0.4), Simplex(), with_nonneg(Ridge(0.4))):
        assert with_nonneg(H) is H


def test_a_part_may_be_given_by_its_spec():
    assert scaled("ridge(0.2)", 2.0).value(np.ones((2, 2))) == pytest.approx(0.8)
    assert with_nonneg("l1(0.4)").value(-np.ones((2, 2))) == math.inf


@pytest.mark.parametrize("H", [Nuclear(), TV(), Graph(L), Sunken(), scaled(TV(), 2.0), Box(-2.0, -1.0)])
def test_the_orthant_is_refused_where_the_prox_is_not_known(H):
    with pytest.raises(
        IncompatibleError, match=r"not known: it is prox_H\(max\(X, 0\)\) where H depends on \|X\| only"
    ):
        with_nonneg(H)


def test_what_is_listed_as_absolute_depends_on_sizes_only_and_never_falls_as_they_grow():
    rng = np.random.default_rng(0)
    parts = [H for H in ALL.values() if isinstance(H, ABSOLUTE)] + [Zero(), Ridge(0.4), ElasticNet(), L0Ball(2)]
    parts += [L0(0.3), Lp(0.4), MCP(0.4), SCAD(0.4), Log(0.5), Exp(0.6), CappedL1(0.7)]
    assert {type(H) for H in parts} == set(ABSOLUTE)
    for H in parts:
        for X, step in cases():
            Z = H.prox(X, step)
            assert H.value(Z * rng.choice([-1.0, 1.0], Z.shape)) == pytest.approx(H.value(Z))
            assert H.value(Z * rng.uniform(0.0, 1.0, Z.shape)) <= H.value(Z)
