"""The convex regularizers and the combinators: claims, rivals, and a reference of its own for each."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from attrs import frozen
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.graph import Graph, laplacian
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1, soft
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
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
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV, fuse
from bregopt_regularizers.with_nonneg import ABSOLUTE, l1_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge
from prox_rivals import (
    cases,
    check_claims,
    check_memory_order,
    check_prox,
    check_separable,
    check_single_precision,
    objective,
)

from bregopt import Regularizer, Trait, Zero
from bregopt.errors import DataError, IncompatibleError, ParameterError

WEIGHTS = np.array([[0.0, 0.3, 2.0], [1.0, 0.1, 0.4], [0.2, 0.2, 0.2], [5.0, 0.0, 0.7]])
ENTRIES = np.array([[7, 7, -1], [0, 7, -1], [0, 0, -1], [3, 0, 3]])
ROWS = np.array([4, 9, 4, 4])
AFFINITY = np.array([[0.0, 2.0, 0.0, 0.5], [2.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 3.0]])
L = laplacian(AFFINITY)
DEGREES = np.array([2.5, 3.0, 1.0, 0.5])

PARTS = {
    "l1": L1(0.4),
    "l1 of no weight": L1(0.0),
    "l1 by entry": L1(WEIGHTS),
    "l1 by row": L1(WEIGHTS[:, :1]),
    "l1 by column": L1(WEIGHTS[1]),
    "l1-nonneg": l1_nonneg(0.4),
    "l1-nonneg of no weight": l1_nonneg(0),
    "l21": L21(0.4),
    "l21 by column": L21(0.4, per="column"),
    "l21 by entry labels": L21(0.4, per=ENTRIES),
    "l21 by row labels": L21(0.4, per=ROWS),
    "l21 of no weight": L21(0.0),
    "l21-nonneg": l21_nonneg(0.4),
    "l21-nonneg by column": l21_nonneg(0.4, "column"),
    "l21-nonneg by labels": l21_nonneg(0.4, ENTRIES),
    "sparse-group": SparseGroup(0.3, 0.4),
    "sparse-group by column": SparseGroup(0.1, 0.9, per="column"),
    "sparse-group by labels": SparseGroup(0.3, 0.4, per=ROWS),
    "nuclear": Nuclear(0.4),
    "nuclear of no weight": Nuclear(0),
    "huber": Huber(0.7, 0.3),
    "huber of a wide core": Huber(2.0, 50.0),
    "box": Box(-0.5, 0.7),
    "box off zero": Box(0.1, 0.3),
    "box open above": Box(low=0.2, high=math.inf),
    "box open below": Box(low=-math.inf, high=-1.0),
    "box that is a cone": Box(0.0, math.inf),
    "box that is the other cone": Box(-math.inf, 0),
    "box that is a point": Box(0.1, 0.1),
    "simplex": Simplex(),
    "simplex by row": Simplex(0.3, per="row"),
    "simplex of all": Simplex(20.0, per="all"),
    "l1-ball": L1Ball(2.0),
    "l1-ball by column": L1Ball(0.7, per="column"),
    "l1-ball by row": L1Ball(1.3, per="row"),
    "ball": Ball(1.5),
    "ball by column": Ball(0.7, per="column"),
    "ball by row": Ball(1.1, per="row"),
    "tv": TV(0.4),
    "tv by row": TV(0.4, per="row"),
    "tv of no weight": TV(0.0),
    "graph": Graph(L, 0.7),
    "graph, sparse": Graph(scipy.sparse.csr_array(L), 0.7),
    "graph of no weight": Graph(L, 0.0),
}
COMBINED = {
    "scaled l1": scaled(L1(0.4), 3.0),
    "scaled simplex": scaled(Simplex(), 3.0),
    "scaled elastic net": scaled(ElasticNet(0.4, 0.7), 0.5),
    "scaled l0-ball": scaled(L0Ball(2, per="row"), 2.0),
    "ridge and l1 by entry": with_ridge(L1(WEIGHTS), 0.3),
    "ridge and l21": with_ridge(L21(0.4), 2.0),
    "ridge and elastic net": with_ridge(ElasticNet(0.4, 0.7), 2.0),
    "ridge and l1-ball": with_ridge(L1Ball(2.0), 0.5),
    "ridge and tv": with_ridge(TV(0.4), 0.5),
    "ridge and l0-ball": with_ridge(L0Ball(3), 0.5),
    "no ridge": with_ridge(L1(0.4), 0.0),
    "orthant and nothing": with_nonneg(Zero()),
    "orthant and ridge": with_nonneg(Ridge(0.4)),
    "orthant and l1 by entry": with_nonneg(L1(WEIGHTS)),
    "orthant and elastic net": with_nonneg(ElasticNet(0.4, 0.7)),
    "orthant and huber": with_nonneg(Huber(0.7, 0.3)),
    "orthant and l21 by labels": with_nonneg(L21(0.4, per=ENTRIES)),
    "orthant and sparse group": with_nonneg(SparseGroup(0.3, 0.4)),
    "orthant and ball": with_nonneg(Ball(0.7, per="column")),
    "orthant and l1-ball": with_nonneg(L1Ball(1.3)),
    "orthant and l0-ball": with_nonneg(L0Ball(2, per="column")),
    "orthant and a combination": with_nonneg(scaled(with_ridge(on_columns(L21(0.4), [0, 2]), 0.3), 2.0)),
    "orthant and box": with_nonneg(Box(-0.5, 0.7)),
    "columns of l1": on_columns(L1(0.4), [0, 2]),
    "columns of l1 by entry": on_columns(L1(WEIGHTS[:, :2]), (2, 0)),
    "columns of simplex": on_columns(Simplex(), 1),
    "columns of ridge": on_columns(Ridge(0.4), [1]),
    "columns of nuclear": on_columns(Nuclear(0.4), range(2)),
    "columns of the orthant": on_columns(NonNegative(), np.array([1, 2])),
}
ALL = PARTS | COMBINED
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


# planted mistakes: a check that cannot fail is none


@frozen
class Planted(Regularizer):
    H: Regularizer
    wrong: object
    traits: Trait = Trait.NONE

    def value(self, X):
        return self.H.value(X)

    def prox(self, X, step):
        return self.wrong(X, step)


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


# a reference of its own for each


def test_weighted_l1_thresholds_each_entry_by_its_weight():
    for X, step in cases():
        wanted = np.sign(X) * np.maximum(np.abs(X) - step * WEIGHTS, 0)
        np.testing.assert_allclose(L1(WEIGHTS).prox(X, step), wanted, rtol=1e-13, atol=1e-16)
        assert L1(WEIGHTS).value(X) == pytest.approx(np.sum(WEIGHTS * np.abs(X)))
    assert L1(np.full((4, 3), 0.4)).value(X) == pytest.approx(L1(0.4).value(X))


def test_the_weights_of_l1_are_its_own():
    mine = WEIGHTS.copy()
    H = L1(mine)
    mine[0, 1] = 100.0
    assert H.eta[0, 1] == 0.3
    assert not H.eta.flags.writeable


SCALAR = {
    "l1-nonneg": (l1_nonneg(0.4), (0.0, np.inf)),
    "huber": (Huber(0.7, 0.3), (-np.inf, np.inf)),
    "box": (Box(-0.5, 0.7), (-0.5, 0.7)),
}


@pytest.mark.parametrize(("H", "domain"), SCALAR.values(), ids=SCALAR)
def test_a_separable_prox_is_the_minimiser_of_a_bounded_search(H, domain):
    for X, step in cases((2, 2)):
        for x, z in zip(X.ravel(), H.prox(X, step).ravel(), strict=True):
            low, high = max(domain[0], -abs(x) - 1), min(domain[1], abs(x) + 1)

            def cost(z, x=x, step=step):
                return float(H.value(np.array([[z]])) + (z - x) ** 2 / (2 * step))

            found = scipy.optimize.minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
            assert z == pytest.approx(found.x, abs=1e-6 * (1 + abs(x)))


def test_the_huber_prox_solves_its_equation():
    for X, step in cases():
        Z = Huber(0.7, 0.3).prox(X, step)
        np.testing.assert_allclose(Z + step * 0.7 * np.clip(Z, -0.3, 0.3), X, rtol=1e-14)


def groups(per):
    if isinstance(per, str):
        return [np.indices((4, 3))[0 if per == "row" else 1] == k for k in range(4 if per == "row" else 3)]
    labels = per if per.ndim == 2 else np.repeat(per[:, None], 3, axis=1)
    return [labels == k for k in set(labels.ravel().tolist())]


@pytest.mark.parametrize("per", ["row", "column", ENTRIES, ROWS], ids=["row", "column", "entries", "rows"])
def test_the_group_lasso_shortens_each_group(per):
    H = L21(0.4, per=per)
    for X, step in cases():
        Z = H.prox(X, step)
        for group in groups(per):
            length = np.linalg.norm(X[group])
            wanted = X[group] * (1 - 0.4 * step / length) if length > 0.4 * step else 0 * X[group]
            np.testing.assert_allclose(Z[group], wanted, rtol=1e-12, atol=1e-15)
        assert H.value(X) == pytest.approx(0.4 * sum(np.linalg.norm(X[group]) for group in groups(per)))


def both(F, G, X, step, rounds=20000):
    """The prox of F + G from those of F and G, by Dykstra's iteration."""
    P, Q = np.zeros_like(X), np.zeros_like(X)
    Z = X
    for _ in range(rounds):
        A = F.prox(Z + P, step)
        P = Z + P - A
        new = G.prox(A + Q, step)
        Q = A + Q - new
        if np.abs(new - Z).max() + np.abs(new - A).max() <= 1e-13 * np.abs(X).max():
            break
        Z = new
    return new


SUMS = {
    "l1-nonneg": (l1_nonneg(0.4), L1(0.4), NonNegative()),
    "l21-nonneg": (l21_nonneg(0.4), L21(0.4), NonNegative()),
    "l21-nonneg by labels": (l21_nonneg(0.4, ENTRIES), L21(0.4, ENTRIES), NonNegative()),
    "sparse-group": (SparseGroup(0.3, 0.4), L1(0.3), L21(0.4)),
    "sparse-group by column": (SparseGroup(0.1, 0.9, "column"), L1(0.1), L21(0.9, "column")),
    "ridge and l1-ball": (with_ridge(L1Ball(2.0), 0.5), L1Ball(2.0), Ridge(0.5)),
    "ridge and tv": (with_ridge(TV(0.4), 0.5), TV(0.4), Ridge(0.5)),
    "orthant and huber": (with_nonneg(Huber(0.7, 0.3)), Huber(0.7, 0.3), NonNegative()),
    "orthant and ball": (with_nonneg(Ball(1.5)), Ball(1.5), NonNegative()),
    "orthant and l1-ball": (with_nonneg(L1Ball(1.3, "row")), L1Ball(1.3, "row"), NonNegative()),
    "orthant and box": (with_nonneg(Box(-0.5, 0.7)), Box(-0.5, 0.7), NonNegative()),
}


@pytest.mark.parametrize(("H", "F", "G"), SUMS.values(), ids=SUMS)
def test_the_prox_of_a_sum_is_the_limit_of_dykstra(H, F, G):
    for X, step in cases(steps=(1e-2, 1.0)):
        np.testing.assert_allclose(H.prox(X, step), both(F, G, X, step), atol=1e-6 * np.abs(X).max())
        Z = H.prox(X, step)
        assert H.value(Z) == pytest.approx(F.value(Z) + G.value(Z))


def test_the_nuclear_prox_has_a_dual_certificate():
    for X, step in cases((5, 3)):
        for A in (X, X.T):
            Z = Nuclear(0.4).prox(A, step)
            room = 1e-12 * np.linalg.norm(A)
            values = np.sqrt(np.maximum(np.linalg.eigvalsh(Z.T @ Z), 0))
            assert np.linalg.norm(A - Z, 2) <= 0.4 * step + room
            assert np.sum((A - Z) * Z) == pytest.approx(0.4 * step * values.sum(), abs=1e-6 * np.sum(A**2))
            assert Nuclear(0.4).value(Z) == pytest.approx(0.4 * values.sum(), abs=1e-6 * np.linalg.norm(A))


def test_the_nuclear_prox_lowers_the_rank():
    U, _, Vt = np.linalg.svd(np.random.default_rng(0).standard_normal((6, 4)), full_matrices=False)
    X = U * [3.0, 2.0, 1.0, 0.5] @ Vt
    np.testing.assert_allclose(Nuclear(1.5).prox(X, 1.0), U * [1.5, 0.5, 0, 0] @ Vt, atol=1e-14)


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


@pytest.mark.parametrize("weight", [0.01, 0.5, 3.0, 1e4])
@pytest.mark.parametrize("kind", ["noise", "walk", "steps", "constant", "ramp"])
def test_the_tv_prox_has_a_dual_certificate(kind, weight):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((400, 2))
    X = {
        "noise": noise,
        "walk": np.cumsum(noise, axis=0),
        "steps": np.round(np.cumsum(noise, axis=0)),
        "constant": np.ones((400, 2)),
        "ramp": np.arange(800.0).reshape(400, 2),
    }[kind]
    Z = TV(2.0).prox(X, weight / 2.0)
    dual = np.cumsum(X - Z, axis=0)  # X − Z = Dᵀu: the optimum has |u| ≤ weight, and u = ±weight at each jump
    room = 1e-11 * max(1.0, np.abs(X).max(), weight)
    assert np.abs(dual[-1]).max() <= room
    assert np.abs(dual).max() <= weight + room
    jumps = np.diff(Z, axis=0)
    real = np.abs(jumps) > room
    np.testing.assert_allclose(dual[:-1][real], -weight * np.sign(jumps[real]), atol=room)
    np.testing.assert_array_equal(TV(2.0, per="row").prox(X.T, weight / 2.0), Z.T)


def test_the_tv_prox_agrees_with_a_bounded_least_squares_solver():
    rng = np.random.default_rng(2)
    for n in (2, 3, 7, 12):
        D = np.diff(np.eye(n), axis=0)
        for weight in (0.05, 0.7, 5.0):
            y = rng.standard_normal(n)
            u = scipy.optimize.lsq_linear(D.T, y, (-weight, weight), method="bvls", tol=1e-14).x
            np.testing.assert_allclose(fuse(y.tolist(), weight), y - D.T @ u, atol=1e-10)


def test_the_tv_of_a_line_of_one_entry_is_nothing():
    X = np.array([[3.0, -2.0]])
    np.testing.assert_array_equal(TV(5.0).prox(X, 1.0), X)
    np.testing.assert_array_equal(TV(5.0, "row").prox(X, 1.0), [[0.5, 0.5]])
    assert TV(5.0).value(X) == 0.0
    assert TV(5.0, "row").value(X) == 25.0
    assert TV().prox(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_the_graph_prox_solves_its_linear_system():
    for X, step in cases():
        wanted = np.linalg.solve(np.eye(4) + step * 0.7 * L, X)
        for form in (L, scipy.sparse.csr_array(L), scipy.sparse.coo_matrix(L)):
            H = Graph(form, 0.7)
            np.testing.assert_allclose(H.prox(X, step), wanted, rtol=1e-10, atol=1e-13 * np.abs(X).max())
            edges = sum(AFFINITY[i, j] * np.sum((X[i] - X[j]) ** 2) for i in range(4) for j in range(i))
            assert H.value(X) == pytest.approx(0.35 * edges)
            np.testing.assert_allclose(H.prox(X[:, 0], step), wanted[:, 0], rtol=1e-10, atol=1e-13 * np.abs(X).max())


def test_the_laplacian_has_the_degrees_on_its_diagonal_and_ignores_self_loops():
    np.testing.assert_array_equal(L, np.diag(DEGREES) - AFFINITY + np.diag(np.diagonal(AFFINITY)))
    np.testing.assert_array_equal(L.sum(axis=1), np.zeros(4))
    sparse = laplacian(scipy.sparse.csr_array(AFFINITY))
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), L)


def normalised():
    D = np.diag(1 / np.sqrt(DEGREES))
    return D @ L @ D


SIGNED = np.outer([1.0, -1.0, 1.0, -1.0], [1.0, -1.0, 1.0, -1.0])
"""Positive semidefinite with rows that sum to zero, and yet ‖L‖₂ = 4 > 2·max L_ii."""


@pytest.mark.parametrize("form", [L, normalised(), SIGNED], ids=["laplacian", "normalised", "signed"])
@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
def test_the_bounds_of_the_graph_hold(form, wrap):
    H = Graph(wrap(form), 0.7)
    assert H.norm_bound >= 0.7 * np.linalg.norm(form, 2) * (1 - 1e-12)
    assert H.row_bound.shape == (4,)
    assert np.linalg.eigvalsh(np.diag(H.row_bound) - 0.7 * form)[0] >= -1e-12
    assert H.prox(np.ones((4, 2)), 1.0).shape == (4, 2)


def test_the_bounds_of_a_laplacian_are_twice_its_degrees():
    assert Graph(L, 0.7).norm_bound == pytest.approx(2 * 0.7 * 3.0)
    np.testing.assert_allclose(Graph(L, 0.7).row_bound, 2 * 0.7 * DEGREES)


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    "bad",
    [np.ones((2, 3)), np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([1.0, np.nan])],
    ids=["not square", "not symmetric", "indefinite", "not finite"],
)
def test_a_graph_of_an_unfit_matrix_is_refused(bad, wrap):
    with pytest.raises(DataError, match="L must"):
        Graph(wrap(bad))


def test_unfit_affinities_are_refused():
    for bad in (-AFFINITY, np.ones((2, 3)), "affinity", np.ones((2, 2)) * 1j, [[1.0], [2.0, 3.0]]):
        with pytest.raises(DataError):
            laplacian(bad)
    with pytest.raises(DataError, match="4 nodes"):
        Graph(L).prox(np.ones((3, 4)), 1.0)


# combinators


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
    H = Planted(Zero(), sphere, Trait.CONSTANT_NORM | Trait.HOMOGENEOUS)
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


# parameters

REFUSED = [
    lambda: L1(-0.1),
    lambda: L1([0.1, -0.1]),
    lambda: L1([0.1, math.nan]),
    lambda: L1("much"),
    lambda: L1(True),
    lambda: L1(None),
    lambda: L1([[1.0], [1.0, 2.0]]),
    lambda: l1_nonneg(math.inf),
    lambda: L21(-1.0),
    lambda: L21(1.0, per="all"),
    lambda: L21(1.0, per=np.ones((4, 3))),
    lambda: L21(1.0, per=3),
    lambda: l21_nonneg(1.0, per=None),
    lambda: SparseGroup(1.0, -1.0),
    lambda: Nuclear(-1.0),
    lambda: Huber(1.0, 0.0),
    lambda: Box(1.0, 0.0),
    lambda: Box(math.nan, 0.0),
    lambda: Box(math.inf, math.inf),
    lambda: Box(0.0, "1"),
    lambda: Box(False, True),
    lambda: Simplex(0.0),
    lambda: Simplex(per="entry"),
    lambda: L1Ball(-1.0),
    lambda: Ball(math.inf),
    lambda: TV(per="all"),
    lambda: Graph(L, -1.0),
    lambda: scaled(L1(), 0.0),
    lambda: with_ridge(L1(), -1.0),
    lambda: on_columns(L1(), []),
    lambda: on_columns(L1(), [0, 0]),
    lambda: on_columns(L1(), [-1]),
    lambda: on_columns(L1(), [0.5]),
]


@pytest.mark.parametrize("build", REFUSED)
def test_a_parameter_outside_its_range_is_refused(build):
    with pytest.raises(ParameterError, match=r"(?s)The '\w+' parameter of \w+ must be .*\. Got .* instead"):
        build()


MISFITS = [
    lambda X: L1(np.ones(5)).prox(X, 1.0),
    lambda X: L1(np.ones((2, 4, 3))).value(X),
    lambda X: L21(1.0, per=[1, 2]).prox(X, 1.0),
    lambda X: L21().prox(X[0], 1.0),
    lambda X: Nuclear().prox(X[0], 1.0),
    lambda X: Simplex().prox(X[0], 1.0),
    lambda X: L1Ball(per="row").value(X[0]),
    lambda X: Ball(per="row").value(X[0]),
    lambda X: TV().value(X[0]),
    lambda X: on_columns(L1(), 3).value(X),
]


@pytest.mark.parametrize("use", MISFITS)
def test_a_block_of_the_wrong_shape_is_refused(use):
    with pytest.raises((ParameterError, DataError)):
        use(np.ones((4, 3)))


def test_blocks_of_any_dimension_are_taken_where_no_line_is_meant():
    for shape in ((5,), (2, 3, 4)):
        X = np.random.default_rng(0).standard_normal(shape)
        for H in (L1(0.4), l1_nonneg(), Huber(), Box(), Simplex(per="all"), L1Ball(), Ball(), L21(0.4, [0, 1] * 9)):
            G = L21(0.4, per=np.arange(X.size).reshape(shape) % 2) if isinstance(H, L21) else H
            Z = G.prox(X, 0.5)
            assert Z.shape == shape
            assert math.isfinite(G.value(Z))
