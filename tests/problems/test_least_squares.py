"""Extrapolated and Anderson-accelerated least squares against dense references, and what never rises."""

import math

import numpy as np
import pytest
import scipy.sparse
from balance_reference import balanced
from bregopt_methods.blockwise.block_update import BlockModel
from bregopt_methods.blockwise.els import least_squares

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError

RANK = 4
FORMATS = {"dense": np.asarray, "csr": scipy.sparse.csr_array}
WEIGHTS = {"none": 0.0, "ridge(0.3)": 0.3, "scaled(ridge(0.1), 3)": 0.3}


def latent(M, U, V):
    return np.where(M > 0, M, np.minimum(0, U @ V))


def value(M, U, V, eta):
    """Φ from its definition."""
    return 0.5 * np.sum((latent(M, U, V) - U @ V) ** 2) + 0.5 * eta * (np.sum(U**2) + np.sum(V**2))


def turn(M, U, V, eta, damping):
    """W, then both blocks by the normal equations of ½‖W − UV‖² + (η/2)‖·‖² + (τ/2)‖· − old‖²; and the bound."""
    W = latent(M, U, V)
    tau = damping * np.sum(V**2) / RANK
    U = np.linalg.solve(V @ V.T + (eta + tau) * np.eye(RANK), V @ W.T + tau * U.T).T
    tau = damping * np.sum(U**2) / RANK
    V = np.linalg.solve(U.T @ U + (eta + tau) * np.eye(RANK), U.T @ W + tau * V)
    return U, V, 0.5 * np.sum((W - U @ V) ** 2) + 0.5 * eta * (np.sum(U**2) + np.sum(V**2))


def extrapolated(M, U, V, eta, damping, iterations, balance):
    U_prev, V_prev, theta, bounds = U, V, 1.0, [value(M, U, V, eta)]
    for _ in range(iterations):
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        beta = (theta - 1) / following
        new = turn(M, U + beta * (U - U_prev), V + beta * (V - V_prev), eta, damping)
        if new[2] > bounds[-1]:
            following, new = (1 + math.sqrt(5)) / 2, turn(M, U, V, eta, damping)
        U_prev, V_prev, theta = U, V, following
        U, V, bound = new
        if balance:
            bound -= 0.5 * eta * (np.sum(U**2) + np.sum(V**2))
            U, V, U_prev, V_prev = balanced(U, V, U_prev, V_prev, (0.0, eta))
            bound += 0.5 * eta * (np.sum(U**2) + np.sum(V**2))
        bounds.append(bound)
    return U, V, bounds


def accelerated(M, U, V, eta, damping, memory, iterations, balance):
    """Anderson's mixing on stacked vectors, the least squares over the last points solved from scratch."""
    m = U.size

    def image(y):
        A, B, _ = turn(M, y[:m].reshape(U.shape), y[m:].reshape(V.shape), eta, damping)
        if balance:
            A, B, *_ = balanced(A, B, A, B, (0.0, eta))
        return np.concatenate([A.ravel(), B.ravel()])

    def height(y):
        return value(M, y[:m].reshape(U.shape), y[m:].reshape(V.shape), eta)

    y = np.concatenate([U.ravel(), V.ravel()])
    points, heights = [(y, image(y))], [height(y)]
    for _ in range(iterations):
        y, T = points[-1]
        new = T
        if len(points) > 1:
            R = np.array([b - a for a, b in points])
            dR, dT = np.diff(R, axis=0), np.diff(np.array([b for _, b in points]), axis=0)
            K = dR @ dR.T
            gamma = np.linalg.solve(K + 1e-10 * np.trace(K) * np.eye(len(K)), dR @ R[-1])
            new = T - gamma @ dT
            if height(new) > heights[-1]:
                new, points = T, points[-1:]
        points = [*points, (new, image(new))][-memory - 1 :]
        heights.append(height(new))
    return points[-1][0], heights


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spec", WEIGHTS)
def test_twenty_extrapolated_iterations_agree_with_the_dense_reference(M, start, spec, form, balance):
    problem = bo.compose("relu-nmd", FORMATS[form](M), rank=RANK, U=spec, V=spec)
    result = bo.solve(problem, method=f"els(balance={balance})".lower(), start=start, max_iterations=20)
    U, V, bounds = extrapolated(M, start.U, start.V, WEIGHTS[spec], 1e-3, 20, balance)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-10 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-10 * np.abs(V).max())
    np.testing.assert_allclose(result.history["objective"], bounds, rtol=1e-10)


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("memory", [1, 3, 10])
@pytest.mark.parametrize("spec", WEIGHTS)
def test_twenty_accelerated_iterations_agree_with_the_dense_reference(M, start, spec, memory, balance):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=spec, V=spec)
    method = f"aals(memory={memory}, balance={balance})".lower()
    result = bo.solve(problem, method=method, start=start, max_iterations=20)
    y, heights = accelerated(M, start.U, start.V, WEIGHTS[spec], 1e-3, memory, 20, balance)
    np.testing.assert_allclose(result.Y.flat, y, rtol=0, atol=1e-8 * np.abs(y).max())
    np.testing.assert_allclose(result.history["objective"], heights, rtol=1e-9)


@pytest.mark.parametrize("spec", WEIGHTS)
def test_an_undamped_step_minimises_the_model_of_a_block(spec):
    rng = np.random.default_rng(1)
    B, X, gradient = rng.standard_normal((3, 8)), rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
    G = B @ B.T
    new, xi = least_squares(BlockModel(G, bo.make("regularizer", spec), False, 20), damping=0)(X, gradient)
    np.testing.assert_allclose(xi, WEIGHTS[spec] * new)
    np.testing.assert_allclose(gradient + (new - X) @ G + xi, 0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spec", WEIGHTS)
@pytest.mark.parametrize("method", ["els", "els(damping=0)", "aals", "aals(memory=3, damping=0)"])
def test_the_objective_is_bounded_and_never_rises(M, start, method, spec, form, scale):
    given, eta = scale * M, WEIGHTS[spec]
    problem = bo.compose("relu-nmd", FORMATS[form](given), rank=RANK, U=spec, V=spec)
    states = []
    Y0 = start * math.sqrt(scale)
    result = bo.solve(problem, method=method, start=Y0, max_iterations=40, observers=[states.append])
    for state in states:
        true, slack = value(given, state.Y.U, state.Y.V, eta), 1e-12 * state.scale
        assert abs(state.objective - true) <= slack if state.exact else state.objective >= true - slack
    falls = result.history["lyapunov"]
    assert (np.diff(falls) <= 1e-12 * np.array([state.scale for state in states[1:]])).all()
    assert result.certificate.monotone
    assert result.certificate.safeguard
    assert result.objective == pytest.approx(value(given, result.Y.U, result.Y.V, eta), rel=1e-12)


def test_extrapolated_iterations_cost_three_products_and_six_where_the_step_is_made_twice(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="ridge(0.1)", V="ridge(0.1)")
    result = bo.solve(problem, method="els", start=start, max_iterations=300)
    again = np.flatnonzero(result.history["beta"][2:] == 0) + 2
    assert again.size > 0
    expected = np.full(301, 3.0)
    expected[0], expected[again] = 1.0, 6.0
    np.testing.assert_array_equal(np.diff(result.history["products"], prepend=0.0), expected)


def test_a_mixture_that_would_rise_is_replaced_by_the_plain_step(M, start):
    problem = bo.compose("relu-nmd", M, rank=RANK)
    states = []
    result = bo.solve(problem, method="aals", start=start, max_iterations=60, observers=[states.append])
    spent = np.diff(result.history["products"], prepend=0.0)
    assert set(spent) == {3.0, 6.0}
    refused = int(np.flatnonzero(spent == 6)[0])
    before = states[refused - 1].Y
    U, V, _ = turn(M, before.U, before.V, 0.0, 1e-3)
    np.testing.assert_allclose(states[refused].Y.U, U, atol=1e-9)
    np.testing.assert_allclose(states[refused].Y.V, V, atol=1e-9)


@pytest.mark.parametrize("method", ["els", "els(damping=0)", "aals", "aals(damping=0)"])
def test_a_rank_above_that_of_the_data_blows_nothing_up(method):
    M = np.outer(np.arange(1.0, 16.0), np.arange(1.0, 12.0))
    rng = np.random.default_rng(0)
    line = rng.standard_normal((15, 1)) @ np.ones((1, RANK))
    singular = bo.Blocks(U=line, V=np.vstack([rng.standard_normal((RANK - 1, 11)), np.zeros((1, 11))]))
    for start in (singular, None):
        result = bo.solve(bo.compose("relu-nmd", M, rank=RANK), method=method, start=start, max_iterations=60)
        assert result.objective < 1e-6 * np.sum(M**2)
        assert result.certificate.largest_norm < 1e3 * np.linalg.norm(M)
        assert result.certificate.monotone


def test_a_start_at_zero_is_left_where_columns_are_started_anew_and_kept_else(M):
    Y0 = bo.Blocks(U=np.zeros((31, RANK)), V=np.zeros((RANK, 23)))
    els, aals = (
        bo.solve(bo.compose("relu-nmd", M, rank=RANK), method=method, start=Y0, max_iterations=3)
        for method in ("els", "aals")
    )
    assert els.objective < 0.1 * aals.objective
    assert els.certificate.monotone
    assert not aals.Y.flat.any()


@pytest.mark.parametrize("method", ["els", "aals"])
def test_a_small_Tikhonov_problem_becomes_stationary(M, method):
    problem = bo.compose("relu-nmd", M, rank=2, U="ridge(0.5)", V="ridge(0.2)")
    result = bo.solve(problem, method=method, stop="stationarity(1e-8)", max_iterations=3000)
    assert result.converged
    U, V = result.Y.U, result.Y.V
    S = U @ V - latent(M, U, V)
    assert np.abs(S @ V.T + 0.5 * U).max() <= 1e-6
    assert np.abs(U.T @ S + 0.2 * V).max() <= 1e-6
    assert result.certificate.relative_subgradient <= 1e-8


@pytest.mark.parametrize(("method", "early", "late"), [("els", 2.1e-4, 2.9e-5), ("aals", 1.4e-5, 1.4e-6)])
def test_a_matrix_of_low_rank_is_recovered_within_a_few_hundred_iterations(method, early, late):
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((300, 10)) @ rng.standard_normal((10, 100)))
    error = bo.solve(bo.compose("relu-nmd", M, rank=12), method=method, max_iterations=300).history["relative_error"]
    assert error[100] < 1.03 * early
    assert error[300] < 1.03 * late


@pytest.mark.parametrize("method", ["els", "aals"])
@pytest.mark.parametrize("spec", ["l1(0.1)", "nonneg", "nuclear(0.1)", "elastic-net(0.1, 0.1)"])
def test_another_H_is_refused_with_what_is_taken(M, method, spec):
    problem = bo.compose("relu-nmd", M, rank=RANK, V=spec)
    with pytest.raises(IncompatibleError, match=rf"{method} .* it can take H = 0 or Tikhonov \(ridge\)\. Got "):
        bo.solve(problem, method=method, max_iterations=1)


def test_the_parameters_are_checked():
    with pytest.raises(ParameterError, match="'damping' parameter of ELS must be a finite number >= 0"):
        bo.make("method", "els(damping=-1)")
    with pytest.raises(ParameterError, match="'memory' parameter of AALS must be a whole number >= 1"):
        bo.make("method", "aals(memory=0)")
