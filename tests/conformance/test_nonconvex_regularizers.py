"""The nonconvex regularizers: each prox is the global minimiser, found again by search, and each claim holds."""

import itertools
import math

import numpy as np
import pytest
from attrs import evolve, fields
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.exp import Exp, lower_root
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.l1_minus_ridge import L1MinusRidge
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import WithNonNegative, l0_nonneg
from scipy.optimize import minimize

from bregopt import Trait
from bregopt.errors import DataError, ParameterError

SEPARABLE = [
    *(L1MinusRidge(0.4, 0.7), L1MinusRidge(2.0, 0.05), L1MinusRidge(0.4, 0.0)),
    *(L0(0.3), L0(20.0), L0(0.0)),
    *(Lp(0.4), Lp(30.0, p=0.5), Lp(0.4, p=2 / 3), Lp(30.0, p="2/3"), Lp(0.0, p="1/2"), Lp(0.0, p=2 / 3)),
    *(MCP(0.5, 0.8), MCP(0.5, 3.0), MCP(4.0, 0.05), MCP(0.0)),
    *(SCAD(0.5, 2.1), SCAD(0.5, 3.7), SCAD(3.0, 9.0), SCAD(0.0)),
    *(Log(0.4, 0.1), Log(2.0, 1.5), Log(0.3, 1e-4), Log(0.0)),
    *(Exp(0.5, 2.0), Exp(2.0, 0.3), Exp(0.2, 50.0), Exp(0.0)),
    *(CappedL1(0.4, 0.2), CappedL1(1.0, 3.0), CappedL1(0.0)),
]
WHOLE = [
    *(L1MinusL2(0.4), L1MinusL2(5.0), L1MinusL2(0.0)),
    *(l0_nonneg(3), l0_nonneg(1, per="row"), l0_nonneg(2, per="column"), l0_nonneg(100)),
    *(RankBall(1), RankBall(2), RankBall(9)),
    *(UnitColumns(), UnitRows(), Orthonormal()),
]
ALL = SEPARABLE + WHOLE
SETS = (WithNonNegative, RankBall, UnitColumns, UnitRows, Orthonormal)


def penalty(H, r):
    """h(r) for r ≥ 0, written a second time."""
    r = np.asarray(r, dtype=float)
    match H:
        case L1MinusRidge(eta1=e1, eta2=e2):
            return e1 * r - e2 / 2 * r**2
        case L0(eta=e):
            return e * (r > 0)
        case Lp(eta=e, p=p):
            return e * r**p
        case MCP(eta=e, gamma=g):
            return np.where(r <= g * e, e * r - r**2 / (2 * g), g * e**2 / 2)
        case SCAD(eta=e, a=a):
            middle = (2 * a * e * r - r**2 - e**2) / (2 * (a - 1))
            return np.where(r <= e, e * r, np.where(r <= a * e, middle, e**2 * (a + 1) / 2))
        case Log(eta=e, eps=eps):
            return e * np.log1p(r / eps)
        case Exp(eta=e, theta=th):
            return -e * np.expm1(-th * r)
        case CappedL1(eta=e, cap=cap):
            return e * np.minimum(r, cap)
    raise AssertionError(H)


def slope(H, r):
    """h'(r) for r > 0."""
    match H:
        case L1MinusRidge(eta1=e1, eta2=e2):
            return e1 - e2 * r
        case L0():
            return 0.0 * r
        case Lp(eta=e, p=p):
            return e * p * r ** (p - 1)
        case MCP(eta=e, gamma=g):
            return np.maximum(e - r / g, 0)
        case SCAD(eta=e, a=a):
            return np.clip((a * e - r) / (a - 1), 0, e)
        case Log(eta=e, eps=eps):
            return e / (eps + r)
        case Exp(eta=e, theta=th):
            return e * th * np.exp(-th * r)
        case CappedL1(eta=e, cap=cap):
            return np.where(r < cap, e, 0.0)
    raise AssertionError(H)


def name(H):
    return repr(H).replace(" ", "")


def steps_for(H):
    """Steps from 0.01 to 10, and on both sides of where the proximal map begins to jump or changes its form."""
    limits = [1 / H.weak_convexity] if H.weak_convexity else []
    limits += [H.a + 1] if isinstance(H, SCAD) else []
    limits += [2 * H.cap / H.eta] if isinstance(H, CappedL1) and H.eta else []
    near = [t * limit for limit in limits for t in (0.3, 0.99, 1.0, 1.01, 1.5, 30.0)]
    return [t for t in (1e-2, 0.1, 1.0, 10.0, *near) if t < H.step_limit * 0.999]


def points_for(H, step):
    """Zero, six decades of either sign, and points about the places where the prox leaves zero or joins x."""
    sizes = np.logspace(-3, 3, 25)
    near = [1 + sign * move for sign in (-1, 1) for move in (1e-9, 1e-6, 1e-4, 1e-2, 0.1)]
    x = [0.0, *sizes]
    for changed in (lambda r: H.prox(r, step) > 0, lambda r: H.prox(r, step) == r):
        for i in np.flatnonzero(np.diff(changed(sizes))):
            low, high = sizes[i : i + 2]
            for _ in range(50):
                middle = np.array([(low + high) / 2])
                low, high = (middle[0], high) if changed(middle) == changed(sizes)[i] else (low, middle[0])
            x += [high * factor for factor in near]
    return np.array(x) * np.where(np.arange(len(x)) % 2, -1, 1)


def excess(H, r, size, step):
    """step·h(r) + (r − size)²/2 − size²/2, without the squares that cancel."""
    return step * penalty(H, r) + r * (r / 2 - size)


def searched(H, size, step):
    """The least excess over r ≥ 0: a grid, refined about its best points."""
    top = size[:, None] / (1 - step * H.eta2) if isinstance(H, L1MinusRidge) else size[:, None]
    grid = top * np.concatenate([[0.0], np.logspace(-9, -2, 60), np.linspace(0.01, 1, 400)])
    best = np.full(size.shape, np.inf)
    width = 0.02 * top
    for _ in range(4):
        values = excess(H, grid, size[:, None], step)
        best = np.minimum(best, values.min(axis=1))
        leaders = np.take_along_axis(grid, np.argsort(values, axis=1)[:, :3], axis=1)
        offsets = np.linspace(-1, 1, 41)
        grid = np.abs(leaders[:, :, None] + width[:, :, None] * offsets).reshape(size.size, -1)
        width = width / 15
    return np.minimum(best, excess(H, size, size, step))


@pytest.mark.parametrize("H", SEPARABLE, ids=name)
def test_no_point_of_a_refined_grid_beats_the_separable_prox(H):
    for step in steps_for(H):
        x = points_for(H, step)
        z = H.prox(x, step)
        assert np.all(z * x >= 0)
        assert H.value(x) == pytest.approx(penalty(H, np.abs(x)).sum(), rel=1e-12)
        own, best = excess(H, np.abs(z), np.abs(x), step), searched(H, np.abs(x), step)
        assert np.all(own <= best + 1e-12 * (x**2 + np.abs(best))), (step, x[np.argmax(own - best)])


@pytest.mark.parametrize("H", SEPARABLE, ids=name)
def test_what_the_separable_prox_leaves_is_stationary_to_rounding(H):
    for step in steps_for(H):
        x = points_for(H, step)
        z, size = np.abs(H.prox(x, step)), np.abs(x)
        kept = z > 0
        pull = step * slope(H, z[kept])
        # a nearly flat objective does not know its minimiser better than rounding over its curvature
        curvature = 1e-3 + abs(1 - step * (H.weak_convexity or 0.0))
        assert np.all(np.abs(pull + z[kept] - size[kept]) <= 1e-14 * (size[kept] + np.abs(pull)) / min(curvature, 1.0))


def coordinates(Z, X):
    """Moves along the coordinates, zeros, multiples, segments and noise, as rivals of Z."""
    rng = np.random.default_rng(1)
    size = np.abs(Z).max() + np.abs(X).max() + 1e-9
    yield from (t * Z for t in (0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0))
    yield from (X, 0.5 * (X + Z), 0.9 * Z + 0.1 * X)
    for index in np.ndindex(X.shape):
        for move in (-0.1, -1e-4, 1e-4, 0.1, None):
            rival = Z.copy()
            rival[index] = 0.0 if move is None else rival[index] + move * size
            yield rival
        alone = np.zeros_like(X)
        alone[index] = X[index]
        yield alone
    yield from (Z + size * rng.standard_normal(X.shape) * scale for scale in (1e-3, 1e-1) for _ in range(10))


def feasible(H, rival):
    """A feasible point near the rival, found without the prox under test."""
    match H:
        case RankBall(k=k):
            vectors = np.linalg.eigh(rival.T @ rival).eigenvectors
            return rival @ vectors[:, -k:] @ vectors[:, -k:].T
        case UnitColumns() | UnitRows():
            axis = 0 if isinstance(H, UnitColumns) else 1
            norms = np.sqrt(np.sum(rival**2, axis=axis, keepdims=True))
            return np.where(norms > 0, rival / np.where(norms > 0, norms, 1), 1 / math.sqrt(rival.shape[axis]))
        case Orthonormal():
            tall = rival if rival.shape[0] >= rival.shape[1] else rival.T
            q, r = np.linalg.qr(tall + 1e-300)
            q = q * np.where(np.diag(r) < 0, -1, 1)
            return q if rival.shape[0] >= rival.shape[1] else q.T
        case WithNonNegative():
            return np.maximum(rival, 0)
    return rival


@pytest.mark.parametrize("H", ALL, ids=name)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_prox_is_fresh_feasible_and_beats_every_rival(H, scale):
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3, 4)] if H in WHOLE else [(4, 3)]
    for step, shape in itertools.product([t for t in (1e-2, 1.0, 10.0, 300.0) if t < H.step_limit], shapes):
        X = scale * rng.standard_normal(shape)
        kept = X.copy()
        Z = H.prox(X, step)
        assert np.array_equal(X, kept)
        assert not np.shares_memory(Z, X)
        assert Z.shape == X.shape
        best = H.value(Z) + np.sum((Z - X) ** 2) / (2 * step)
        assert np.isfinite(best)
        for rival in coordinates(Z, X):
            near = feasible(H, rival)
            slack = 1e-9 * (abs(best) + np.sum(X**2) / step)
            assert H.value(near) + np.sum((near - X) ** 2) / (2 * step) >= best - slack


@pytest.mark.parametrize("H", [H for H in WHOLE if isinstance(H, WithNonNegative)], ids=name)
@pytest.mark.parametrize("seed", range(4))
def test_no_support_beats_the_sparse_non_negative_prox(H, seed):
    X = np.random.default_rng(seed).standard_normal((3, 4)) - (0.8 if seed > 1 else 0.0)
    Z = H.prox(X, 1.0)
    lines = {"all": X.reshape(1, -1), "row": X, "column": X.T}[H.H.per]
    gain = 0.0
    for line in lines:
        sizes = range(min(H.H.s, line.size) + 1)
        supports = itertools.chain.from_iterable(itertools.combinations(line, k) for k in sizes)
        gain += max(sum(max(x, 0) ** 2 for x in support) for support in supports)
    assert H.value(Z) == 0
    assert np.sum((Z - X) ** 2) == pytest.approx(np.sum(X**2) - gain, rel=1e-12)
    assert H.value(X) == math.inf


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


@pytest.mark.parametrize("H", [L1MinusL2(0.7), Lp(0.7), Lp(0.7, p=2 / 3)], ids=name)
def test_many_starts_of_a_local_method_find_nothing_better(H):
    rng = np.random.default_rng(5)

    def objective(u, x, step):
        h = 0.7 * (u.sum() - np.sqrt(u @ u)) if isinstance(H, L1MinusL2) else penalty(H, u).sum()
        return step * h + np.sum((u - x) ** 2) / 2

    for step, spread in itertools.product((0.1, 1.0, 4.0), (0.5, 2.0)):
        x = np.abs(spread * rng.standard_normal(3))
        own = objective(H.prox(x, step), x, step)
        starts = [*(mask * x for mask in np.ndindex(2, 2, 2)), *(2 * x.max() * rng.random((8, 3)))]
        for start in starts:
            found = minimize(objective, start + 1e-12, (x, step), method="L-BFGS-B", bounds=[(1e-14, None)] * 3)
            assert found.fun >= own * (1 - 1e-7)


def test_no_direction_beats_the_prox_of_l1_minus_l2():
    rng = np.random.default_rng(6)
    angles = np.linspace(0, np.pi / 2, 401)
    polar, turn = np.meshgrid(angles, angles)
    directions = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)]).reshape(3, -1)
    regimes = set()
    for _ in range(60):
        x, tau = np.abs(rng.standard_normal(3)), rng.choice([0.1, 0.5, 1.0, 3.0])
        gains = x @ directions - tau * (directions.sum(axis=0) - 1)
        z = L1MinusL2(0.5).prox(-x, 2 * tau)
        own = tau * (np.abs(z).sum() - np.linalg.norm(z)) + np.sum((z + x) ** 2) / 2
        grid = np.sum(x**2) / 2 - np.maximum(gains, 0).max() ** 2 / 2
        assert own <= grid + 1e-12
        assert own >= grid - 1e-3
        regimes.add((bool(x.max() <= tau), np.count_nonzero(z)))
    assert regimes == {(True, 1), (False, 1), (False, 2), (False, 3)}


@pytest.mark.parametrize("H", ALL, ids=name)
def test_the_traits_hold(H):
    rng = np.random.default_rng(2)
    assert Trait.CONVEX not in H.traits
    assert (Trait.SEPARABLE in H.traits) == (H in SEPARABLE)
    assert (Trait.HOMOGENEOUS in H.traits) == isinstance(H, L1MinusL2 | WithNonNegative | RankBall)
    assert (Trait.CONSTANT_NORM in H.traits) == isinstance(H, UnitColumns | UnitRows | Orthonormal)
    for scale, step in itertools.product((1e-3, 1.0, 1e3), (1e-2, 0.1, 0.3)):
        X = scale * rng.standard_normal((4, 3))
        Z = H.prox(X, step)
        if Trait.HOMOGENEOUS in H.traits:
            for t in (0.1, 3.0, 1e4):
                assert H.value(t * Z) == pytest.approx(t * H.value(Z), rel=1e-12)
                np.testing.assert_allclose(H.prox(t * X, t * step), t * Z, rtol=1e-11, atol=1e-14 * t * scale)
        if Trait.CONSTANT_NORM in H.traits:
            assert np.linalg.norm(Z) == pytest.approx(np.linalg.norm(H.prox(np.ones((4, 3)), 1.0)), rel=1e-14)
            np.testing.assert_allclose(H.prox(7.0 * X, 3.0 * step), Z, rtol=1e-11, atol=1e-14)
        if Trait.SEPARABLE in H.traits:
            entries = [H.prox(X[i : i + 1, j : j + 1], step) for i, j in np.ndindex(X.shape)]
            np.testing.assert_array_equal(Z.ravel(), np.concatenate(entries).ravel())
            assert H.value(X) == pytest.approx(sum(H.value(x) for x in X.reshape(-1, 1)), rel=1e-12)


@pytest.mark.parametrize("H", SEPARABLE, ids=name)
def test_an_array_of_steps_is_as_good_as_its_entries(H):
    X = np.random.default_rng(3).standard_normal((5, 4)) * np.logspace(-1, 2, 4)
    top = min(100.0, 0.95 * H.step_limit)
    whole = np.geomspace(1e-3, top, 20).reshape(5, 4)
    for steps in (whole, whole[:, :1], whole[:1], whole[0], np.array(whole[2, 2])):
        spread = np.broadcast_to(steps, X.shape)
        one_by_one = [H.prox(X[i : i + 1, j], float(spread[i, j])) for i, j in np.ndindex(X.shape)]
        Z = H.prox(X, steps)
        assert Z.shape == X.shape
        np.testing.assert_allclose(Z.ravel(), np.concatenate(one_by_one), rtol=1e-14)
        assert H.prox(X.astype(np.float32), steps).dtype == np.float32


@pytest.mark.parametrize("H", ALL, ids=name)
def test_the_split_adds_up(H):
    split = H.split()
    assert (split is not None) == (Trait.HOMOGENEOUS in H.traits or isinstance(H, L1MinusRidge))
    if split is None:
        return
    H0, eta = split
    assert Trait.HOMOGENEOUS in H0.traits
    for seed, step in itertools.product(range(3), (0.01, 1.0)):
        X = np.random.default_rng(seed).standard_normal((4, 3))
        Z = H.prox(X, step)
        assert H.value(Z) == pytest.approx(H0.value(Z) + eta / 2 * np.sum(Z**2), rel=1e-12)
        np.testing.assert_allclose(Z, H0.prox(X / (1 + step * eta), step / (1 + step * eta)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("H", [H for H in SEPARABLE if H.weak_convexity is not None], ids=name)
def test_the_modulus_of_weak_convexity_is_enough_and_none_smaller_is(H):
    rho = H.weak_convexity
    r = np.logspace(-7, 3, 400)[:, None]
    d = r * np.array([0.01, 0.1, 0.5, 0.9])
    bend = penalty(H, r - d) + penalty(H, r + d) - 2 * penalty(H, r)
    noise = 1e-15 * (np.abs(penalty(H, r + d)) + np.abs(penalty(H, r)) + rho * r**2 + r)
    assert np.all(bend + rho * d**2 >= -4 * noise)
    zero_weight = getattr(H, "eta", None) == 0
    assert zero_weight or rho == 0 or np.any(bend + 0.99 * rho * d**2 < -100 * noise)
    rng = np.random.default_rng(4)
    for scale in (1e-3, 1e-2, 0.1, 1.0, 10.0):
        X, Y = scale * rng.standard_normal((2, 30, 4, 3))
        for A, B in zip(X, Y, strict=True):
            middle = H.value((A + B) / 2)
            assert middle <= (H.value(A) + H.value(B)) / 2 + rho / 8 * np.sum((A - B) ** 2) + 1e-12 * abs(middle)


@pytest.mark.parametrize("H", [H for H in ALL if H.weak_convexity is None], ids=name)
def test_without_a_modulus_even_a_large_one_does_not_do(H):
    if getattr(H, "eta", None) == 0 or repr(H) in ("RankBall(k=9)", "WithNonNegative(H=L0Ball(s=100, per='all'))"):
        return  # convex in truth, and not claimed
    rng = np.random.default_rng(4)
    base = getattr(H, "cap", 0.0)
    worst = math.inf
    signs = -1 if isinstance(H, CappedL1) else 1
    for A, B in base + 1e-8 * np.abs(rng.standard_normal((20, 2, 4, 3))) * np.array([signs, 1])[:, None, None]:
        if isinstance(H, SETS):
            A, B = H.prox(A, 1.0), H.prox(B, 1.0)
        if isinstance(H, L0 | Lp):
            A = 0.0 * A
        bend = (H.value(A) + H.value(B)) / 2 - H.value((A + B) / 2)
        worst = min(worst, bend + 1e6 / 8 * np.sum((A - B) ** 2))
    assert worst < 0


def wide_parameters(H):
    """H with its numbers as NumPy scalars, which widen single precision where they are let."""
    own = {f.name: getattr(H, f.name) for f in fields(type(H))}
    return evolve(H, **{key: np.float64(value) for key, value in own.items() if isinstance(value, float)})


@pytest.mark.parametrize("H", ALL, ids=name)
def test_single_precision_is_kept_and_good_to_its_rounding(H):
    rng = np.random.default_rng(8)
    for scale, step in itertools.product((1e-2, 1.0, 30.0), (0.05, 0.5, 40.0)):
        if step >= H.step_limit:
            continue
        X = scale * rng.standard_normal((4, 3)).astype(np.float32)
        for given in (step, np.float64(step), np.float32(step)):
            Z = H.prox(X, given)
            assert Z.dtype == wide_parameters(H).prox(X, given).dtype == np.float32
        assert np.isfinite(H.value(Z))
        assert type(H.value(Z)) is float
        double = H.prox(X.astype(float), step)
        wide = Z.astype(float)
        costs = [
            (0.0 if isinstance(H, SETS) else H.value(P)) + np.sum((P - X) ** 2) / (2 * step) for P in (wide, double)
        ]
        assert costs[0] <= costs[1] + 1e-5 * (abs(costs[1]) + np.sum(X.astype(float) ** 2) / step)


@pytest.mark.parametrize("H", SEPARABLE, ids=name)
def test_the_separable_prox_does_not_hide_a_nan_and_accepts_other_shapes(H):
    step = min(0.5, 0.9 * H.step_limit)
    assert np.isnan(H.prox(np.array([np.nan, 3.0]), step)).tolist() == [True, False]
    X = np.random.default_rng(9).standard_normal((2, 3, 4))
    np.testing.assert_array_equal(H.prox(X, step).ravel(), H.prox(X.ravel(), step))
    assert H.prox(np.array([1, 2, 30]), step).dtype == np.float64
    np.testing.assert_array_equal(H.prox(np.array([1, 2, 30]), step), H.prox(np.array([1.0, 2.0, 30.0]), step))


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


def test_a_step_beyond_the_limit_is_refused():
    H = L1MinusRidge(0.3, 2.0)
    assert H.step_limit == 0.5
    for step in (0.5, 3.0, np.array([[0.1], [0.6]])):
        with pytest.raises(ParameterError, match=r"step.*below 1/eta2 = 0\.5"):
            H.prox(np.ones((2, 3)), step)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        *((kind, {"eta": bad}) for kind in (L0, Lp, MCP, SCAD, Log, Exp, CappedL1, L1MinusL2) for bad in (-1.0, "x")),
        *((L1MinusRidge, {name: bad}) for name in ("eta1", "eta2") for bad in (-0.1, math.inf)),
        *((Lp, {"p": bad}) for bad in (1.0, 0.3, "1/3", "half")),
        *((MCP, {"gamma": bad}) for bad in (0.0, -1.0, math.nan)),
        *((SCAD, {"a": bad}) for bad in (2.0, 1.0)),
        *((kind, {name: 0.0}) for kind, name in ((Log, "eps"), (Exp, "theta"), (CappedL1, "cap"))),
        *((kind, {name: bad}) for kind, name in ((RankBall, "k"), (L0Ball, "s")) for bad in (0, 1.5)),
        (L0Ball, {"per": "rows"}),
    ],
)
def test_a_parameter_outside_its_range_is_refused(kind, arguments):
    with pytest.raises(ParameterError, match=f"The '{next(iter(arguments))}' parameter of {kind.__name__} must be"):
        kind(**arguments)


@pytest.mark.parametrize("H", [RankBall(), UnitColumns(), UnitRows(), Orthonormal()], ids=name)
def test_matrix_regularizers_refuse_other_shapes(H):
    for call in (H.value, lambda X: H.prox(X, 1.0)):
        with pytest.raises(DataError, match="two dimensions"):
            call(np.ones(3))
