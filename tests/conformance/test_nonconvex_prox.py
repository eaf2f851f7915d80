"""Every nonconvex regularizer: the prox is the global minimiser, found again by search."""

import itertools
import math

import numpy as np
import pytest
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.l1_minus_ridge import L1MinusRidge
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import WithNonNegative
from nonconvex_parts import ALL, SEPARABLE, WHOLE, name, penalty
from scipy.optimize import minimize


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


@pytest.mark.parametrize("H", [Log(1e300), Exp(1e300)], ids=name)
@pytest.mark.parametrize("step", [1.0, 1e8])
def test_a_huge_weight_leaves_nothing_of_an_entry(H, step):
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(H.prox(np.array([-3.0, 0.0, 1e-3, 1e5]), step), np.zeros(4))


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
