"""BPG with a constant step and with backtracking, against a dense reference."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from dense_bregman import Dense
from small_parts import L1_WEIGHTS, l1_problem
from test_other_problems import completion, quartic_problem

import bregopt as bo
from bregopt.errors import ParameterError

RANK, ETA = 4, L1_WEIGHTS
compose = partial(l1_problem, rank=RANK)
KERNELS = {"paper": (3.0, np.linalg.norm), "fixed": (1.0, None)}


def reference(M, problem, kernel):
    a, b = KERNELS[kernel]
    return Dense(M, RANK, ETA, a, b or problem.block.reduced_norm)


def constant_step(dense, x, iterations):
    values = [dense.phi(x)]
    for _ in range(iterations):
        _, slope, b = dense.evaluate(x)
        x = dense.step(x, slope, b, 1 / 1.1)
        values.append(dense.phi(x))
    return x, values


def backtracked(dense, x, iterations):
    L, values, tries = 0.01, [dense.phi(x)], 0
    for _ in range(iterations):
        seen = dense.evaluate(x)
        while True:
            new, tries = dense.step(x, seen[1], seen[2], 1 / L), tries + 1
            if dense.excess(new, x, seen, L, seen[2]) <= 1e-12 * (seen[0] + dense.f(new)):
                break
            L *= 1.1
        x = new
        values.append(dense.phi(x))
    return x, values, L, tries


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_a_constant_step_agrees_with_the_dense_reference(M, kernel, form):
    problem = compose(form(M), kernel)
    result = bo.solve(problem, method="bpg", seed=3, max_iterations=50)
    start = next(bo.iterate(problem, method="bpg", seed=3)).Y
    x, values = constant_step(reference(M, problem, kernel), start.flat, 50)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-10 * np.abs(x).max())
    np.testing.assert_allclose(result.history["objective"], values, rtol=1e-11)
    np.testing.assert_array_equal(result.history["step"][1:], 1 / 1.1)
    np.testing.assert_array_equal(result.history["products"], 3 * np.arange(1, 52))


@pytest.mark.parametrize("kernel", KERNELS)
def test_backtracking_agrees_with_the_dense_reference(M, kernel):
    problem = compose(M, kernel)
    result = bo.solve(problem, method="bpg(step=backtrack)", seed=3, max_iterations=50)
    start = next(bo.iterate(problem, method="bpg", seed=3)).Y
    x, values, L, tries = backtracked(reference(M, problem, kernel), start.flat, 50)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-9 * np.abs(x).max())
    np.testing.assert_allclose(result.history["objective"], values, rtol=1e-10)
    assert result.history["step"][-1] == pytest.approx(1 / L, rel=1e-12)
    assert result.history["step"][-1] > 1.5
    assert result.history["products"][-1] == 3 * 51 + tries


def test_L_sets_the_step_and_a_rule_takes_its_place():
    assert bo.make("method", "bpg(L=2)").step == bo.make("step", 0.5)
    assert bo.make("method", "bpg(step=0.25)").step == bo.make("step", 0.25)
    assert bo.make("method", "bpg(step=monotone)").step == bo.make("step", "monotone")
    assert bo.make("method", "bpg(step=backtrack(0.1, grow=2))").step == bo.make("step", "backtrack(0.1, grow=2)")


@pytest.mark.parametrize("spec", ["bpg(L=0)", "bpg(L=-1)", "bpg(step=backtrack(0))", "bpg(step=backtrack(grow=1))"])
def test_constants_that_cannot_be_are_refused(spec):
    with pytest.raises(ParameterError, match="must be"):
        bo.make("method", spec)


@pytest.mark.parametrize("method", ["bpg", "bpg(step=backtrack)"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_objective_never_rises_at_any_scale(M, method, scale, form):
    result = bo.solve(compose(form(M), scale=scale), method=method, max_iterations=80)
    objective = result.history["objective"]
    assert (np.diff(objective) <= 1e-12 * objective[:-1]).all()
    assert result.certificate.monotone
    assert result.certificate.guaranteed
    plain = bo.solve(compose(M), method=method, max_iterations=80)
    assert result.objective == pytest.approx(plain.objective * scale**2, rel=1e-6)


@pytest.mark.parametrize("method", ["bpg", "bpg(step=backtrack)"])
def test_a_small_l1_problem_is_solved_to_stationarity(method):
    M = np.maximum(0, np.random.default_rng(1).standard_normal((6, 5)))
    problem = bo.compose("relu-nmd", M, rank=1, U="l1(0.1)", V="l1(0.1)")
    result = bo.solve(problem, method=method, stop="stationarity(1e-6)", max_iterations=20000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6


@pytest.mark.parametrize("method", ["bpg", "bpg(step=backtrack)"])
def test_other_two_block_problems_fall_too(method):
    problem, start, _, _ = completion(1)
    result = bo.solve(problem, method=method, start=start, max_iterations=200)
    assert result.certificate.guaranteed
    assert result.objective < 0.2 * result.history["objective"][0]
    single = bo.solve(quartic_problem("l1(0.1)"), method=method, start=bo.Blocks(y=[0.3, -0.1, 0.2]), max_iterations=99)
    assert single.certificate.monotone
    assert single.certificate.guaranteed
