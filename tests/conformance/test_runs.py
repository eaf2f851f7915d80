"""Every regularizer on a real small matrix: 100 iterations without a rise, and what the certificate says of them."""

import tracemalloc

import numpy as np
import pytest

import bregopt as bo
from bregopt.host.compose import examples
from bregopt.matrices import mycielskian

OF_ONE_SHAPE = ("graph(", "group(")  # they hold a matrix or labels for three rows
REGULARIZERS = {label: H for label, H in examples("regularizer") if not label.startswith(OF_ONE_SHAPE)}


def test_every_registered_regularizer_has_an_example():
    shown = {label.partition("(")[0] for label, _ in examples("regularizer")}
    assert {entry.name for entry in bo.catalog("regularizer")} == shown


@pytest.mark.parametrize("label", REGULARIZERS)
def test_a_hundred_iterations_never_raise_the_lyapunov_value(label):
    H = REGULARIZERS[label]
    problem = bo.compose("relu-nmd", mycielskian(6), rank=4, U=H, V=H)
    extrapolated = H.weak_convexity is not None
    method = "aapb(beta=assumption2(delta=0.5), step=1)" if extrapolated else "apb(step=0.9)"
    result = bo.solve(problem, method=method, max_iterations=100)
    certificate = result.certificate
    assert certificate.monotone
    assert np.isfinite(problem.regularizer.value(result.Y))
    assert certificate.guaranteed == problem.exact_prox
    if extrapolated and result.Y.flat.any():
        assert np.nanmax(result.history["beta"]) > 0
    if not problem.exact_prox:
        assert "proximal map" in certificate.summary()


def test_the_prox_of_a_million_entries_allocates_at_most_two_temporaries():
    X = np.random.default_rng(0).standard_normal((1000, 1000))
    H = bo.make("regularizer", "l1(0.5)")
    H.prox(X[:10], 0.3)
    tracemalloc.start()
    H.prox(X, 0.3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 2.01 * X.nbytes


@pytest.mark.parametrize("spec", ["nuclear(0.5)", "orthonormal", "rank-ball(3)"])
def test_the_spectral_maps_use_thin_factorisations(spec):
    X = np.random.default_rng(0).standard_normal((20000, 8))
    H = bo.make("regularizer", spec)
    H.prox(X[:20], 0.3)
    tracemalloc.start()
    H.prox(X, 0.3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 12 * X.nbytes, "a square factor would take 2500 times the matrix"


def test_a_step_beyond_the_share_that_a_weakly_convex_regularizer_needs_is_reported():
    problem = bo.compose("relu-nmd", mycielskian(6), rank=4, U="log(5, 0.05)")
    result = bo.solve(problem, method="apb(step=0.9)", max_iterations=5)
    assert not result.certificate.assumptions["proximal map"].held
