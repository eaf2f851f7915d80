"""½‖W − UV‖² and what is built on it: the fused evaluation, starts, spectra, and losses other than ReLU."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from bregopt_lowrank import LowRankBlock, Matrix, TileLoops, TileLoss, TileSums, as_local_matrix
from bregopt_lowrank.oracle import FusedOracle
from lowrank_cases import Rows, case

import bregopt as bo


def test_the_gradient_of_the_loss_has_taylor_slope_two():
    _, problem, Y = case()
    _, _, D = case(1)
    W = problem.block.argmin(problem.smooth, Y)
    value, gradient = problem.smooth.value_and_gradient(Y, W)
    steps = 10.0 ** np.arange(-2, -6, -1)
    errors = [abs(problem.smooth.value(Y.plus(t, D), W) - value - t * gradient.dot(D)) for t in steps]
    np.testing.assert_allclose(np.diff(np.log(errors)) / np.diff(np.log(steps)), 2.0, atol=0.1)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("where", ["same", "other"])
def test_the_fused_evaluation_equals_the_plain_one(form, where):
    _, problem, Y = case(form=form)
    at = Y if where == "same" else case(2)[2]
    plain = bo.PlainOracle(problem.smooth, problem.block, problem.metrics)
    one, two = problem.oracle.evaluate(Y, at, value_at=True), plain.evaluate(Y, at, value_at=True)
    assert one.value == pytest.approx(two.value, rel=1e-13)
    assert one.value_at == pytest.approx(two.value_at, rel=1e-12)
    assert one.norms == pytest.approx(dict(two.norms), rel=1e-12)
    assert one.metrics == pytest.approx(dict(two.metrics), rel=1e-12)
    np.testing.assert_allclose(one.gradient.flat, two.gradient.flat, rtol=1e-11, atol=1e-12)
    assert problem.oracle.evaluate(Y).value == one.value


def test_the_starts_have_the_promised_scale_and_are_reproducible():
    M, problem, _ = case(m=30, n=20)
    one = bo.solve(problem, max_iterations=0, seed=3).Y
    two = bo.solve(problem, max_iterations=0, seed=3).Y
    np.testing.assert_array_equal(one.flat, two.flat)
    assert np.abs(one.flat - bo.solve(problem, max_iterations=0, seed=4).Y.flat).max() > 0
    for X in (one.U, one.V):
        assert np.linalg.norm(X) == pytest.approx(np.sqrt(np.linalg.norm(M)))


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_tsvd_start_is_the_best_low_rank_matrix_and_balanced(form):
    rng = np.random.default_rng(0)
    M = rng.random((90, 80)) * (rng.random((90, 80)) < 0.3)
    problem = bo.compose("relu-nmd", scipy.sparse.csc_array(M) if form == "csr" else M, rank=5)
    Y = bo.solve(problem, start="tsvd", max_iterations=0).Y
    U, s, Vt = np.linalg.svd(M)
    np.testing.assert_allclose(Y.U @ Y.V, (U[:, :5] * s[:5]) @ Vt[:5], atol=1e-7)
    assert np.linalg.norm(Y.U) == pytest.approx(np.linalg.norm(Y.V))


def test_a_lanczos_method_that_does_not_converge_is_replaced_by_a_factorisation(monkeypatch):
    import scipy.sparse.linalg

    def stuck(*args, **kwargs):
        raise scipy.sparse.linalg.ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(scipy.sparse.linalg, "svds", stuck)
    M = np.random.default_rng(0).random((90, 80))
    data = bo.compose("relu-nmd", scipy.sparse.csr_array(M), rank=5).block.M
    np.testing.assert_allclose(data.leading(5)[1], np.linalg.svd(M)[1][:5], rtol=1e-10)
    assert data.spectral == pytest.approx(np.linalg.norm(M, 2), rel=2e-4)


def test_a_start_for_another_problem_is_refused():
    plain = bo.Problem(smooth=bo.make("smooth", "factorization"), block=_Given(), kernel=bo.make("kernel", "psi1"))
    with pytest.raises(bo.errors.IncompatibleError, match="'tsvd' is made from the matrix that UV is to fit"):
        bo.solve(plain, start="tsvd")


class _Given(bo.ClosedFormBlock):
    def argmin(self, smooth, Y):
        return np.eye(2)

    def value(self, W):
        return 0.0


def test_a_matrix_with_negative_entries_has_a_spectral_bound_wherever_it_lies():
    M = np.random.default_rng(0).standard_normal((40, 30))
    exact = np.linalg.norm(M, 2)
    for held in (M, scipy.sparse.csr_array(M), Rows(M)):
        data = as_local_matrix(held)
        assert data.lowest == M.min()
        assert exact <= data.spectral <= np.linalg.norm(M)
        np.testing.assert_array_equal(data.read(slice(3, 9)), M[3:9])
    assert as_local_matrix(np.ones((3, 2))).lowest == 0.0


def shifted_residual(X, M, i0, j0, sums):
    """The loops of ``Shifted`` for a dense M; numba compiles them."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            w = 2.0 * M[i0 + i, j0 + j] - 1.0
            X[i, j] -= w
            sums[0] += X[i, j] ** 2
            sums[1] += 0.25 * X[i, j] ** 2
            sums[2] += w * w
    return X.size


def shifted_sparse_residual(X, j0, positions, starts, top, columns, values, spare, sums):
    residual = of_W = 0.0
    for i in range(X.shape[0]):
        spare[: X.shape[1]] = 0.0
        while positions[i] < starts[top + i + 1] and columns[positions[i]] < j0 + X.shape[1]:
            spare[columns[positions[i]] - j0] = values[positions[i]]
            positions[i] += 1
        for j in range(X.shape[1]):
            w = 2.0 * spare[j] - 1.0
            s = X[i, j] - w
            X[i, j] = s
            residual += s * s
            of_W += w * w
    sums[0] += residual
    sums[1] += 0.25 * residual
    sums[2] += of_W
    return X.size


def shifted_measure(X, M, value, error):
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += (X[i, j] - 2.0 * M[i, j] + 1.0) ** 2
        value[i], error[i] = 0.5 * total, 0.25 * total


def shifted_active(x, m, places, slopes):
    for j in range(x.size):
        places[j], slopes[j] = j, x[j] - 2.0 * m[j] + 1.0
    return x.size


@frozen
class Shifted(TileLoss):
    """``½‖X − (2M − 1)‖²``: W = 2M − 1 whatever X is, M̂ = (X + 1)/2, and every entry is active."""

    def fill_W(self, X, M):
        X[:] = 2.0 * M - 1.0

    def residual(self, X, M):
        W = 2.0 * M - 1.0
        X -= W
        return TileSums(float(np.vdot(X, X)), 0.25 * float(np.vdot(X, X)), float(np.vdot(W, W)))

    def sparse_residual(self, X, places, values):
        M = np.zeros_like(X)
        M[places] = values
        return self.residual(X, M)

    def measure(self, X, M):
        square = np.square(X - 2.0 * M + 1.0).sum(axis=1)
        return 0.5 * square, 0.25 * square

    def active_residual(self, X, M):
        return X - 2.0 * M + 1.0, np.ones(X.shape, bool)

    @property
    def loops(self):
        return TileLoops(shifted_residual, shifted_sparse_residual, shifted_measure, shifted_active)


@frozen(eq=False)
class ShiftedBlock(LowRankBlock):
    """``G(W) = 0 if W = 2M − 1, else ∞``."""

    M: Matrix
    rank: int
    reduced_norm: float

    @property
    def loss(self):
        return Shifted()

    def value(self, W):
        return 0.0

    def frobenius(self, of_W):
        return np.sqrt(of_W)


HELD = {"dense": np.asarray, "CSR": scipy.sparse.csr_array, "float32": np.float32, "stored": Rows}


@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("form", HELD)
def test_the_pass_serves_a_loss_that_is_not_relu(form, compiled, small_tiles, monkeypatch):
    from bregopt_lowrank.passes import run

    small_tiles(least=400)
    monkeypatch.setattr(run, "SMALL", 0)
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((90, 70)) * (rng.random((90, 70)) < 0.4)
    U, V, U_bar, V_bar = (rng.standard_normal(shape) for shape in ((90, 3), (3, 70)) * 2)
    W, Y, at = 2.0 * M - 1.0, bo.Blocks(U=U, V=V), bo.Blocks(U=U_bar, V=V_bar)
    oracle = FusedOracle(ShiftedBlock(as_local_matrix(HELD[form](M), threads=2), 3, np.inf))
    seen = oracle.evaluate(Y, at=at, value_at=True)
    rtol = 1e-4 if form == "float32" else 1e-11
    assert seen.value == pytest.approx(0.5 * np.sum((U @ V - W) ** 2), rel=rtol)
    assert seen.value_at == pytest.approx(0.5 * np.sum((U_bar @ V_bar - W) ** 2), rel=rtol)
    assert seen.norms["frobenius"] == pytest.approx(np.linalg.norm(W), rel=rtol)
    assert seen.metrics["relative_error"] == pytest.approx(
        np.linalg.norm(M - (U @ V + 1) / 2) / np.linalg.norm(M), rel=rtol
    )
    S = U_bar @ V_bar - W
    np.testing.assert_allclose(seen.gradient.U, S @ V_bar.T, rtol=0, atol=1e3 * rtol)
    np.testing.assert_allclose(seen.gradient.V, U_bar.T @ S, rtol=0, atol=1e3 * rtol)
    np.testing.assert_allclose(seen.W, W, rtol=rtol)


@pytest.mark.parametrize("compiled", ["1", "0"])
def test_newton_on_rows_serves_a_loss_that_is_not_relu(compiled, monkeypatch):
    """Every entry is active, so that it ends at the best matrix of rank 3."""
    from bregopt_lowrank.newton import row_newton

    monkeypatch.setattr(row_newton, "SMALL", 0)
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((30, 20))
    block = ShiftedBlock(as_local_matrix(M), 3, np.inf)
    psi1, factorization = bo.make("kernel", "psi1"), bo.make("smooth", "factorization")
    problem = bo.Problem(smooth=factorization, block=block, kernel=psi1, start=bo.make("start", "scaled-random"))
    result = bo.solve(problem, method="masked-newton", max_iterations=200)
    rest = np.linalg.svd(2.0 * M - 1.0, compute_uv=False)[3:]
    assert result.objective == pytest.approx(0.5 * np.sum(rest**2), rel=1e-6)


def test_one_compiled_walk_serves_every_loss():
    from bregopt_lowrank.passes import compiled_walks
    from bregopt_relu.relu import ReluLoss

    M, Y = np.ones((500, 401)), bo.Blocks(U=np.ones((500, 2)), V=np.ones((2, 401)))
    assert FusedOracle(ShiftedBlock(as_local_matrix(M), 2, 1.0)).evaluate(Y).value == 0.5 * M.size
    compiled = len(compiled_walks.dense.signatures)
    problem = bo.compose("relu-nmd", M, rank=2)
    assert problem.oracle.evaluate(Y).value == 0.5 * M.size
    assert len(compiled_walks.dense.signatures) == compiled
    walks = [compiled_walks.walks(loss.loops, M.dtype, None) for loss in (Shifted(), ReluLoss(), ReluLoss())]
    assert walks[0].visit.args != walks[1].visit.args
    assert walks[1] is walks[2]


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
import numpy as np, bregopt as bo
from bregopt_lowrank.passes import compiled_walks
from bregopt_relu.relu import ReluLoss
M = np.maximum(0, np.random.default_rng(0).standard_normal((500, 401)))
bo.solve(bo.compose("relu-nmd", M, rank=2), method="aapb", max_iterations=1)
(tile,) = compiled_walks.walks(ReluLoss().loops, M.dtype, None).visit.args
print(tile.cache_hits, *(sum(found.values()) for found in compiled_walks.dense.stats[1:]))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "BREGOPT_COMPILE": "1"}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["0", "0", "1"], ["1", "1", "0"]]  # hits of the tile; hits, misses
