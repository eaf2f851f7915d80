"""The Bregman proximal map of the radial family against brute force."""

import numpy as np
import pytest
from attrs import frozen
from bregopt_kernels.radial import Radial
from bregopt_kernels.radial_prox import cubic
from recomputed import penalties
from scipy.optimize import minimize
from small_parts import Huber

import bregopt as bo
from bregopt.errors import IncompatibleError


@frozen
class Box(bo.Regularizer):
    """``H(X) = 0 if |x_ij| ≤ 0.4, else ∞``: convex, but not homogeneous."""

    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE

    def value(self, X):
        return 0.0 if np.abs(X).max() <= 0.4 + 1e-9 else np.inf

    def prox(self, X, step):
        return np.clip(X, -0.4, 0.4)


KERNELS = {
    "paper": Radial(a=3.0, b=2.0),
    "blocks": Radial(a=1.0, b=0.5, c={"U": 3.0}),
    "quadratic": Radial(b=1.5),
    "quartic": Radial(a=2.0),
}
PAIRS = [
    ("none", "none"),
    ("ridge(2)", "ridge(9)"),
    ("l1(0.3)", "nonneg"),
    ("elastic-net(0.2, 0.7)", "l1(0.5)"),
    (Box(), "l1(0.3)"),
    (Box(), Box()),
    (Huber(), "ridge(3)"),
    (Huber(), "nonneg"),
]


def objective(H, kernel, P, step):
    return lambda Y: step * H.value(Y) + P.dot(Y) + kernel.value(Y)


def random_P(seed, scale):
    rng = np.random.default_rng(seed)
    return bo.Blocks(U=scale * rng.standard_normal((2, 2)), V=scale * rng.standard_normal((2, 2)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_no_rival_beats_the_bregman_prox_of_a_convex_regularizer(kernel, pair):
    psi = KERNELS[kernel]
    H = bo.Separable(U=bo.make("regularizer", pair[0]), V=bo.make("regularizer", pair[1]))
    prox = bo.bregman_prox(psi, H)
    for seed, (scale, step) in enumerate([(1e-3, 1.0), (1.0, 0.3), (5.0, 1.0), (1e3, 2.0)]):
        P = random_P(seed, scale)
        Y = prox(P, step)
        phi = objective(H, psi, P, step)
        best = phi(Y)
        slack = 1e-9 * (abs(step * H.value(Y)) + abs(P.dot(Y)) + psi.value(Y))
        assert np.isfinite(best)
        for rival in rivals(H, phi, P, Y, seed):
            assert phi(rival) >= best - slack, (rival, best)


def rivals(H, phi, P, Y, seed):
    """Coordinate moves, multiples, segments, and a general minimiser from several starts."""
    rng = np.random.default_rng(seed)
    size = np.abs(Y.flat).max() + 1e-6
    for t in (0.0, 0.5, 0.99, 1.01, 2.0):
        yield H.prox(Y * t, 1e-12)
    for i in range(Y.flat.size):
        for move in (1e-4, 1e-2, 1.0):
            for sign in (-1, 1):
                flat = Y.flat.copy()
                flat[i] += sign * move * size
                yield H.prox(Y.like(flat), 1e-12)
    for _ in range(1):
        start = size * rng.standard_normal(Y.flat.size)
        found = minimize(lambda y: min(phi(H.prox(Y.like(y.copy()), 1e-12)), 1e300), start, method="Nelder-Mead",
                         options={"maxiter": 300, "xatol": 1e-9, "fatol": 1e-12})  # fmt: skip
        yield H.prox(Y.like(found.x), 1e-12)


@pytest.mark.parametrize("per", ["all", "row", "column"])
def test_the_l0_ball_is_the_best_over_every_support(per):
    import itertools

    psi = Radial(a=3.0, b=2.0, c={"V": 1.0})
    H = bo.Separable(U=bo.make("regularizer", f"l0-ball(1, per={per})"))
    for seed in range(5):
        P = random_P(seed, 3.0)
        Y = bo.bregman_prox(psi, H)(P, 0.7)
        phi = objective(H, psi, P, 0.7)
        free = bo.bregman_prox(psi, "none")
        for mask in itertools.product([0.0, 1.0], repeat=4):
            support = np.array(mask).reshape(2, 2)
            if np.isfinite(H["U"].value(support)):
                rival = free(bo.Blocks(U=P.U * support, V=P.V), 0.7)
                assert phi(rival) >= phi(Y) - 1e-9 * abs(phi(Y))


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (1, 2)])
def test_shares_within_a_block_are_solved_exactly_for_separable_regularizers(shape):
    rng = np.random.default_rng(3)
    psi = Radial(a=2.0, b=0.1, c={"U": rng.random(shape) * 5})
    for H1 in ("none", "l1(0.2)", "ridge(0.5)", Box(), Huber()):
        H = bo.Separable(U=bo.make("regularizer", H1))
        for seed, scale in enumerate((0.1, 3.0, 50.0)):
            P = random_P(seed, scale)
            Y = bo.bregman_prox(psi, H)(P, 0.8)
            phi = objective(H, psi, P, 0.8)
            for rival in rivals(H, phi, P, Y, seed):
                assert phi(rival) >= phi(Y) - 1e-9 * (abs(P.dot(Y)) + psi.value(Y) + 0.8 * H.value(Y))


def test_shares_within_a_block_are_refused_for_other_regularizers():
    psi = Radial(a=2.0, b=0.1, c={"U": np.ones((2, 1))})
    with pytest.raises(IncompatibleError, match="not separable"):
        bo.bregman_prox(psi, bo.Separable(U=bo.make("regularizer", "l0-ball(2)")))


def test_a_pair_that_no_plugin_covers_is_refused_by_name():
    strange = bo.parts.kernel.KernelSum(((1.0, bo.make("kernel", "psi1")),))
    with pytest.raises(IncompatibleError, match="bregopt_resolve_prox") as caught:
        bo.bregman_prox(strange, "l1(0.1)")
    assert "L1" in str(caught.value)
    assert "KernelSum" in str(caught.value)


def test_everything_thresholded_away_is_zero():
    Y = bo.bregman_prox("psi1", "l1(100)")(random_P(0, 1.0), 1.0)
    assert not Y.flat.any()


def test_the_paper_formula_for_unequal_ridges_is_worse_than_the_coupled_one():
    """Proposition (ii) as printed: two decoupled cubics, and eta without lambda."""
    lam, eta1, eta2 = 0.4, 2.0, 9.0
    psi, P = Radial(a=3.0, b=2.0), random_P(1, 3.0)
    H = bo.Separable(U=bo.make("regularizer", "ridge(2)"), V=bo.make("regularizer", "ridge(9)"))
    Y = bo.bregman_prox(psi, H)(P, lam)
    n = float(P.flat @ P.flat)
    t1, t2 = cubic(3 * n, 2.0 + eta1), cubic(3 * n, 2.0 + eta2)
    printed = bo.Blocks(U=-t1 * P.U, V=-t2 * P.V)
    phi = objective(H, psi, P, lam)
    assert phi(printed) > phi(Y) + 1e-2


@pytest.mark.parametrize(
    "pair",
    [("l0", "ridge"), ("l0", "l21"), ("lp", "mcp"), ("capped-l1", "scad"), ("mcp", "ball"), ("lp-2/3", "none")],
    ids=str,
)
@pytest.mark.parametrize("kernel", ["paper", "blocks", "quartic"])
def test_a_map_that_jumps_leads_to_a_stationary_point_to_its_last_digits(kernel, pair):
    psi, parts = KERNELS[kernel], dict(zip("UV", (penalties(1.0)[name] for name in pair), strict=True))
    prox = bo.bregman_prox(psi, bo.Separable(**{name: bo.make("regularizer", it[0]) for name, it in parts.items()}))
    rng = np.random.default_rng(5)
    for step in (0.3, 1.0, 8.0):
        for _ in range(12):
            P = bo.Blocks(U=3 * rng.standard_normal((4, 3)), V=3 * rng.standard_normal((3, 5)))
            Y = prox(P, step)
            slope = (psi.gradient(Y) + P) * (1 / step)
            left = np.hypot(*(distance(Y[name], slope[name]) for name, (_, _, distance) in parts.items()))
            assert left <= 2e-14 * (psi.gradient(Y).norm() + P.norm()) / step
