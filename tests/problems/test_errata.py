"""The numbers of docs/errata.md, each computed both ways: the paper's formula as printed, and the library's map."""

import re
from itertools import pairwise, product
from pathlib import Path

import attrs
import numpy as np
import pytest
from bregopt_regularizers.graph import Graph
from scipy.optimize import brentq
from small_parts import NoBlock

import bregopt as bo

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PSI1, PSI2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")


def assert_the_page_says(name, printed, right):
    """The row of this erratum holds these numbers, in the columns 'as printed' and 'right', within a twentieth."""
    row = re.search(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)[1].split("|")
    for cell, found in zip(row[-2:], (printed, right), strict=True):
        shown = [float(number) for number in NUMBER.findall(cell)]
        np.testing.assert_allclose(shown, np.atleast_1d(found), rtol=0.05, atol=1e-9, err_msg=f"{name}: {cell}")


def test_every_erratum_has_a_row_and_a_section():
    names = [f"E{number}" for number in range(1, 15)]
    assert re.findall(r"^\| (E\d+) \|", PAGE, re.MULTILINE) == names
    assert re.findall(r"^\*\*(E\d+)\.", PAGE, re.MULTILINE) == names


# The proximal maps of Proposition 2: a = 3 and b stands for ‖W‖_F throughout.

b = 1.0


def directions(seed=0):
    rng = np.random.default_rng(seed)
    return bo.Blocks(U=5 * rng.standard_normal((8, 3)), V=5 * rng.standard_normal((3, 6)))


def separable(U="none", V="none"):
    return bo.Separable(U=bo.make("regularizer", U), V=bo.make("regularizer", V))


def cubic(a, c):
    """The positive root of a t³ + c t = 1."""
    return brentq(lambda t: a * t**3 + c * t - 1.0, 0.0, 1.0 / c, xtol=1e-300, rtol=1e-15)


def decoupled(P, c1, c2):
    """Cases (ii) and (iv): U = −t₁P and V = −t₂Q, each t from a cubic of its own."""
    n = P.dot(P)
    return bo.Blocks(U=-cubic(3 * n, c1) * P.U, V=-cubic(3 * n, c2) * P.V)


def distance(Y, best):
    return (Y - best).norm() / best.norm()


def subproblem(Y, H, P, step, psi):
    return step * H.value(Y) + P.dot(Y) + psi.value(Y)


def is_argmin(best, H, P, step, psi):
    """No point nearby has a smaller value."""
    rng, least = np.random.default_rng(1), subproblem(best, H, P, step, psi)
    moves = (size * rng.standard_normal(best.flat.size) for size in (1.0, 1e-2, 1e-4) for _ in range(50))
    return all(subproblem(best + best.like(move), H, P, step, psi) >= least - 1e-12 * abs(least) for move in moves)


def test_e1_the_weights_of_a_ridge_need_the_factor_lambda():
    P, step, eta, psi = directions(), 0.4, 2.0, 3 * PSI1 + b * PSI2
    H = separable(f"ridge({eta})", f"ridge({eta})")
    best = bo.bregman_prox(psi, H)(P, step)
    assert is_argmin(best, H, P, step, psi)
    assert distance(decoupled(P, b + step * eta, b + step * eta), best) < 1e-12
    assert_the_page_says("E1", distance(decoupled(P, b + eta, b + eta), best), 0.0)


def test_e2_unequal_weights_need_one_equation_for_both_blocks():
    P, step, eta, psi = directions(), 0.4, (2.0, 9.0), 3 * PSI1 + b * PSI2
    H = separable(*(f"ridge({weight})" for weight in eta))
    best = bo.bregman_prox(psi, H)(P, step)
    assert is_argmin(best, H, P, step, psi)
    least = subproblem(best, H, P, step, psi)
    gaps = [
        subproblem(decoupled(P, b + factor * eta[0], b + factor * eta[1]), H, P, step, psi) - least
        for factor in (1.0, step)  # as printed, and with λ put back
    ]
    assert_the_page_says("E2", gaps, 0.0)


def test_e3_a_graph_term_inside_h_is_not_solved_by_a_multiple_of_p():
    P, mu, step = directions(), 0.5, 1.0  # λ = 1 and η = 0: E1 and E2 are silent
    path = np.eye(8, k=1) + np.eye(8, k=-1)
    L = np.diag(path.sum(axis=1)) - path
    share = b + mu * np.linalg.norm(L)
    psi = 3 * PSI1 + share * PSI2
    printed = decoupled(P, share, share)

    H = bo.Separable(U=Graph(L, mu))
    best = bo.bregman_prox(psi, H)(P, step)
    assert is_argmin(best, H, P, step, psi)
    assert_the_page_says("E3", distance(printed, best), 0.0)
    assert distance(printed, bo.bregman_prox(psi, "none")(P, step)) < 1e-12  # L in F: its gradient is part of P


def soft(X, threshold):
    return np.sign(X) * np.maximum(np.abs(X) - threshold, 0.0)


def test_e4_the_augmented_kernel_is_the_concave_part_linearised():
    rng, gradient = np.random.default_rng(2), directions()
    Y_bar = gradient.like(rng.standard_normal(gradient.flat.size))
    eta1, eta2, step, psi = 0.3, 4.0, 0.8, 3 * PSI1 + b * PSI2
    augmented = psi + bo.make("kernel", f"block-quadratic(U={step * eta2})")
    plain = step * gradient - psi.gradient(Y_bar)
    P = step * gradient - augmented.gradient(Y_bar)

    H = separable(f"l1-minus-ridge({eta1}, {eta2})")
    best = bo.bregman_prox(augmented, H)(P, step)
    assert is_argmin(best, H, P, step, augmented)
    tilt = bo.Blocks(U=-step * eta2 * Y_bar.U, V=np.zeros_like(Y_bar.V))  # λ times the gradient of −(η₂/2)|U|² at Ū
    linearised = bo.bregman_prox(psi, separable(f"l1({eta1})"))(plain + tilt, step)
    assert distance(linearised, best) < 1e-12

    def printed(P):
        U = soft(-P.U, step * eta1)
        t = cubic(3 * (np.sum(U**2) + np.sum(P.V**2)), b)
        return bo.Blocks(U=t * U, V=-t * P.V)

    assert distance(printed(P), best) < 1e-12
    assert_the_page_says("E4", distance(printed(plain), best), 0.0)


def hard(Z, s):
    return np.where(np.abs(Z) >= np.sort(np.abs(Z), axis=None)[-s], Z, 0.0)


def test_e5_the_cubic_of_the_sparse_case_holds_p():
    P, s, psi = directions(), 4, 3 * PSI1 + b * PSI2
    H = separable(f"l0-ball({s})", f"l0-ball({s})")
    best = bo.bregman_prox(psi, H)(P, 1.0)
    U, V = hard(-P.U, s), hard(-P.V, s)
    t_printed, t = (cubic(3 * (np.sum(first**2) + np.sum(V**2)), b) for first in (V, U))
    assert distance(bo.Blocks(U=t * U, V=t * V), best) < 1e-12

    def supports(Z):
        """Z on the s − 1 largest places and on one of the next five."""
        order = np.argsort(-np.abs(Z), axis=None)
        for place in order[s - 1 : s + 4]:
            kept = np.zeros(Z.size)
            kept[[*order[: s - 1], place]] = Z.ravel()[[*order[: s - 1], place]]
            yield kept.reshape(Z.shape)

    least = subproblem(best, H, P, 1.0, psi)
    for first, second in product(supports(-P.U), supports(-P.V)):
        scale = cubic(3 * (np.sum(first**2) + np.sum(second**2)), b)
        rival = bo.Blocks(U=scale * first, V=scale * second)
        assert subproblem(rival, H, P, 1.0, psi) >= least - 1e-12 * abs(least)
    assert_the_page_says("E5", t_printed, t)


def test_e6_the_soft_threshold_is_a_function_of_x():
    x, tau = 3.0, 1.0
    right = float(bo.make("regularizer", "l1(1)").prox(np.array([x]), tau)[0])
    printed = x  # y = sign(y)·max(|y| − τ, 0), the bound variable on both sides
    while (after := float(soft(printed, tau))) != printed:
        printed = after
    assert_the_page_says("E6", printed, right)

    def objective(y):
        return tau * abs(y) + 0.5 * (y - x) ** 2

    assert (objective(printed), objective(right)) == (4.5, 2.5)


@attrs.frozen
class Wave(bo.Regularizer):
    """``H(X) = α Σ cos(x_ij)``, α-weakly convex."""

    alpha: float = 0.9

    @property
    def weak_convexity(self):
        return self.alpha

    def value(self, X):
        return self.alpha * float(np.cos(X).sum())

    def prox(self, X, step):
        reach = step * self.alpha
        roots = [brentq(lambda y, x=x: y - x - reach * np.sin(y), x - reach, x + reach, xtol=1e-15) for x in X.flat]
        return np.reshape(roots, X.shape)


class Hill(bo.SmoothPart):
    """``F(x) = Σ cos(x_i)``: |F''| ≤ 1."""

    def value(self, Y, W):
        return float(np.cos(Y.flat).sum())

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), Y.like(-np.sin(Y.flat))

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=1.0 / kernel.strong_convexity, lower=1.0 / kernel.strong_convexity)


def test_e7_the_step_must_be_short_for_a_weakly_convex_h():
    alpha, sigma, L, delta, epsilon = 0.9, 1.0, 1.0, 0.999, 0.001
    printed, right = 1.0, (1 - delta) * sigma / alpha  # the largest λ ≤ 1/L that each condition allows
    assert 1 / printed >= L >= alpha * (1 - delta) * sigma
    assert_the_page_says("E7", printed, right)

    beta, D = np.sqrt((delta - epsilon) / 2), 1.0  # the largest β that Assumption 2 allows with λL = 1
    Y_prev, Y, Y_bar = (bo.Blocks(x=[place]) for place in (-(1 + beta) * D, -beta * D, 0.0))
    assert PSI2.divergence(Y, Y_bar) <= (delta - epsilon) / 2 * PSI2.divergence(Y_prev, Y) * (1 + 1e-12)
    P = Hill().value_and_gradient(Y_bar, None)[1] - PSI2.gradient(Y_bar)
    Y_next = bo.bregman_prox(PSI2, Wave(alpha))(P, printed)

    def theta(before, point):
        phi = Hill().value(point, None) + Wave(alpha).value(point.x)
        return printed * phi + delta * PSI2.divergence(before, point)

    assert theta(Y, Y_next) - theta(Y_prev, Y) == pytest.approx(0.2047, rel=0.01)  # said in the text of the page

    problem = bo.Problem(smooth=Hill(), block=NoBlock(), regularizer=Wave(alpha), kernel=PSI2, start=bo.Blocks(x=[0.3]))
    for step, held in ((printed, False), (1.001 * right, False), (right, True)):
        result = bo.solve(problem, method=f"aapb(step={step})", max_iterations=5)
        assert result.certificate.assumptions["convexity"].held == held


@attrs.frozen(eq=False)
class Point(bo.SmoothPart):
    """``F(x) = ½‖x − c‖²``."""

    c: np.ndarray

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.x - self.c) ** 2))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(x=Y.x - self.c)

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=1.0 / kernel.strong_convexity, lower=0.0)


def test_e8_without_convexity_a_full_step_may_gain_nothing():
    ball = bo.make("regularizer", "l0-ball(1)")
    here, there = bo.Blocks(x=[0.0, 1.0]), bo.Blocks(x=[1.0, 0.0])
    problem = bo.Problem(smooth=Point(np.ones(2)), block=NoBlock(), regularizer=ball, kernel=PSI2, start=here)
    moved = {}
    for step in (1.0, 0.9):
        history = bo.solve(problem, method=f"apb(step={step})", max_iterations=1).history
        assert history["objective"].tolist() == [0.5, 0.5]
        moved[step] = history["divergence"][1]
    assert_the_page_says("E8", moved[1.0], moved[0.9])

    for Y in (here, there):  # from either point both are minimisers: a run may go to and fro for ever
        P = problem.smooth.value_and_gradient(Y, None)[1] - PSI2.gradient(Y)
        H = bo.Separable(ball)
        assert subproblem(here, H, P, 1.0, PSI2) == subproblem(there, H, P, 1.0, PSI2)
        assert is_argmin(here, H, P, 1.0, PSI2)


# Runs, on the paper's synthetic matrices at a reduced size.


def synthetic(m, n, rank=10, seed=0):
    """max(0, UV) with Gaussian U and V whose entries below 1 in size are set to zero."""
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((m, rank)), rng.standard_normal((rank, n))
    return np.maximum(0, np.where(np.abs(U) < 1, 0, U) @ np.where(np.abs(V) < 1, 0, V))


def run(problem, iterations, method="aapb(beta=0.6, step=1)", **options):
    for state in bo.iterate(problem, method=method, **options):
        yield state
        if state.iteration == iterations:
            return


def test_e9_the_kernel_changes_at_every_iteration():
    problem = bo.compose("relu-nmd", synthetic(200, 120), rank=10, U="l1(0.01)", V="l1(0.015)", kernel="paper")
    states = list(run(problem, 300))
    norms = [np.linalg.norm(problem.block.argmin(problem.smooth, state.Y)) for state in states]
    assert_the_page_says("E9", 0, sum(after > before for before, after in pairwise(norms)))
    assert all(after.lyapunov <= before.lyapunov for before, after in pairwise(states))

    kernels = [3 * PSI1 + norm * PSI2 for norm in norms]  # ψ_k is made of W(Y^k)
    for k in range(1, 300):
        before, now = states[k - 1].Y, states[k].Y
        excess = kernels[k].divergence(before, now) - kernels[k - 1].divergence(before, now)
        assert excess == pytest.approx(0.5 * (norms[k] - norms[k - 1]) * (now - before).norm() ** 2, rel=1e-4)


def largest_beta(kernel, Y_prev, Y):
    """By the library's rule, with δ − ε → 1 and λL = 1."""
    rule = bo.make("extrapolation", "assumption2(cap=0.999, delta=0.999999999, epsilon=1e-10)")
    forecast = bo.Forecast(kernel, bo.Smad(upper=1.0, lower=1.0))
    move = bo.ExtrapolationContext(
        1, Y, Y - Y_prev, 1.0, 1.0, kernel, kernel.divergence(Y_prev, Y), np.inf, lambda beta: forecast, True
    )
    return rule.choose(move, None)[0]


def test_e10_the_largest_beta_is_the_root_of_a_quartic_and_may_be_smaller():
    e = np.eye(2)
    pairs = [(0 * e[0], e[0]), (e[0], 2 * e[0]), (e[0] - e[1], e[0]), (e[0], 1.0001 * e[0])]
    found = []
    for before, after in pairs:
        Y_prev, Y, D = bo.Blocks(x=before), bo.Blocks(x=after), bo.Blocks(x=after - before)
        n, p, q = Y.dot(Y), Y.dot(D), D.dot(D)
        budget = 0.5 * ((p - 0.5 * q) ** 2 + 0.5 * n * q)
        quartic = [0.75 * q**2, 2 * p * q, p**2 + 0.5 * n * q, 0.0, -budget]
        roots = np.roots(quartic)
        root = next(z.real for z in roots if abs(z.imag) < 1e-9 and z.real > 0)
        found.append(largest_beta(PSI1, Y_prev, Y))
        assert found[-1] == pytest.approx(root, rel=1e-6)
        ratio = PSI1.divergence(Y, Y.plus(root, D)) / PSI1.divergence(Y_prev, Y)
        assert ratio == pytest.approx(0.5, rel=1e-6)
    assert_the_page_says("E10", np.sqrt(0.5), found)
    assert largest_beta(PSI2, Y_prev, Y) == pytest.approx(np.sqrt(0.5))

    still, first = bo.Blocks(x=pairs[0][0]), bo.Blocks(x=pairs[0][1])
    overdrawn = PSI1.divergence(first, 1.6 * first) / (0.5 * PSI1.divergence(still, first))
    assert overdrawn == pytest.approx(2.85, rel=0.01)  # said in the text of the page

    problem = bo.compose("relu-nmd", synthetic(200, 120), rank=10, U="l1(0.01)", V="l1(0.015)", kernel="paper")
    for state, after in pairwise(run(problem, 100)):  # "was not seen to fail"
        move, kernel = after.Y - state.Y, after.inner.model.kernel
        spent = kernel.divergence(after.Y, after.Y.plus(0.6, move))
        assert spent <= 0.5 * kernel.divergence(state.Y, after.Y)


def test_e11_the_constants_one_and_the_spectral_norm_suffice():
    smooth, rng = bo.make("smooth", "factorization"), np.random.default_rng(0)

    def D_F(Y, Z, W):
        value, gradient = smooth.value_and_gradient(Z, W)
        return smooth.value(Y, W) - value - gradient.dot(Y - Z)

    nothing = np.zeros((2, 2))
    Z = bo.Blocks(U=np.zeros((2, 1)), V=[[100.0, 0.0]])
    Y = Z + bo.Blocks(U=[[0.0], [1e-3]], V=np.zeros((1, 2)))
    ratios = [D_F(Y, Z, nothing) / (a * PSI1).divergence(Y, Z) for a in (3, 1)]
    assert_the_page_says("E11", *ratios)
    assert D_F(Y, Z, nothing) > (0.95 * PSI1).divergence(Y, Z)

    W, zero = np.diag([2.0, 1.0]), bo.Blocks(U=np.zeros((2, 1)), V=np.zeros((1, 2)))
    pair = bo.Blocks(U=[[1e-3], [0.0]], V=[[-1e-3, 0.0]])  # the leading singular pair of W
    assert D_F(pair, zero, W) == pytest.approx((2 * PSI2).divergence(pair, zero), rel=1e-5)
    assert D_F(pair, zero, W) > (PSI1 + 0.95 * 2 * PSI2).divergence(pair, zero)

    for trial in range(1000):
        W = rng.standard_normal((4, 3))
        Z = bo.Blocks(U=rng.standard_normal((4, 2)), V=rng.standard_normal((2, 3)))
        Y = Z.plus(10.0 ** (trial % 4 - 2), Z.like(rng.standard_normal(Z.flat.size)))
        w, slack = np.linalg.norm(W, 2), 1e-10 * smooth.value(Z, W)
        assert D_F(Y, Z, W) <= (PSI1 + w * PSI2).divergence(Y, Z) + slack
        assert -D_F(Y, Z, W) <= (0.5 * PSI1 + w * PSI2).divergence(Y, Z) + slack


def test_e12_extrapolation_leaves_the_orthant_and_the_iterates_do_not():
    problem = bo.compose("relu-nmd", synthetic(300, 100), rank=5, U="nonneg", V="nonneg", kernel="paper")
    outside, last = 0, None
    for state in run(problem, 200):
        assert state.Y.flat.min() >= 0
        if last is not None:
            outside += (state.Y + 0.6 * (state.Y - last)).flat.min() < 0
        last = state.Y
    assert_the_page_says("E12", 0, outside)


def ppalm(M, U, V, eta1, eta2, iterations):
    """The paper's Algorithm 3 with β = 0 and the steps 1/‖VVᵀ‖₂ and 1/‖UᵀU‖₂."""
    for _ in range(iterations):
        W = np.where(M > 0, M, np.minimum(0, U @ V))
        step = 1 / np.linalg.norm(V @ V.T, 2)
        U = soft(U - step * (U @ V - W) @ V.T, step * eta1)
        step = 1 / np.linalg.norm(U.T @ U, 2)
        V = soft(V - step * U.T @ (U @ V - W), step * eta2)
    return bo.Blocks(U=U, V=V)


def test_e14_ppalm_is_ahead_of_aapb_after_as_many_iterations():
    M = synthetic(300, 100)
    problem = bo.compose("relu-nmd", M, rank=12, U="l1(0.01)", V="l1(0.015)", kernel="paper")
    start = bo.solve(problem, max_iterations=0).Y
    aapb = bo.solve(problem, method="aapb(beta=0.6, step=1)", start=start, max_iterations=250)
    rival = ppalm(M, start.U, start.V, 0.01, 0.015, 250)
    evaluation = problem.oracle.evaluate(rival)
    assert_the_page_says("E14", aapb.metrics["relative_error"], evaluation.metrics["relative_error"])
    assert evaluation.value + problem.regularizer.value(rival) < 0.1 * aapb.objective
