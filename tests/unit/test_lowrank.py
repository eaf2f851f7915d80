"""½‖W − UV‖² and what is built on it: the fused evaluation, starts, spectra, and losses other than ReLU."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from bregopt_lowrank import (
    ColumnLosses,
    EntrywiseLoss,
    Given,
    LowRankBlock,
    Tile,
    TileLoops,
    TileSums,
    as_local_matrix,
    local_matrix,
)
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
        np.testing.assert_array_equal(data.read(slice(3, 9)).M, M[3:9])
    assert as_local_matrix(np.ones((3, 2))).lowest == 0.0


def test_the_weights_of_a_sparse_matrix_stay_with_entries_that_its_precision_takes_for_zero():
    M = scipy.sparse.csr_array([[1e-60, 2.0, 0.0], [0.0, 3.0, 1e-60]])
    weights = scipy.sparse.csr_array([[5.0, 0.5, 0.0], [0.0, 0.25, 7.0]])
    problem = bo.compose("low-rank", M, rank=1, dtype="float32", weights=weights)
    value = problem.oracle.evaluate(bo.Blocks(U=np.ones((2, 1)), V=np.ones((1, 3)))).value
    assert value == pytest.approx(0.5 * (5.0 + 0.5 * 1.0 + 1.0 + 1.0 + 0.25 * 4.0 + 7.0), rel=1e-6)


def given_residual(X, M, upper, weights, i0, j0, a, b, p, sums):
    """The loops of ``ByHand`` for a dense M; numba compiles them."""
    for i in range(X.shape[0]):
        for j in range(a, b):
            w = p[0] * M[i0 + i, j0 + j] + p[1]
            s = X[i, j] - w
            X[i, j] = s
            sums[0] += s * s
            sums[1] += s * s / (p[0] * p[0])
            sums[2] += w * w
            sums[4] += 0.5 * s * s
    return X.shape[0] * (b - a)


def given_sparse_residual(X, j0, a, b, positions, starts, top, columns, values, upper, weights, spare, p, sums):
    residual = of_W = 0.0
    for i in range(X.shape[0]):
        spare[: X.shape[1]] = 0.0
        while positions[i] < starts[top + i + 1] and columns[positions[i]] < j0 + b:
            spare[columns[positions[i]] - j0] = values[positions[i]]
            positions[i] += 1
        for j in range(a, b):
            w = p[0] * spare[j] + p[1]
            s = X[i, j] - w
            X[i, j] = s
            residual += s * s
            of_W += w * w
    sums[0] += residual
    sums[1] += residual / (p[0] * p[0])
    sums[2] += of_W
    sums[4] += 0.5 * residual
    return X.shape[0] * (b - a)


def given_line(x, values, upper, weights, begin, end, p, sums):
    for k in range(end - begin):
        w = p[0] * values[begin + k] + p[1]
        s = x[k] - w
        sums[0] += s * s
        sums[1] += s * s / (p[0] * p[0])
        sums[2] += w * w - x[k] * x[k]
        sums[4] += 0.5 * s * s
        x[k] = s
    return end - begin


def given_measure(X, M, upper, weights, a, b, p, value, error):
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(a, b):
            total += (X[i, j] - p[0] * M[i, j] - p[1]) ** 2
        value[i] += 0.5 * total
        error[i] += total / (p[0] * p[0])


def given_curve(X, M, upper, weights, a, b, p, places, slopes, curvatures, counts, value, error):
    for i in range(X.shape[0]):
        for j in range(a, b):
            s = X[i, j] - p[0] * M[i, j] - p[1]
            places[i, counts[i]], slopes[i, counts[i]], curvatures[i, counts[i]] = j, s, 1.0
            counts[i] += 1
            value[i] += 0.5 * s * s
            error[i] += s * s / (p[0] * p[0])


@frozen
class Shifted(EntrywiseLoss):
    """``½(x − (a·m + b))²``: w = a·m + b whatever x is, m̂ = (x − b)/a, and every entry is active; an entry, no more."""

    scale: float = 2.0
    shift: float = -1.0

    @staticmethod
    def entry(x, m, scale, shift):
        s = x - scale * m - shift
        return 0.5 * s * s, s, 1.0

    @staticmethod
    def error(x, m, scale, shift):
        return ((x - shift) / scale - m) ** 2


@frozen
class ByHand(Shifted):
    """The same with fast forms of its own."""

    def _W(self, M):
        return self.scale * M + self.shift

    def arrays(self, X, M, upper=None):
        S = X - self._W(M)
        return 0.5 * S**2, S, np.ones(X.shape), (S / self.scale) ** 2

    def W(self, X, tile, curvature):
        return self._W(tile.M)

    def G(self, X, tile, curvature):
        return 0.0

    def residual(self, X, tile, curvature):
        W = self._W(tile.M)
        X -= W
        square = float(np.vdot(X, X))
        return TileSums(square, square / self.scale**2, float(np.vdot(W, W)), 0.5 * square)

    def sparse_residual(self, X, places, values, curvature):
        M = np.zeros_like(X)
        M[places] = values.M
        return self.residual(X, Tile(M), curvature)

    def norm_of_W(self, of_W, M):
        return np.sqrt(of_W)

    def loops(self, weighted, missing):
        return TileLoops(given_residual, given_sparse_residual, given_line, given_measure, given_curve)


LOSSES = {"by its entry": Shifted, "by forms of its own": ByHand}


def block_of(loss, M, rank):
    return LowRankBlock(M, rank, np.inf, ColumnLosses.one(loss, M.shape[1]), 1.0)


HELD = {"dense": np.asarray, "CSR": scipy.sparse.csr_array, "float32": np.float32, "stored": Rows}


@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("form", HELD)
@pytest.mark.parametrize("known", LOSSES)
def test_the_pass_serves_a_loss_that_is_not_relu(known, form, compiled, small_tiles, monkeypatch):
    from bregopt_lowrank.passes import run

    small_tiles(least=400)
    monkeypatch.setattr(run, "SMALL", 0)
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((90, 70)) * (rng.random((90, 70)) < 0.4)
    U, V, U_bar, V_bar = (rng.standard_normal(shape) for shape in ((90, 3), (3, 70)) * 2)
    W, Y, at = 2.0 * M - 1.0, bo.Blocks(U=U, V=V), bo.Blocks(U=U_bar, V=V_bar)
    block = block_of(LOSSES[known](), as_local_matrix(HELD[form](M), threads=2), 3)
    seen = FusedOracle(block).evaluate(Y, at=at, value_at=True)
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
    assert block.value(seen.W) == pytest.approx(0.0, abs=1e-12 * seen.value)
    assert seen.products == 4


@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("known", LOSSES)
def test_the_pass_over_stored_entries_serves_a_loss_that_is_not_relu(known, compiled, small_tiles, monkeypatch):
    from bregopt_lowrank.passes import sampled

    small_tiles(alone=0)
    monkeypatch.setattr(sampled, "FEW", 0)
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    rng = np.random.default_rng(0)
    stored = rng.random((90, 70)) < 0.4
    M = rng.standard_normal((90, 70)) * stored
    U, V, U_bar, V_bar = (rng.standard_normal(shape) for shape in ((90, 3), (3, 70)) * 2)
    Y, at = bo.Blocks(U=U, V=V), bo.Blocks(U=U_bar, V=V_bar)
    data = as_local_matrix(scipy.sparse.csr_array(M), threads=2, sampled=True)
    seen = FusedOracle(block_of(LOSSES[known](), data, 3)).evaluate(Y, at=at, value_at=True)
    W = np.where(stored, 2.0 * M - 1.0, U @ V)
    assert seen.value == pytest.approx(0.5 * np.sum((U @ V - W) ** 2), rel=1e-11)
    assert seen.value_at == pytest.approx(0.5 * np.sum((U_bar @ V_bar - W) ** 2), rel=1e-11)
    assert seen.norms["frobenius"] == pytest.approx(np.linalg.norm(W), rel=1e-11)
    error = np.where(stored, M - (U @ V + 1) / 2, 0.0)
    assert seen.metrics["relative_error"] == pytest.approx(np.linalg.norm(error) / np.linalg.norm(M), rel=1e-11)
    S = U_bar @ V_bar - W
    np.testing.assert_allclose(seen.gradient.U, S @ V_bar.T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(seen.gradient.V, U_bar.T @ S, rtol=0, atol=1e-8)
    assert seen.products == pytest.approx(4 * stored.mean())


@pytest.mark.parametrize("missing", [False, True])
def test_the_loops_made_of_an_entry_are_those_written_by_hand(missing):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 9)) * (rng.random((6, 9)) < 0.5)
    X, csr, none = rng.standard_normal((4, 7)), scipy.sparse.csr_array(M), np.empty(0)
    i0, j0, a, b = 1, 2, 1, 6
    made, given = (loss(3.0, -0.5).loops(False, missing) for loss in (Shifted, ByHand))
    (p,) = ColumnLosses.one(Shifted(3.0, -0.5), 9).numbers(1.0, False)

    def dense(loops):
        S, sums = X.copy(), np.ones(5)
        return S, sums, loops.dense(S, M, none, none, i0, j0, a, b, p, sums)

    def sparse(loops):
        S, sums, positions = X.copy(), np.ones(5), np.array([csr.indptr[i0 + i] for i in range(4)])
        for i in range(4):
            positions[i] += np.count_nonzero(M[i0 + i, : j0 + a])
        rest = (csr.indptr, i0, csr.indices, csr.data, none, none, np.empty(9))
        return S, sums, loops.sparse(S, j0, a, b, positions, *rest, p, sums), positions

    def line(loops):
        x, sums = X[0].copy(), np.ones(5)
        return x, sums, loops.line(x, M[0], none, none, 1, 8, p, sums)

    def measure(loops):
        value, error = np.ones(4), np.ones(4)
        loops.measure(X, M[i0 : i0 + 4, j0:], none, none, a, b, p, value, error)
        return value, error

    def curve(loops):
        places, slopes, curvatures = np.zeros((4, 9), np.int64), np.zeros((4, 9)), np.zeros((4, 9))
        counts, value, error = np.full(4, 2), np.ones(4), np.ones(4)
        loops.curve(X, M[i0 : i0 + 4, j0:], none, none, a, b, p, places, slopes, curvatures, counts, value, error)
        for row, count in enumerate(counts):  # beyond there is what was written over
            places[row, count:], slopes[row, count:], curvatures[row, count:] = 0, 0.0, 0.0
        return places, slopes, curvatures, counts, value, error

    for form in (dense, sparse, line, measure, curve):
        for one, two in zip(form(made), form(given), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-13, atol=1e-14, err_msg=form.__name__)


@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("by_entries", [False, True])
@pytest.mark.parametrize("known", LOSSES)
def test_newton_on_rows_serves_a_loss_that_is_not_relu(known, by_entries, compiled, monkeypatch):
    """Every entry is active, so that it ends at the best matrix of rank 3."""
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((30, 20))
    held = as_local_matrix(scipy.sparse.csr_array(M), sampled=True) if by_entries else as_local_matrix(M)
    block = block_of(LOSSES[known](), held, 3)
    psi1, factorization = bo.make("kernel", "psi1"), bo.make("smooth", "factorization")
    problem = bo.Problem(smooth=factorization, block=block, kernel=psi1, start=bo.make("start", "scaled-random"))
    result = bo.solve(problem, method="masked-newton", max_iterations=200)
    rest = np.linalg.svd(2.0 * M - 1.0, compute_uv=False)[3:]
    assert result.objective == pytest.approx(0.5 * np.sum(rest**2), rel=1e-6)


def test_one_compiled_walk_serves_every_loss():
    from bregopt_lowrank.passes import compiled_walks
    from bregopt_relu.relu import Relu

    M, Y = np.ones((500, 401)), bo.Blocks(U=np.ones((500, 2)), V=np.ones((2, 401)))
    assert FusedOracle(block_of(Shifted(), as_local_matrix(M), 2)).evaluate(Y).value == 0.5 * M.size
    compiled = len(compiled_walks.dense.signatures)
    assert FusedOracle(block_of(ByHand(), as_local_matrix(M), 2)).evaluate(Y).value == 0.5 * M.size
    problem = bo.compose("relu-nmd", M, rank=2)
    assert problem.oracle.evaluate(Y).value == 0.5 * M.size
    assert len(compiled_walks.dense.signatures) == compiled

    def tile(loss):
        losses = ColumnLosses.one(loss, M.shape[1])
        return compiled_walks.walks(losses, 1.0, M.dtype, None, weighted=False, missing=False).visit.args[0]

    assert len({tile(Shifted()), tile(ByHand()), tile(Relu())}) == 3
    assert tile(Relu()) is tile(Relu())
    assert tile(Shifted()) is tile(Shifted(3.0, 0.5)), "other parameters, and compiled again"


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
import numpy as np, bregopt as bo
from bregopt_lowrank.passes import compiled_walks
M = np.maximum(0, np.random.default_rng(0).standard_normal((500, 401)))
for problem in (bo.compose("relu-nmd", M, rank=2), bo.compose("low-rank", M, rank=2, loss="least-squares")):
    bo.solve(problem, method="aapb", max_iterations=1)
    loss = problem.block.loss
    tile = compiled_walks.walks(loss, 1.0, M.dtype, None, weighted=False, missing=False).visit.args[0]
    print(tile.cache_hits)
print(*(sum(found.values()) for found in compiled_walks.dense.stats[1:]))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "BREGOPT_COMPILE": "1"}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    found = [run.stdout.split() for run in runs]
    assert found == [["0", "0", "0", "1"], ["1", "1", "1", "0"]]  # hits of the two tiles; hits, misses of the walk


def test_rows_without_a_known_entry_have_no_error():
    matrix = local_matrix(Given(np.full((2, 3), np.nan), part=True))
    result = bo.solve(bo.compose("low-rank", matrix, V=bo.Fixed(np.eye(3)), U="ridge(1)"), max_iterations=5)
    assert result.metrics["relative_error"] == 0


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("share", [0.2, 0.9, 1.0, 2.0])
def test_what_is_seen_at_once_to_be_1_smad_is_so_by_the_least_constants_too(weight, share):
    _, problem, Y = case()
    norms = problem.oracle.evaluate(Y).norms
    kernel = bo.make("kernel", f"{weight}*psi1 + {share * norms['frobenius']!r}*psi2")
    known = problem.smooth.constants(kernel, norms, False)
    seen = problem.smooth.one_smad(kernel, norms)
    assert seen == (weight >= 1 and share >= 1)
    assert not seen or (known.upper == 1 and known.lower <= 1)
