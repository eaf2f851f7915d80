"""What is true of every method alike: where it stops, and that its Lyapunov function does not rise."""

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo

OTHERS = ("gnmf", "support-search")  # the first needs a graph, the other an H that limits the number of non-zeros
METHODS = [entry.name for entry in bo.catalog("method") if entry.name not in OTHERS]
BARE = {"a-nmd", "ebcd-nmd", "naive-nmd", "bcd-nmd", "3b-nmd", "em-nmd", "tsvd"}
TIKHONOV, NONNEG = {"els", "aals", "nmd-tm"}, {"hals", "mu"}
FIGURES = {
    "aapb": "Φ(Y^k)",
    "apb": "Φ(Y^k)",
    "bpg": "Φ(Y^k)",
    "aapb-certified": "Φ(Y^k) + (δ/λ)·D(Y^{k−1}, Y^k)",
    "cocain": "Θ = Φ(Y^k) + (δ/τ)·D(Y^{k−1}, Y^k)",
    "bella": "E_λ(Ȳ^{k−1}), the Bregman forward–backward envelope,",
}


def given(method, H):
    """H, or what comes closest to it of what the method takes."""
    if method in NONNEG:
        return f"with-nonneg({H.replace('mcp(0.1, 3)', 'l1(0.1)')})"
    return "none" if method in BARE else "ridge(0.5)" if method in TIKHONOV else H


def matrix(seed=0, shape=(16, 12)):
    return np.maximum(0, np.random.default_rng(seed).standard_normal(shape))


@pytest.mark.parametrize("method", [name for name in METHODS if name not in BARE | {"mu"}])  # zeros stay zero there
def test_every_method_stops_at_a_stationary_point(method):
    H = given(method, "elastic-net(0.3, 0.5)")
    problem = bo.compose("relu-nmd", matrix(), rank=2, U=H, V=H)
    result = bo.solve(problem, method=method, stop="stationarity(1e-6)", max_iterations=5000)
    assert result.status is bo.Status.STATIONARY
    assert result.certificate.relative_subgradient <= 1e-6
    if H.startswith("elastic"):
        assert result.objective == pytest.approx(27.392457309, rel=1e-9), "as of every other method"
    else:
        other = bo.solve(problem, method="aapb", stop="stationarity(1e-6)", max_iterations=5000)
        assert result.objective == pytest.approx(other.objective, rel=1e-9)


@pytest.mark.parametrize("method", sorted(BARE - {"tsvd"}))
def test_methods_without_a_regularizer_meet_data_that_can_be_met(method):
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)))
    result = bo.solve(bo.compose("relu-nmd", M, rank=2), method=method, stop="stationarity(1e-6)", max_iterations=5000)
    assert result.status is bo.Status.STATIONARY
    assert result.metrics["relative_error"] < 1e-5


@pytest.mark.parametrize("H", ["l1(0.1)", "mcp(0.1, 3)"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", [*METHODS, "ippalm(growing)", "bpg(backtrack)", "apb(step=predicted)"])
def test_the_lyapunov_function_does_not_rise(method, form, scale, H):
    H = given(method, H)
    problem = bo.compose("relu-nmd", form(scale * matrix(1, (30, 24))), rank=3, U=H, V=H)
    certificate = bo.solve(problem, method=method, max_iterations=40).certificate
    assert certificate.lyapunov == FIGURES.get(method, certificate.lyapunov)
    assert certificate.monotone or not certificate.guaranteed
    if certificate.guaranteed or certificate.safeguard or method in FIGURES:
        assert certificate.monotone


@pytest.mark.parametrize("H", ["l0(0.01)", "l0-ball(40)", "lp(0.05)"])
@pytest.mark.parametrize("method", ["aapb", "apb", "palm", "ppalm", "bella"])
def test_a_penalty_that_jumps_does_not_raise_the_objective_of_guarded_methods(method, H):
    problem = bo.compose("relu-nmd", matrix(1, (30, 24)), rank=3, U=H, V=H)
    result = bo.solve(problem, method=method, max_iterations=60)
    assert result.certificate.monotone
