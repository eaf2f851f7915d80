"""The model of a Bregman step against dense formulas, and the evaluations that a run remembers."""

import numpy as np
import pytest

import bregopt as bo
from bregopt.engine.iterate import REMEMBERED, Meter

M = np.maximum(0, np.random.default_rng(0).standard_normal((9, 7)))
STEP, ETA = 0.6, 4.0


def point(seed, size=1.0):
    rng = np.random.default_rng(seed)
    return bo.Blocks(U=size * rng.standard_normal((9, 3)), V=size * rng.standard_normal((3, 7)))


@pytest.fixture
def problem():
    return bo.compose("relu-nmd", M, rank=3, U=f"l1({ETA})", V="ridge(0.3)", kernel="paper")


def model_at(problem, Y, Y_bar):
    evaluation = problem.oracle.evaluate(Y, at=Y_bar, value_at=True)
    return bo.BregmanModel(problem, evaluation, problem.kernel.at(evaluation.norms), STEP)


def dense(Y, Y_bar):
    """F(·, W) = ½‖W − UV‖² with W = W(Y), as its value and its gradient at Ȳ, written out."""
    W = np.where(M > 0, M, np.minimum(Y.U @ Y.V, 0))
    S = Y_bar.U @ Y_bar.V - W
    return (lambda Z: 0.5 * np.sum((W - Z.U @ Z.V) ** 2)), bo.Blocks(U=S @ Y_bar.V.T, V=Y_bar.U.T @ S), W


def value(problem, Y, Y_bar, Z):
    """m(Z), written out with the kernel 3ψ1 + ‖W‖ψ2."""
    F, slope, W = dense(Y, Y_bar)

    def psi(X):
        s = np.sum(X.flat**2)
        return 0.75 * s * s + 0.5 * np.linalg.norm(W) * s

    grad_psi = Y_bar * (3 * np.sum(Y_bar.flat**2) + np.linalg.norm(W))
    D = psi(Z) - psi(Y_bar) - grad_psi.dot(Z - Y_bar)
    H = ETA * np.abs(Z.U).sum() + 0.15 * np.sum(Z.V**2)
    return F(Y_bar) + slope.dot(Z - Y_bar) + D / STEP + H


@pytest.mark.parametrize("lags", [True, False])
def test_the_minimiser_is_below_every_other_point_of_the_model(problem, lags):
    Y_bar = point(1)
    Y = point(2) if lags else Y_bar
    best, rng = model_at(problem, Y, Y_bar).minimiser(), np.random.default_rng(3)
    least = value(problem, Y, Y_bar, best)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            other = best.map(lambda name, X, size=size: X + size * rng.standard_normal(X.shape))
            assert value(problem, Y, Y_bar, other) >= least - 1e-12 * abs(least)


@pytest.mark.parametrize("lags", [True, False])
def test_its_tests_are_the_differences_they_are_called_by(problem, lags):
    Y_bar = point(1)
    Y = point(2) if lags else Y_bar
    model, Z = model_at(problem, Y, Y_bar), point(4)
    F, slope, _ = dense(Y, Y_bar)
    seen = problem.oracle.evaluate(Z)
    trial = model.upper_test(Z, seen)
    assert pytest.approx(seen.value - F(Y_bar) - slope.dot(Z - Y_bar)) == trial.D_F
    assert trial.D_psi == pytest.approx(model.kernel.divergence(Z, Y_bar))
    assert (trial.step, model.slope(Z)) == (STEP, pytest.approx(slope.dot(Z - Y_bar)))
    if lags:
        assert model.lower_gap(Y, seen) == pytest.approx(F(Y_bar) + slope.dot(Y - Y_bar) - F(Y))
    else:
        assert model.lower_gap(Z, seen) == pytest.approx(F(Y_bar) + slope.dot(Z - Y_bar) - seen.value)


def test_it_yields_an_element_of_the_subdifferential_of_H(problem):
    model = model_at(problem, point(2), point(1))
    Y = model.minimiser()
    xi = model.subgradient_of_H(Y)
    np.testing.assert_allclose(xi.V, 0.3 * Y.V, atol=1e-9)
    np.testing.assert_allclose(xi.U[Y.U != 0], ETA * np.sign(Y.U[Y.U != 0]), atol=1e-9)
    assert np.abs(xi.U).max() <= ETA + 1e-9
    assert (Y.U == 0).any(), "the case is one with zeros"
    gap = model.kernel.gradient(model.Y_bar) - model.kernel.gradient(Y)
    assert model.residual(Y) == pytest.approx(gap.norm() / STEP)


def test_a_step_that_leaves_the_finite_numbers_says_so(problem):
    evaluation = problem.oracle.evaluate(point(1), at=point(1))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(bo.errors.OverflowedError, match="shorten the step"),
    ):
        bo.BregmanModel(problem, evaluation, problem.kernel.sample(), 1e308).minimiser()


def test_a_gap_without_the_value_at_the_extrapolated_point_is_refused(problem):
    evaluation = problem.oracle.evaluate(point(1), at=point(2))
    model = bo.BregmanModel(problem, evaluation, problem.kernel.sample(), 1.0)
    with pytest.raises(bo.errors.IncompatibleError, match="value_at"):
        model.lower_gap(point(1), evaluation)


# ---- what a run remembers


def test_an_evaluation_without_a_gradient_says_how_to_ask_for_one(problem):
    evaluation = problem.oracle.evaluate(point(1))
    assert not evaluation.has_gradient
    assert not evaluation.reduced
    for ask in (lambda: evaluation.gradient, lambda: evaluation.at):
        with pytest.raises(bo.errors.IncompatibleError, match=r"evaluate\(Y, at=\.\.\.\)"):
            ask()


def test_what_was_evaluated_just_now_costs_nothing(problem):
    meter, Y, Y_bar = Meter(problem.oracle), point(1), point(2)
    first = meter.evaluate(Y, at=Y_bar)
    assert meter.counts.products == 3
    assert meter.evaluate(Y, at=bo.Blocks(U=Y_bar.U, V=Y_bar.V)) is first, "equal points are the same point"
    assert meter.evaluate(Y) is first, "its value is known too"
    assert meter.counts.products == 3
    assert meter.evaluate(Y, at=Y_bar, value_at=True).value_at is not None
    assert meter.counts.products == 7
    assert meter.evaluate(Y_bar).Y is Y_bar
    assert meter.counts.products == 8


def test_a_gradient_elsewhere_or_with_another_W_is_evaluated_anew(problem):
    meter, Y, Y_bar = Meter(problem.oracle), point(1), point(2)
    meter.evaluate(Y, at=Y_bar)
    meter.evaluate(Y, at=Y)
    meter.evaluate(Y_bar, at=Y_bar)
    assert meter.counts.gradients == 3
    same, plain = meter.evaluate(Y_bar, at=Y_bar), problem.oracle.evaluate(Y_bar, at=Y_bar)
    np.testing.assert_array_equal(same.gradient.flat, plain.gradient.flat)
    assert meter.counts.gradients == 3


def test_only_the_last_few_are_kept_and_use_keeps_one(problem):
    meter = Meter(problem.oracle)
    points = [point(seed) for seed in range(REMEMBERED + 1)]
    for Y in points[:REMEMBERED]:
        meter.evaluate(Y)
    meter.evaluate(points[0])
    meter.evaluate(points[REMEMBERED])
    assert meter.counts.evaluations == REMEMBERED + 1
    meter.evaluate(points[0])
    assert meter.counts.evaluations == REMEMBERED + 1
    meter.evaluate(points[1])
    assert meter.counts.evaluations == REMEMBERED + 2
