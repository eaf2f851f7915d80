"""The variants of AAPB: the fast one, the certified one, the paper's presets, and the rules they are made of."""

import math

import numpy as np
import pytest
import scipy.sparse
from attrs import evolve

import bregopt as bo
from bregopt.testing.checks.rules import recorded_choices

RANK = 4


def matrix(seed=0, shape=(40, 30), density=0.6):
    rng = np.random.default_rng(seed)
    return np.maximum(0, rng.standard_normal(shape)) * (rng.random(shape) < density)


def soft(Z, t):
    return np.sign(Z) * np.maximum(np.abs(Z) - t, 0)


def test_the_fast_variant_is_its_algorithm_box():
    """Nesterov's β with W at Ȳ, the predicted step and the guard, in dense NumPy."""
    M = matrix()
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.05)", V="l1(0.02)")
    Y = problem.first_point(None, np.random.default_rng(0))
    result = bo.solve(problem, method="aapb", start=Y, max_iterations=40)
    b, U, V = problem.block.reduced_norm, Y.U, Y.V

    def f(U, V):
        X = U @ V
        S = np.where(M > 0, X - M, np.maximum(X, 0))
        return 0.5 * np.sum(S**2), S @ V.T, U.T @ S

    def H(U, V):
        return 0.05 * np.abs(U).sum() + 0.02 * np.abs(V).sum()

    def D(U, V, U0, V0):  # by its definition: the steps of this run are large
        s, t = np.sum(U**2) + np.sum(V**2), np.sum(U0**2) + np.sum(V0**2)
        inner = np.sum(U0 * (U - U0)) + np.sum(V0 * (V - V0))
        return s**2 / 4 + b * s / 2 - t**2 / 4 - b * t / 2 - (t + b) * inner

    def prox_step(U, V, step):
        value, G, K = f(U, V)
        rho = np.sum(U**2) + np.sum(V**2) + b
        P, Q = soft(rho * U - step * G, step * 0.05), soft(rho * V - step * K, step * 0.02)
        n = np.sqrt(np.sum(P**2) + np.sum(Q**2))
        roots = np.roots([1, 0, b, -n])
        w = roots[np.argmin(np.abs(roots.imag))].real
        U1, V1 = P * w / n, Q * w / n
        slope = np.sum(G * (U1 - U)) + np.sum(K * (V1 - V))
        return U1, V1, f(U1, V1)[0] - value - slope, D(U1, V1, U, V), value

    objective, U_old, V_old, theta, step, moved = f(U, V)[0] + H(U, V), U, V, 1.0, 1.0, False
    values = [objective]
    for _ in range(40):
        if moved:
            theta_next = (1 + math.sqrt(1 + 4 * theta**2)) / 2
            beta, theta = (theta - 1) / theta_next, theta_next
        else:
            beta = 0.0
        while True:
            U1, V1, rise, distance, _ = prox_step(U + beta * (U - U_old), V + beta * (V - V_old), step)
            L = max(rise, 0) / distance
            if rise > distance / step:
                step = min(step / 2, 0.9 / L)
                continue
            used, step = step, min(max(0.6 / L if L > 0 else math.inf, 0.8 * step), 2 * step)
            after = f(U1, V1)[0] + H(U1, V1)
            if beta > 0 and after > objective:
                beta, theta = 0.0, (1 + math.sqrt(5)) / 2
                continue
            break
        U_old, V_old, U, V, objective, moved = U, V, U1, V1, after, True
        values.append(objective)
        assert used > 0
    np.testing.assert_allclose(result.history["objective"], values, rtol=1e-8)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-7)
    assert (result.history["beta"][3:] > 0).any()
    assert result.history["step"].max(where=np.arange(41) > 0, initial=0) > 2


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("H", ["l1({})", "nonneg", "mcp({}, 3)", "none"])
@pytest.mark.parametrize("method", ["aapb", "aapb-certified", "apb"])
def test_no_lyapunov_function_ever_rises(method, H, form, scale):
    H = H.format(0.02 * scale)  # the penalty weighs the same at every scale of M
    problem = bo.compose("relu-nmd", form(scale * matrix()), rank=RANK, U=H, V=H)
    result = bo.solve(problem, method=method, max_iterations=50)
    assert result.certificate.monotone, result.certificate.summary()
    assert result.certificate.assumptions["step"].held
    assert result.certificate.assumptions["extrapolation"].held


@pytest.mark.parametrize("H", ["l0(0.01)", "l0-ball(60)", "lp(0.05)"])
def test_the_guard_holds_the_objective_for_penalties_that_jump(H):
    problem = bo.compose("relu-nmd", matrix(), rank=RANK, U=H)
    result = bo.solve(problem, method="aapb", max_iterations=100)
    assert (np.diff(result.history["objective"]) <= 1e-12 * result.history["objective"][:-1]).all()
    assert result.certificate.lyapunov == "Φ(Y^k)"


def test_the_guard_costs_a_pass_only_where_a_step_would_rise():
    problem = bo.compose("relu-nmd", matrix(), rank=RANK, U="ridge(0.1)", V="ridge(0.1)")
    guarded = bo.solve(problem, method="aapb", max_iterations=500)
    loose = bo.solve(problem, method="aapb(guard=false)", max_iterations=500)
    assert guarded.certificate.monotone
    assert not (np.diff(loose.history["objective"]) <= 0).all()
    assert guarded.history["products"][-1] / 500 <= 4.4


def test_a_method_with_a_kernel_of_its_own_gets_its_proximal_map_too():
    problem = bo.compose("relu-nmd", matrix(), rank=RANK)
    result = bo.solve(problem, method="aapb(kernel=s4)", max_iterations=50)
    same = bo.solve(bo.compose("relu-nmd", matrix(), rank=RANK, kernel="s4"), method="aapb", max_iterations=50)
    np.testing.assert_array_equal(result.history["objective"], same.history["objective"])
    assert result.certificate.monotone
    assert next(bo.iterate(problem, method="aapb(kernel=s4)")).objective == result.history["objective"][0]
    with pytest.raises(bo.errors.IncompatibleError, match=r"No plugin solves .*L1.*Schatten4"):
        bo.solve(bo.compose("relu-nmd", matrix(), rank=RANK, U="l1(0.1)"), method="aapb(kernel=s4)")


def test_the_presets_of_the_paper_ignore_the_kernel_of_the_problem():
    for kernel in ("auto", "paper"):
        problem = bo.compose("relu-nmd", matrix(), rank=RANK, U="l1(0.05)", kernel=kernel)
        spelt = bo.compose("relu-nmd", matrix(), rank=RANK, U="l1(0.05)", kernel="paper")
        for preset, method in (("aapb-paper", "aapb(beta=0.6, step=1)"), ("apb-paper", "apb(step=1)")):
            one = bo.solve(problem, method=preset, max_iterations=20)
            two = bo.solve(spelt, method=method, max_iterations=20)
            np.testing.assert_array_equal(one.Y.flat, two.Y.flat)


def test_the_exact_gap_allows_a_longer_beta_than_its_bound_and_is_seen_to_hold():
    problem = bo.compose("relu-nmd", matrix(), rank=RANK, U="l1(0.05)")
    bound = bo.solve(problem, method="aapb(least, step=constant, guard=false)", max_iterations=60)
    exact = bo.solve(problem, method="aapb-certified(step=constant)", max_iterations=60)
    assert bound.certificate.guaranteed
    assert exact.certificate.guaranteed
    assert np.nanmax(exact.history["beta"]) > np.nanmax(bound.history["beta"])
    lagging = bo.solve(problem, method="aapb(exact-gap, step=constant, w=Y, guard=false)", max_iterations=60)
    assert lagging.certificate.guaranteed
    assert lagging.certificate.monotone


def test_a_restart_comes_for_its_reason_and_for_no_other():
    last = recorded_choices(bo.make("extrapolation", "constant(0.5)"))[-1].context
    move = evolve(last, Y_bar_prev=last.Y, rise=-1.0)
    cases = {
        "objective": (evolve(move, rise=1e-9), move),
        "gradient": (evolve(move, Y_bar_prev=move.Y + move.D), evolve(move, Y_bar_prev=move.Y - move.D)),
        "bregman": (evolve(move, divergence=1e-9 * move.divergence), evolve(move, divergence=1e3 * move.divergence)),
    }
    for when, (due, not_due) in cases.items():
        rule = bo.make("extrapolation", f"restart(nesterov, when={when})")
        old = (50.0, 7)
        beta, memory = rule.choose(due, old)
        assert beta == 0
        assert memory == (pytest.approx((1 + math.sqrt(5)) / 2), 0)
        beta, memory = rule.choose(not_due, old)
        assert beta > 0.9
        assert memory[1] == 8


def test_a_periodic_restart_runs_by_the_clock():
    problem = bo.compose("relu-nmd", matrix(), rank=RANK, U="l1(0.05)", V="l1(0.05)")
    rule = "restart(nesterov, when=periodic, every=10)"
    betas = bo.solve(problem, method=f"aapb({rule}, step=constant, guard=false)", max_iterations=40).history["beta"]
    np.testing.assert_array_equal(np.flatnonzero(betas[3:] == 0) + 3, [11, 21, 31])


def test_growing_counts_from_its_beginning():
    rule = bo.make("extrapolation", "growing(0.5)")
    memory, move = rule.begin(), recorded_choices(rule)[0].context
    betas = []
    for _ in range(4):
        beta, memory = rule.choose(move, memory)
        betas.append(beta)
    np.testing.assert_allclose(betas, [0, 0.5 / 4, 1 / 5, 0.5 * 3 / 6])


def test_the_predicted_step_follows_the_curvature_within_its_bounds():
    rule = bo.make("step", "predicted")

    def judged(**trial):
        return rule.judge(bo.Trial(**({"step": 1.0, "D_F": 0.5, "D_psi": 1.0, "noise": 0.0} | trial)))

    assert judged() == (True, 1.2)  # 0.6/0.5
    assert judged(D_F=-1.0) == (True, 2.0)
    assert judged(D_F=0.01) == (True, 2.0)
    assert judged(D_F=0.7) == (True, pytest.approx(0.6 / 0.7))
    assert judged(step=0.5, D_F=1.9) == (True, 0.4)  # not 0.6/1.9: jumps are bad for momentum
    assert judged(D_F=1.5) == (False, 0.5)
    assert judged(D_F=100.0) == (False, pytest.approx(0.009))
    assert judged(D_F=math.inf) == (False, 0.25)
    assert judged(D_F=5e-12, D_psi=1e-15, noise=1e-12) == (True, 1.0)  # nothing can be told from rounding
    assert not judged(D_F=1.5, D_psi=1e-15, noise=1e-12)[0]  # this is no rounding
    assert rule.propose(None, 0.7) == 0.7
    assert rule.propose(None, None) == 1.0
    assert rule.propose(0.3, None) == 0.3


def test_a_step_thirty_times_too_long_diverges_and_says_so():
    ended = []
    for seed in range(10):
        problem = bo.compose("relu-nmd", matrix(seed), rank=RANK, kernel="tight")
        result = bo.solve(problem, method="aapb(0.6, step=30)", seed=seed, max_iterations=300)
        assert np.isfinite(result.Y.flat).all()
        assert math.isfinite(result.objective)
        assert not result.certificate.assumptions["step"].held
        ended.append(result.status in (bo.Status.DIVERGED, bo.Status.NOT_FINITE))
        if ended[-1]:
            assert result.objective == result.history["objective"][np.isfinite(result.history["objective"])].min()
    assert sum(ended) >= 8


def test_what_runs_on_numbers_is_the_family_of_the_paper():
    number, rules = bo.make("method", "aapb(beta=0.6, step=1)"), bo.make("method", "aapb")
    assert (number.w, number.guard) == ("Y", False)
    assert (rules.w, rules.guard) == ("Ybar", True)
    assert bo.make("method", "aapb(0.6, w=Ybar, guard=true)").guard
