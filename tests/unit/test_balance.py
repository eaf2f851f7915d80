"""Balanced factors: the same product, and the least H that known optima and searches allow."""

import numpy as np
import pytest
from attrs import frozen
from balance_reference import best_change

import bregopt as bo

SHAPES = [(7, 3, 5), (4, 6, 9), (5, 1, 2)]
WEIGHTS = {  # spec: (l1, ridge)
    "l1(0.3)": (0.3, 0.0),
    "l1-nonneg(2)": (2.0, 0.0),
    "ridge(0.7)": (0.0, 0.7),
    "ridge(20)": (0.0, 20.0),
    "elastic-net(0.2, 0.5)": (0.2, 0.5),
}


@frozen
class OfProduct(bo.SmoothPart):
    """An F that claims to know UV alone."""

    of_product = True

    def value(self, Y, W):
        return 0.0

    def value_and_gradient(self, Y, W):
        return 0.0, Y * 0.0


@frozen
class OfBoth(OfProduct):
    of_product = False


def separable(on_U, on_V):
    return bo.Separable(U=bo.make("regularizer", on_U), V=bo.make("regularizer", on_V))


def factors(m, r, n, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    stretch = np.geomspace(0.1, 30.0, r)
    return bo.Blocks(U=scale * rng.standard_normal((m, r)) * stretch, V=rng.standard_normal((r, n)) / scale)


def product(Y):
    return Y.U @ Y.V


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("on_U", "on_V"), [(0.1, 0.1), (3.0, 0.02)])
def test_with_ridges_H_becomes_a_multiple_of_the_nuclear_norm(on_U, on_V, shape):
    Y, H = factors(*shape), separable(f"ridge({on_U})", f"ridge({on_V})")
    (Z,) = bo.balanced(OfProduct(), H, Y)
    np.testing.assert_allclose(product(Z), product(Y), atol=1e-11 * np.abs(product(Y)).max())
    nuclear = np.linalg.svd(product(Y), compute_uv=False).sum()
    assert H.value(Z) == pytest.approx(np.sqrt(on_U * on_V) * nuclear, rel=1e-3 if shape[1] > min(shape) else 1e-9)
    assert H.value(Z) < H.value(Y)


@pytest.mark.parametrize("on_V", WEIGHTS)
@pytest.mark.parametrize("on_U", WEIGHTS)
def test_every_pair_of_penalties_gets_the_change_that_a_search_finds(on_U, on_V):
    Y, H = factors(7, 3, 5), separable(on_U, on_V)
    Y = H.prox(Y, 1e-12)
    (Z,) = bo.balanced(OfProduct(), H, Y)
    T = best_change(Y.U, Y.V, WEIGHTS[on_U], WEIGHTS[on_V])
    np.testing.assert_allclose(Z.U, Y.U @ T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(Z.V, np.linalg.solve(T, Y.V), rtol=1e-9, atol=1e-9)
    assert np.isfinite(H.value(Z))


@pytest.mark.parametrize("spec", ["ridge(0.1)", "l1(0.1)"])
def test_another_point_goes_along_and_a_second_time_changes_nothing(spec):
    Y, Y_prev, H = factors(7, 1, 5), factors(7, 1, 5, seed=1), separable(spec, spec)
    Z, Z_prev = bo.balanced(OfProduct(), H, Y, Y_prev)
    np.testing.assert_allclose(Z_prev.U / Y_prev.U, Z.U[0, 0] / Y.U[0, 0])
    np.testing.assert_allclose(product(Z_prev), product(Y_prev), rtol=1e-10)
    again = bo.balanced(OfProduct(), H, Z, Z_prev)
    assert again[0] is Z
    assert again[1] is Z_prev


@pytest.mark.parametrize(
    ("on_U", "on_V"),
    [
        ("none", "none"),
        ("none", "ridge(1)"),
        ("l1(1)", "nonneg"),
        ("box(-50, 50)", "box(-50, 50)"),
        ("mcp(0.2, 3)", "l1(1)"),
        ("l21(1)", "l21(1)"),
    ],
)
def test_an_H_that_no_change_is_known_to_lower_is_left_alone(on_U, on_V):
    Y = factors(7, 3, 5)
    assert bo.balanced(OfProduct(), separable(on_U, on_V), Y)[0] is Y


def test_an_F_that_knows_more_than_the_product_is_left_alone():
    Y = factors(7, 3, 5)
    assert bo.balanced(OfBoth(), separable("l1(1)", "l1(1)"), Y)[0] is Y


@pytest.mark.parametrize("spec", ["ridge(0.1)", "l1(0.1)", "elastic-net(0.1, 0.1)"])
@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0, 1e6, 1e100])
def test_factors_of_any_size_and_rank_keep_their_product(spec, scale):
    Y, H = factors(7, 4, 5, scale=scale), separable(spec, spec)
    lame = Y.map(lambda name, X: X * (np.arange(4) != 1) if name == "U" else X * (np.arange(4) != 2)[:, None])
    twins = Y.map(lambda name, X: X[:, [0, 0, 2, 2]] if name == "U" else X)
    gone = Y.map(lambda name, X: 0.0 * X)
    for point in (Y, lame, twins, gone):
        (Z,) = bo.balanced(OfProduct(), H, point)
        size = max(np.abs(product(Y)).max(), 1e-300)
        np.testing.assert_allclose(product(Z), product(point), rtol=0, atol=1e-11 * size)
        assert H.value(Z) <= H.value(point)
