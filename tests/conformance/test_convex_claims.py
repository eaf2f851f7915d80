"""Every convex regularizer and combination: no rival beats the prox, every claim holds, and a mistake is found."""

import math

import numpy as np
import pytest
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.graph import Graph
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV
from bregopt_regularizers.with_nonneg import l21_nonneg
from convex_parts import ALL, PARTS, L
from planted import Planted
from prox_rivals import check_claims, check_memory_order, check_prox, check_single_precision

from bregopt import Trait

every = pytest.mark.parametrize("H", ALL.values(), ids=ALL)


@every
def test_the_prox_beats_every_rival(H):
    check_prox(H)


@every
def test_every_claim_holds(H):
    check_claims(H)


@every
def test_single_precision_stays_single(H):
    check_single_precision(H)


@every
def test_the_order_in_memory_does_not_matter(H):
    check_memory_order(H)


@every
def test_a_step_in_double_precision_widens_nothing(H):
    X = np.ones((4, 3), dtype=np.float32)
    if not isinstance(getattr(H, "H", H), Ridge | ElasticNet):  # which are tested elsewhere
        assert H.prox(X, np.float64(0.5)).dtype == np.float32
        if Trait.SEPARABLE in H.traits:
            assert H.prox(X, np.full((4, 1), 0.5)).dtype == np.float32


@pytest.mark.parametrize("H", PARTS.values(), ids=PARTS)
def test_every_part_is_convex_and_says_so(H):
    assert Trait.CONVEX in H.traits
    assert H.step_limit == math.inf


def sphere(X, step):
    return 1.5 * X / np.linalg.norm(X)


def in_place(X, step):
    X.flags.writeable = True
    np.maximum(X, 0.0, out=X)
    return X.copy()


MISTAKES = {
    "the step applied twice": (L1(0.4), lambda X, t: soft(X, 0.4 * t * t)),
    "the step left out": (L1(0.4), lambda X, t: soft(X, 0.4)),
    "a sphere for a ball": (Ball(1.5), sphere),
    "the positive part last": (l21_nonneg(0.4), lambda X, t: np.maximum(L21(0.4).prox(X, t), 0)),
    "the group shrunk first": (SparseGroup(0.3, 0.4), lambda X, t: soft(L21(0.4).prox(X, t), 0.3 * t)),
    "rows for columns": (TV(0.4), TV(0.4, per="row").prox),
    "the weight off by a fiftieth": (Nuclear(0.4), Nuclear(0.408).prox),
    "rescaled to the simplex": (Simplex(), lambda X, t: (np.abs(X) + 1e-99) / (np.abs(X) + 1e-99).sum(axis=0)),
    "half the graph": (Graph(L, 0.7), Graph(L, 0.35).prox),
    "written in place": (NonNegative(), in_place),
    "infeasible": (NonNegative(), lambda X, t: X - 1e-3 * np.abs(X).max()),
}


@pytest.mark.parametrize(("H", "wrong"), MISTAKES.values(), ids=MISTAKES)
def test_a_planted_mistake_in_a_prox_is_found(H, wrong):
    with pytest.raises(AssertionError):
        check_prox(Planted(H, wrong))


@pytest.mark.parametrize(
    ("H", "trait"),
    [
        (Planted(L0Ball(1), L0Ball(1).prox), Trait.CONVEX),
        (Planted(Huber(), Huber().prox), Trait.HOMOGENEOUS),
        (Planted(L21(0.4), L21(0.4).prox), Trait.SEPARABLE),
    ],
)
def test_a_false_claim_is_found(H, trait):
    with pytest.raises((AssertionError, TypeError)):
        check_claims(Planted(H.H, H.wrong, trait))
