"""The unit of the data has no influence: a problem that is scaled, and H with it, is solved in the same iterations."""

import numpy as np
import pytest

import bregopt as bo

METHODS = [entry.name for entry in bo.catalog("method") if entry.name != "gnmf"]  # it needs a graph
UNREGULARIZED = {"a-nmd", "ebcd-nmd", "naive-nmd", "bcd-nmd", "3b-nmd", "em-nmd", "tsvd"}
TIKHONOV, NONNEG, LIMITED = {"els", "aals", "nmd-tm"}, {"hals", "mu"}, {"support-search"}
RNG = np.random.default_rng(0)
EXACT = np.maximum(0, RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 40)))
NOISY = np.maximum(0, np.random.default_rng(1).standard_normal((16, 12)))


def scaled(method, M, rank, s):
    """M ↦ sM means Y ↦ √s·Y, Φ ↦ s²Φ, and so a weight of √s³ for l1 and of s for a ridge."""
    H = "none"
    if method in TIKHONOV:
        H = f"ridge({0.5 * s!r})"
    elif method in LIMITED:
        H = "l0-ball(15)"
    elif method not in UNREGULARIZED:
        H = f"elastic-net({0.3 * s**1.5!r}, {0.5 * s!r})"
        H = f"with-nonneg({H})" if method in NONNEG else H
    return bo.compose("relu-nmd", s * M, rank=rank, U=H, V=H)


@pytest.mark.parametrize("rule", ["stationarity(1e-4)", "tolerance(1e-2)", "plateau(1e-6)"])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_stops_at_the_same_iteration_at_every_scale(method, rule):
    low, high = (
        bo.solve(scaled(method, NOISY, 2, s), method=method, stop=rule, max_iterations=600) for s in (2.0**-40, 2.0**40)
    )
    assert low.iterations == high.iterations
    assert low.status is high.status
    assert low.counts == high.counts
    assert low.metrics["relative_error"] == pytest.approx(high.metrics["relative_error"], rel=1e-12)
    assert low.certificate.relative_subgradient == pytest.approx(high.certificate.relative_subgradient, rel=1e-9)
    assert low.certificate.guaranteed == high.certificate.guaranteed


@pytest.mark.parametrize("scale", [1e-6, 1.0])
@pytest.mark.parametrize("method", [name for name in METHODS if name not in NONNEG | LIMITED])
def test_small_data_are_not_taken_for_stationary_ones(method, scale):
    """At 1e-6 a run said "stationary" after one iteration, with half of the data unexplained."""
    tolerance = 1e-6
    problem = bo.compose("relu-nmd", scale * EXACT, rank=4)
    result = bo.solve(problem, method=method, tolerance=tolerance, max_iterations=300)
    if result.converged:
        small = result.metrics["relative_error"] <= tolerance
        A = problem.oracle.evaluate(result.Y, at=result.Y).gradient.norm()
        Y0 = problem.first_point(None, np.random.default_rng(0))
        first = problem.oracle.evaluate(Y0, at=Y0).gradient.norm()
        assert small or 10 * tolerance * first >= A
