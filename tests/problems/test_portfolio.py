"""What a portfolio tries, when another method takes over, and what that costs."""

import re

import numpy as np
import pytest

import bregopt as bo

PAIRS = ["portfolio(els, masked-newton)", "portfolio(aapb, bella)", "portfolio(els, aals, masked-newton, after=4)"]


def sparse(seed=0, shape=(70, 50), rank=4):
    rng = np.random.default_rng(seed)
    return np.maximum(0.0, rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1])) - 2.0)


def problem(H="none", seed=0):
    return bo.compose("relu-nmd", sparse(seed), rank=5, U=H, V=H)


def trials(result):
    return [note for note in result.notes if note.startswith("After ")]


def test_before_the_first_trial_it_is_its_first_method():
    ours = bo.solve(problem(), method="portfolio(els, masked-newton)", max_iterations=9)
    first = bo.solve(problem(), method="els", max_iterations=9)
    np.testing.assert_array_equal(ours.Y.flat, first.Y.flat)
    assert ours.counts == first.counts
    assert not trials(ours)


def test_a_trial_that_is_dropped_leaves_the_iterates_as_they_were():
    rng = np.random.default_rng(0)
    dense = bo.compose("low-rank", rng.standard_normal((40, 30)), rank=3)  # els is far ahead of palm there
    ours = bo.solve(dense, method="portfolio(els, palm)", max_iterations=14)
    (note,) = trials(ours)
    assert "palm was tried and dropped" in note
    first = bo.solve(dense, method="els", max_iterations=14)
    np.testing.assert_array_equal(ours.Y.flat, first.Y.flat)
    assert ours.counts.products > first.counts.products  # the trial is on the account of the run


def test_a_faster_method_takes_over_and_the_result_is_lower_than_without_it():
    ours = bo.solve(problem(), method="portfolio(palm, masked-newton)", stop="max-products(200)")
    assert re.search(
        r"masked-newton was tried: it lowered Φ [\d.e+]+ times as fast as palm, so it took over", trials(ours)[0]
    )
    alone = bo.solve(problem(), method="palm", stop="max-products(200)")
    assert ours.objective < 0.7 * alone.objective


@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_falls_never_rises_whoever_is_at_work(method, seed):
    result = bo.solve(problem("ridge(0.1)", seed), method=method, max_iterations=60)
    assert trials(result)
    assert result.certificate.monotone
    assert np.all(np.diff(result.history["lyapunov"]) <= 1e-12 * result.history["lyapunov"][0])


def test_the_theorems_of_all_members_make_one_certificate():
    result = bo.solve(problem("l1(0.1)"), method="portfolio(aapb, bella)", max_iterations=40)
    assert {name.partition(": ")[0] for name in result.certificate.assumptions} == {"aapb", "bella"}
    assert result.certificate.assumptions_held
    observed = bo.solve(problem(), method="portfolio(els, bella)", max_iterations=40).certificate
    assert not observed.assumptions
    assert "a theorem says so" in observed.safeguard


def test_trials_that_come_to_nothing_take_a_tenth_at_most_but_for_the_first():
    rng = np.random.default_rng(0)
    dense = bo.compose("low-rank", rng.standard_normal((40, 30)), rank=3, U="ridge(1)", V="ridge(1)")
    states = bo.iterate(dense, method="portfolio(els, palm, bella)")
    wasted = []
    for state in states:
        wasted.append((state.inner.wasted, state.counts.products))
        if state.counts.products > 1500:
            break
    first = next(waste for waste, _ in wasted if waste > 0)
    assert all(waste <= max(first, 0.1 * products) for waste, products in wasted)
    assert len({waste for waste, _ in wasted}) > 2  # more than one was dropped


def test_momentum_goes_on_when_a_method_takes_over():
    els, newton = bo.make("method", "els"), bo.make("method", "masked-newton")
    run = bo.iterate(problem(), method=els)
    for _ in range(8):
        state = next(run)
    momentum = els.momentum(state)
    assert momentum.theta > 1
    taken = newton.take_over(run.problem, state.Y, momentum)
    assert newton.momentum(taken).theta == momentum.theta
    np.testing.assert_array_equal(newton.momentum(taken).Y_prev.flat, momentum.Y_prev.flat)
    lost = newton.start(run.problem, state.Y)
    assert newton.advance(run.problem, taken).beta > newton.advance(run.problem, lost).beta == 0
    assert bo.make("method", "palm").momentum(state) is None


def test_a_method_without_momentum_starts_at_the_point():
    palm = bo.make("method", "palm")
    run = bo.iterate(problem(), method="els")
    state = next(run)
    taken = palm.take_over(run.problem, state.Y, bo.Momentum(state.Y, 3.0))
    assert taken.Y is state.Y


def test_a_member_that_is_no_method_is_refused():
    with pytest.raises(bo.errors.ParameterError, match="must be a Method"):
        bo.make("method", "portfolio(els, auto)")


def test_a_trial_ends_at_a_point_that_no_step_leaves():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((30, 5)), rng.standard_normal(5)
    exact = bo.compose("quadratic-inverse", A, np.square(A @ x))
    for seed in (0, 1):
        result = bo.solve(exact, method="portfolio(aapb, bella)", start="random-ray", seed=seed)
        assert result.objective < 1e-12
