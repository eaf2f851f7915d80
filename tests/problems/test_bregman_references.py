"""Whole runs of bella and aapb-certified against loops in dense NumPy, with every rule written out again."""

import math

import numpy as np
import pytest
from dense_bregman import Dense, lbfgs_matrix

import bregopt as bo

RANK, ETA, FREE, MARGIN = 3, (0.05, 0.02), 0.95, 0.95


def composed(seed):
    rng = np.random.default_rng(seed)
    M = np.maximum(0, rng.standard_normal((16, 12))) * (rng.random((16, 12)) < 0.6)
    problem = bo.compose("relu-nmd", M, rank=RANK, U=f"l1({ETA[0]})", V=f"l1({ETA[1]})")
    Y = problem.first_point(None, np.random.default_rng(seed))
    return problem, Y, Dense(M, RANK, ETA, 1.0, problem.block.reduced_norm)


class Seen:
    """The proximal step of length λ from y, its envelope, and the curvature where λ needed a test."""

    def __init__(self, dense, y, step):
        self.y, self.step = y, step
        self.value, self.slope, b = dense.evaluate(y)
        while True:
            self.x = dense.step(y, self.slope, b, self.step)
            self.D = dense.D(self.x, y, b)
            linear = self.value + self.slope @ (self.x - y)
            self.envelope = linear + dense.phi(self.x) - dense.f(self.x) + self.D / self.step
            if self.step <= FREE:
                self.curvature, self.phi, self.gain = None, self.envelope, (1 - MARGIN) * self.D / self.step
                return
            rise = dense.f(self.x) - linear
            if rise <= MARGIN * self.D / self.step:
                self.curvature, self.phi = max(rise, 0) / self.D, dense.phi(self.x)
                self.gain = self.envelope - self.phi
                return
            share = min(max(0.9 * MARGIN * self.D / (self.step * rise), 1 / 16), 1 / 2)
            self.step = max(share * self.step, min(FREE, self.step / 2))

    @property
    def residual(self):
        return (self.y - self.x) / self.step


def bella(dense, x, iterations, memory, sigma=0.1, target=0.6):
    last, pairs, plain, idle, tried = Seen(dense, x, FREE), [], True, 0, 0
    pace, rows = last.step, [(last.phi, last.envelope, last.step)]
    for _ in range(iterations - 1):
        wanted = math.inf if not last.curvature else target / last.curvature
        grows = wanted > last.step if plain else wanted > 2 * last.step and idle >= 5
        step = min(wanted, 2 * last.step) if grows else last.step
        ahead, goal = None, last.envelope - sigma * last.gain
        if pairs:
            beyond = last.y - lbfgs_matrix(pairs) @ last.residual - last.x
            for tau in (1, 1 / 4, 1 / 16):
                found = Seen(dense, last.x + tau * beyond, step)
                if found.envelope <= goal:
                    ahead, tried = found, tried + 1
                    break
        plain = ahead is None
        ahead = ahead or Seen(dense, last.x, step)
        idle = idle + 1 if step == ahead.step == last.step else 0
        if 1 / 3 < ahead.step / pace < 3:
            s, y = ahead.y - last.y, ahead.residual - last.residual
            pairs = [*([] if plain else pairs), *([(s, y)] if s @ y > 0 else [])][-memory:]
        else:
            pairs, pace = [], ahead.step
        last = ahead
        rows.append((last.phi, last.envelope, last.step))
    return last.x, np.array(rows), tried


@pytest.mark.parametrize("memory", [3, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_forty_iterations_of_bella_agree_with_the_dense_reference(seed, memory):
    problem, Y, dense = composed(seed)
    x, rows, tried = bella(dense, Y.flat, 40, memory)
    result = bo.solve(problem, method=f"bella(memory={memory})", start=Y, max_iterations=40)
    for column, expected in zip(("objective", "lyapunov", "step"), rows.T, strict=True):
        np.testing.assert_allclose(result.history[column][1:], expected, rtol=1e-6, err_msg=column)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-5)
    assert tried > 20, "most steps begin where an L-BFGS direction leads"
    change = np.diff(rows[:, 2])
    assert change.min() < 0 < change.max(), "λ had to fall and to grow"


def certified(dense, x, iterations, delta=0.999, epsilon=0.001):
    """Nesterov's β, shortened until the β test holds with the gap that is seen; the predicted step, by its test."""
    b, old, step, theta, D_old, step_old = dense.b, x, 1.0, 1.0, 0.0, 1.0
    rows, shortened = [], 0
    for _ in range(iterations):
        if D_old > 0:
            following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
            nesterov, theta = (theta - 1) / following, following
        else:
            nesterov = 0.0
        while True:
            beta = nesterov
            while True:
                y = x + beta * (x - old)
                value, slope, _ = dense.evaluate(y)
                cost = dense.D(x, y, b) / step + value + slope @ (x - y) - dense.f(x)
                budget = (delta - epsilon) * D_old / step_old
                if beta == 0 or cost <= budget:
                    break
                beta *= min(0.8, 0.95 * math.sqrt(budget / cost))
                beta, shortened = beta if beta > 1e-3 else 0.0, shortened + 1
            new = dense.step(y, slope, b, step)
            rise, distance = dense.f(new) - value - slope @ (new - y), dense.D(new, y, b)
            L = max(rise, 0) / distance
            if rise <= distance / step:
                break
            step = min(step / 2, 0.9 / L)
        D_old, step_old, old, x = dense.D(x, new, b), step, x, new
        rows.append((dense.phi(x), dense.phi(x) + delta * D_old / step, beta, step))
        step = min(max(0.6 / L if L > 0 else math.inf, 0.8 * step), 2 * step)
    return x, np.array(rows), shortened


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_forty_iterations_of_the_certified_variant_agree_with_the_dense_reference(seed):
    problem, Y, dense = composed(seed)
    x, rows, shortened = certified(dense, Y.flat, 40)
    result = bo.solve(problem, method="aapb-certified", start=Y, max_iterations=40)
    for column, expected in zip(("objective", "lyapunov", "beta", "step"), rows.T, strict=True):
        np.testing.assert_allclose(result.history[column][1:], expected, rtol=1e-6, atol=1e-12, err_msg=column)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-5)
    assert shortened > 0, "a β of Nesterov's had to be shortened"
