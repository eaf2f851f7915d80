"""The pass gives the same by NumPy and compiled, on one thread and on two, dense and sparse."""

import bregopt_relu.sweep
import numpy as np
import pytest
import scipy.sparse
from bregopt_relu.fused import FusedOracle

import bregopt as bo


def problem(form):
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((700, 300))) * (rng.random((700, 300)) < 0.3)
    return bo.compose("relu-nmd", form(M), rank=6, U="l1(0.01)", V="l1(0.015)", kernel="paper")


def run(form, compiled, threads, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", "1" if compiled else "0")
    it = problem(form)
    it = it.seen_through(FusedOracle(it.block, threads), it.prox)
    return bo.solve(it, method="aapb(beta=0.6, step=1)", max_iterations=20)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_compiled_or_not_and_with_any_number_of_threads_the_iterates_agree(form, monkeypatch):
    reference = run(np.asarray, False, 1, monkeypatch)
    for compiled in (True, False):
        for threads in (1, 2, 3):
            result = run(form, compiled, threads, monkeypatch)
            np.testing.assert_allclose(result.Y.flat, reference.Y.flat, rtol=0, atol=1e-10)
            for column in ("objective", "relative_error", "model_residual", "lyapunov"):
                np.testing.assert_allclose(result.history[column], reference.history[column], rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_number_of_threads_gives_the_same_bits(threads, monkeypatch):
    runs = [run(scipy.sparse.csr_array, True, threads, monkeypatch) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].Y.flat, runs[1].Y.flat)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_compiled_sweep_is_the_one_by_numpy(form, monkeypatch):
    M = problem(form).block.M
    rng = np.random.default_rng(1)
    for rows in M.tiles():
        X = rng.standard_normal((rows.stop - rows.start, M.shape[1]))
        monkeypatch.setenv("BREGOPT_COMPILE", "0")
        by_numpy, S = bregopt_relu.sweep.sweep_for(M)(rows, one := X.copy()), one
        monkeypatch.setenv("BREGOPT_COMPILE", "1")
        compiled, T = bregopt_relu.sweep.sweep_for(M)(rows, two := X.copy()), two
        np.testing.assert_allclose(compiled, by_numpy, rtol=1e-12)
        np.testing.assert_array_equal(S, T)


def test_a_small_matrix_does_not_load_the_compiler():
    import subprocess
    import sys

    code = """
import sys, numpy as np, bregopt as bo
bo.solve(bo.compose("relu-nmd", np.eye(20) + 0.1, rank=3), max_iterations=3)
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False", done.stderr
