"""Problems on a dask cluster: what runs there is what runs here, and a worker that dies costs time only."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
import sparse
from attrs import frozen
from bregopt_dask import lost
from bregopt_lowrank import EntrywiseLoss
from distributed import Client, KilledWorker, LocalCluster

import bregopt as bo

PAPER = "aapb(beta=0.6, step=1)"


def matrix(m=61, n=37, zero=slice(20, 33)):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((m, n)))
    M[zero] = 0.0
    return M


M = matrix()
CHUNKS = {
    "dense, uneven, one all zero": da.from_array(M, chunks=((20, 13, 28), 37)),
    "scipy CSR": da.from_array(M, chunks=((33, 0, 28), 37)).map_blocks(scipy.sparse.csr_array),
    "pydata sparse, by columns too": da.from_array(M, chunks=(31, 20)).map_blocks(sparse.COO.from_numpy),
}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(client):
    """The client as the current one, for a test."""
    with client.as_current():
        yield client


@pytest.fixture
def pair(cluster):
    """The problem here and on the cluster."""
    return [bo.compose("relu-nmd", data, rank=4, kernel="paper") for data in (M, CHUNKS["scipy CSR"])]


def points(r=4):
    rng = np.random.default_rng(1)
    return [bo.Blocks(U=rng.standard_normal((61, r)), V=rng.standard_normal((r, 37))) for _ in range(2)]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("form", CHUNKS)
def test_the_iterates_are_those_of_a_matrix_held_here(form):
    here, there = (bo.compose("relu-nmd", data, rank=4, kernel="paper") for data in (M, CHUNKS[form]))
    assert there.block.M.shape == M.shape
    assert there.block.M.nonzeros == np.count_nonzero(M)
    assert there.block.M.frobenius == pytest.approx(np.linalg.norm(M), rel=1e-14)
    one, two = (bo.solve(problem, method=PAPER, max_iterations=20) for problem in (here, there))
    np.testing.assert_allclose(two.Y.flat, one.Y.flat, rtol=0, atol=1e-10)
    for column in ("objective", "relative_error", "model_residual", "lyapunov", "products"):
        np.testing.assert_allclose(two.history[column], one.history[column], rtol=1e-10)


@pytest.mark.parametrize("where", ["nowhere", "same", "other"])
def test_an_evaluation_is_that_of_a_matrix_held_here(pair, where):
    Y, other = points()
    at = {"nowhere": None, "same": Y, "other": other}[where]
    one, two = (problem.oracle.evaluate(Y, at, value_at=at is not None) for problem in pair)
    assert two.value == pytest.approx(one.value, rel=1e-13)
    assert two.value_at == (None if at is None else pytest.approx(one.value_at, rel=1e-12))
    assert two.norms == pytest.approx(dict(one.norms), rel=1e-12)
    assert two.metrics == pytest.approx(dict(one.metrics), rel=1e-12)
    assert two.products == one.products
    if at is not None:
        np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("extrapolated", [False, True])
def test_a_sweep_gives_what_it_gives_here_for_one_product_more(pair, extrapolated):
    Y, other = points()
    at = other if extrapolated else Y
    one, two = (
        problem.oracle.sweep(Y, at, lambda name, rows, gradient: at["U"][rows] - 0.01 * gradient, row_wise=True)
        for problem in pair
    )
    np.testing.assert_allclose(two.Y.U, one.Y.U, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(two.gradient, one.gradient, rtol=1e-10, atol=1e-11)
    assert two.evaluation.value == pytest.approx(one.evaluation.value, rel=1e-13)
    assert (one.evaluation.products, two.evaluation.products) == (3.0, 4.0)


def test_rows_of_W_are_fetched_across_blocks(pair):
    Y, _ = points()
    one, two = (problem.block.argmin(problem.smooth, Y) for problem in pair)
    np.testing.assert_allclose(two.rows(slice(25, 50)), one.toarray()[25:50], rtol=1e-14)
    np.testing.assert_allclose(np.asarray(two), one.toarray(), rtol=1e-14)


@pytest.mark.usefixtures("cluster")
def test_the_spectral_norm_is_bounded_from_above_and_the_default_kernel_keeps_its_promise():
    problem = bo.compose("relu-nmd", CHUNKS["dense, uneven, one all zero"], rank=4)
    norm = np.linalg.norm(M, 2)
    assert norm <= problem.block.M.spectral <= 1.01 * norm
    result = bo.solve(problem, method="aapb", max_iterations=5)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


@pytest.mark.usefixtures("cluster")
def test_the_tsvd_start_is_the_best_matrix_of_low_rank():
    rng = np.random.default_rng(0)
    given = np.maximum(0, rng.random((61, 3)) @ rng.random((3, 37)) + 1e-3 * rng.standard_normal((61, 37)))
    problem = bo.compose("relu-nmd", da.from_array(given, chunks=(25, 37)), rank=3)
    Y = bo.solve(problem, method="aapb", start="tsvd", max_iterations=0).Y
    U, s, Vt = np.linalg.svd(given)
    np.testing.assert_allclose(Y.U @ Y.V, (U[:, :3] * s[:3]) @ Vt[:3], atol=1e-8)


@pytest.mark.usefixtures("cluster")
def test_threads_are_those_of_the_workers():
    with pytest.raises(bo.errors.ParameterError, match="must be left out for this M"):
        bo.compose("relu-nmd", CHUNKS["scipy CSR"], rank=4, threads=2)


@pytest.mark.usefixtures("cluster")
def test_single_precision_is_kept():
    single = M.astype(np.float32)
    here, there = (bo.compose("relu-nmd", data, rank=4) for data in (single, da.from_array(single, chunks=(31, 37))))
    assert there.block.M.dtype == here.block.M.dtype == np.float32
    Y, other = points()
    one, two = (problem.oracle.evaluate(Y, other) for problem in (here, there))
    assert two.rounding == one.rounding
    np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, rtol=1e-3, atol=1e-4)


def test_a_worker_that_is_killed_costs_the_run_nothing_but_time(pair, cluster):
    here, there = pair
    ((holder,),) = cluster.who_has(there.block.M.workers.blocks[:1]).values()
    victim = cluster.run(os.getpid)[holder]

    def kill(state):
        if state.iteration == 3:
            os.kill(victim, signal.SIGKILL)

    one = bo.solve(here, method=PAPER, max_iterations=8)
    two = bo.solve(there, method=PAPER, max_iterations=8, observers=[kill])
    np.testing.assert_allclose(two.Y.flat, one.Y.flat, rtol=0, atol=1e-10)
    assert two.iterations == 8


def broken(block):
    raise ZeroDivisionError("no such row")


def with_entry(value):
    bad = M.copy()
    bad[40, 7] = value
    return da.from_array(bad, chunks=(25, 37))


BAD = {
    "nan": (with_entry(np.nan), "must be finite. Got 1 entries that are nan"),
    "inf": (with_entry(np.inf), "must be finite. Got 1 entries that are inf"),
    "negative": (with_entry(-2.5), r"must be non-negative.* Got .*-2.5 instead"),
    "zero": (da.zeros((6, 5), chunks=(3, 5)), "zero everywhere"),
    "tiny": (1e-200 * da.from_array(M, chunks=(25, 37)), "too small for float64: ‖M‖_F is 3e-199"),
    "huge": (with_entry(1e200), "too large for float64: ‖M‖_F is 1e.200"),
    "single": (da.from_array(1e-20 * M, chunks=(25, 37)).astype("float32"), "or take it in float64"),
    "complex": (da.ones((6, 5), chunks=(3, 5), dtype=complex), "must hold real numbers. Got dtype complex128"),
    "three dimensions": (da.ones((6, 5, 4), chunks=3), r"two dimensions. Got shape \(6, 5, 4\)"),
    "no rows": (da.ones((0, 5)), r"empty. Got shape \(0, 5\)"),
    "unknown sizes": (da.from_array(M)[da.from_array(M[:, 0]) > 0], "compute_chunk_sizes"),
    "another shape": (
        da.from_delayed(dask.delayed(np.ones)((3, 5)), shape=(4, 5), dtype=float),
        r"must have the shape \(4, 5\) that the dask array says. Got \(3, 5\)",
    ),
    "an error": (da.from_array(M).map_blocks(broken, dtype=float), "could not be computed: ZeroDivisionError: no such"),
}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_decomposed_is_refused_when_the_problem_is_composed(case):
    data, message = BAD[case]
    with pytest.raises(bo.errors.DataError, match=message) as caught:
        bo.compose("relu-nmd", data, rank=2)
    assert (caught.value.__cause__ is None) == (case != "an error")  # what a worker found needs no traceback


@pytest.mark.usefixtures("cluster")
def test_rows_of_any_size_are_taken_where_the_whole_is_large_enough():
    tiny = np.where(np.arange(61)[:, None] < 25, 1e-310, M)
    there = bo.compose("relu-nmd", da.from_array(tiny, chunks=(25, 37)), rank=4).block.M
    assert there.frobenius == pytest.approx(np.linalg.norm(tiny), rel=1e-14)
    assert there.nonzeros == np.count_nonzero(tiny)


def test_a_dask_array_without_a_client_is_refused():
    with pytest.raises(bo.errors.DataError, match=r"needs a running dask.distributed client. Start one"):
        bo.compose("relu-nmd", CHUNKS["scipy CSR"], rank=2)


def test_a_client_that_was_closed_is_named():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        problem = bo.compose("relu-nmd", CHUNKS["scipy CSR"], rank=4)
        assert problem.oracle.evaluate(points()[0]).value > 0
    with pytest.raises(bo.errors.DataError, match="client was closed"):
        problem.oracle.evaluate(points()[0])


class Running:
    status = "running"
    scheduler = SimpleNamespace(address="tcp://10.0.0.9:8786")


def failing(*failures):
    """Work that fails as often as there are failures, and then answers."""
    left = list(failures)

    def work():
        if left:
            raise left.pop(0)
        return 42

    return work


def test_what_the_cluster_loses_is_done_again_a_few_times(monkeypatch):
    monkeypatch.setattr(lost, "PAUSE", 0.0)
    once = [OSError("connection lost"), lost.CancelledError(), TimeoutError()]
    assert lost.persistently(Running(), failing(*once)) == 42
    with pytest.raises(bo.errors.DataError, match=r"failed 6 times in a row. The last time: OSError: gone"):
        lost.persistently(Running(), failing(*[OSError("gone")] * 6))
    killed = KilledWorker("sums", None, 3)
    assert lost.persistently(Running(), failing(killed)) == 42
    with pytest.raises(bo.errors.DataError, match="mostly a sign that its memory was full"):
        lost.persistently(Running(), failing(*[killed] * 6))


@pytest.mark.parametrize("status", ["connecting", "closed"])
def test_a_scheduler_that_is_gone_is_named_at_once(status, monkeypatch):
    monkeypatch.setattr(lost, "PAUSE", 0.0)
    client = Running()

    def work():
        client.status = status
        raise lost.CancelledError

    with pytest.raises(
        bo.errors.DataError, match=r"scheduler at tcp://10.0.0.9:8786 is gone, and with it the rows of M"
    ):
        lost.persistently(client, work)


def test_other_errors_are_not_tried_again():
    with pytest.raises(ZeroDivisionError):
        lost.persistently(Running(), failing(ZeroDivisionError()))


def test_the_plugin_imports_dask_only_where_it_is_in_use():
    code = """
import sys
import numpy as np
import bregopt as bo
assert any(plugin.name == "dask" and plugin.status == "active" for plugin in bo.plugins())
bo.compose("relu-nmd", np.eye(3), rank=1)
print({"dask", "distributed"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_run_on_the_cluster_goes_on_after_a_break(pair, tmp_path):
    def cut(state):
        if state.iteration == 5:
            raise EOFError

    with pytest.raises(EOFError):
        bo.solve(pair[1], method=PAPER, max_iterations=9, checkpoint=tmp_path, checkpoint_every=0, observers=[cut])
    with pytest.raises(bo.errors.FileError, match="does not hold the problem of its run"):
        bo.resume(tmp_path)
    again = bo.compose("relu-nmd", CHUNKS["pydata sparse, by columns too"], rank=4, kernel="paper")
    result = bo.resume(tmp_path, again)
    whole = bo.solve(pair[0], method=PAPER, max_iterations=9)
    np.testing.assert_allclose(result.Y.flat, whole.Y.flat, rtol=0, atol=1e-9)


LOSSES = sorted(entry.name for entry in bo.catalog("loss"))
ROWS = ((20, 13, 28), 37)
KNOWN = np.random.default_rng(2).random(M.shape) < np.where(np.arange(61) < 33, 0.6, 1.0)[:, None]
"""The last block has every entry."""
WEIGHTS = 3.0 * np.random.default_rng(3).random(M.shape)


def on_cluster(array, chunks=ROWS):
    """The array by chunks; of a sparse one they are sparse."""
    if not scipy.sparse.issparse(array):
        return da.from_array(array, chunks=chunks)
    parts = [array[a:b] for a, b in ((0, 20), (20, 33), (33, 61))]
    blocks = [da.from_delayed(dask.delayed(part), part.shape, meta=scipy.sparse.csr_array((0, 0))) for part in parts]
    return da.concatenate(blocks)


def sampled(array, known):
    """CSR that stores the known entries, zeros too."""
    rows, columns = np.nonzero(known)
    return scipy.sparse.csr_array((array[known], (rows, columns)), shape=array.shape)


def both(array, loss, here=None, there=None, **rest):
    """The problem of a matrix held here, and the same on the cluster; companions are dask arrays or numpy arrays."""
    here = here or {}
    there = {name: on_cluster(it, (30, 20)) for name, it in here.items()} | (there or {})
    problems = ((array, here), (on_cluster(array), there))
    return [bo.compose("low-rank", M, rank=4, loss=loss, kernel="paper", **beside, **rest) for M, beside in problems]


def same_evaluation(one, two):
    assert two.value == pytest.approx(one.value, rel=1e-12)
    assert two.value_at == pytest.approx(one.value_at, rel=1e-12)
    assert two.norms == pytest.approx(dict(one.norms), rel=1e-12)
    assert two.metrics == pytest.approx(dict(one.metrics), rel=1e-12)
    np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, rtol=1e-10, atol=1e-10)


def assert_same(pair, method=PAPER):
    """One evaluation with its gradient elsewhere, and five iterations."""
    Y, other = points()
    one, two = (problem.oracle.evaluate(Y, other, value_at=True) for problem in pair)
    same_evaluation(one, two)
    runs = [bo.solve(problem, method=method, max_iterations=5) for problem in pair]
    np.testing.assert_allclose(runs[1].Y.flat, runs[0].Y.flat, rtol=0, atol=1e-10)
    return one, two


@pytest.fixture(params=LOSSES)
def drawn(request):
    """A loss with data for it, and the second numbers where it takes two."""
    loss, rng = bo.make("loss", request.param), np.random.default_rng(4)
    data = loss.sample_data(rng, M.size).reshape(M.shape)
    if not loss.bounds:
        return loss, data, {}
    return loss, data, {"upper": np.where(np.isfinite(data), data, 0.0) + rng.random(M.shape)}


@pytest.mark.usefixtures("cluster")
def test_every_loss_is_what_it_is_here(drawn):
    loss, data, upper = drawn
    one, two = assert_same(both(data, loss, upper))
    assert two.products == one.products == 4.0


@pytest.mark.usefixtures("cluster")
def test_every_loss_with_missing_and_weighted_entries_is_what_it_is_here(drawn):
    loss, data, upper = drawn
    here, there = both(data, loss, {"mask": KNOWN, **upper, "weights": WEIGHTS}, {"weights": WEIGHTS})
    assert there.block.M.missing == np.count_nonzero(~KNOWN)
    assert there.block.M.most == WEIGHTS.max()
    assert_same((here, there))


@pytest.mark.usefixtures("cluster")
def test_every_loss_on_the_stored_entries_of_sparse_chunks_is_what_it_is_here(drawn):
    loss, data, upper = drawn
    known = KNOWN & (np.arange(61) < 40)[:, None]
    one, two = assert_same(both(sampled(data, known), loss, upper, missing="zeros"))
    assert two.products == one.products == pytest.approx(4.0 * known.mean())


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("loss", ["least-squares", "relu"])
def test_entries_that_are_nan_are_missing(loss):
    array = np.where(KNOWN, M, np.nan)
    here, there = both(array, loss)
    by_mask = bo.compose("low-rank", on_cluster(M), rank=4, loss=loss, kernel="paper", mask=KNOWN)
    for problem in (there, by_mask):
        assert problem.block.M.missing == here.block.M.missing > 0
        assert problem.block.M.frobenius == pytest.approx(np.linalg.norm(M[KNOWN]), rel=1e-14)
        assert_same((here, problem))


@pytest.mark.usefixtures("cluster")
def test_least_squares_on_sparse_chunks_cost_their_entries_and_the_gram_matrices():
    few = scipy.sparse.csr_array(np.where(np.random.default_rng(5).random(M.shape) < 0.1, M, 0.0))
    here, there = both(few, "least-squares")
    one, two = assert_same((here, there))
    assert two.products == pytest.approx(4.0 * (few.nnz + (61 + 3 * 37) * 4) / M.size)  # each block has a VVᵀ
    whole = bo.compose("low-rank", on_cluster(few).rechunk((61, 37)), rank=4, kernel="paper")
    assert whole.oracle.evaluate(*points()).products == here.oracle.evaluate(*points()).products
    assert two.scale == pytest.approx(one.scale, rel=1e-12)


SPARSE = {
    "weights on the stored entries": {"weights": lambda M: scipy.sparse.csr_array(np.where(M > 0, WEIGHTS, 0.0))},
    "weights everywhere": {"weights": lambda M: WEIGHTS},
    "few known entries": {"mask": lambda M: KNOWN & (np.random.default_rng(6).random(M.shape) < 0.2)},
    "many known entries": {"mask": lambda M: KNOWN},
}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("loss", ["least-squares", "relu"])
def test_a_sparse_matrix_may_have_a_mask_and_weights(loss, form):
    beside = {name: make(M) for name, make in SPARSE[form].items()}
    here, there = both(scipy.sparse.csr_array(M), loss, beside, beside)
    assert there.block.M.missing == here.block.M.missing
    assert_same((here, there))


@pytest.mark.usefixtures("cluster")
def test_the_columns_may_have_several_losses():
    signs = np.where(M > 0, 1.0, -1.0)
    losses = {"0:10": "one-bit", "10:": "huber(0.5)"}
    here, there = both(np.concatenate([signs[:, :10], M[:, 10:]], axis=1), losses)
    assert_same((here, there))
    assert there.notes == here.notes


@pytest.mark.usefixtures("cluster")
def test_a_loss_of_ones_own_runs_on_the_workers():
    @frozen
    class Softened(EntrywiseLoss):
        """``√(d² + (x − m)²)``, which no installed package has."""

        d: float = 0.5

        @staticmethod
        def entry(x, m, d):
            root = (d * d + (x - m) * (x - m)) ** 0.5
            return root, (x - m) / root, d * d / root**3

        @property
        def bound(self):
            return 1.0 / self.d

    assert_same(both(M, Softened(0.7), {"weights": WEIGHTS}))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("loss", ["least-squares", "huber(0.5)"])
@pytest.mark.parametrize("beside", [{}, {"mask": KNOWN}, {"weights": WEIGHTS}], ids=["all", "mask", "weights"])
def test_a_method_that_sweeps_takes_the_same_steps(loss, beside):
    assert_same(both(M, loss, beside), method="els")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", ["U", "V"])
def test_a_problem_with_a_fixed_factor_is_what_it_is_here(name):
    Y, other = points()
    pair = both(M, "huber(0.5)", {"mask": KNOWN}, **{name: bo.Fixed(Y[name])})
    rest = "V" if name == "U" else "U"
    Y, other = (bo.Blocks(**{rest: it[rest]}) for it in (Y, other))
    one, two = (problem.oracle.evaluate(Y, other, value_at=True) for problem in pair)
    same_evaluation(one, two)
    assert two.products == one.products == 2.0


@pytest.mark.usefixtures("cluster")
def test_another_model_is_what_it_is_here():
    pair = both(M, "huber(0.5)", {"mask": KNOWN}, model="with-bias")
    Y, other = (bo.Blocks(U=Y.U, V=Y.V, a=Y.U[:, :1], b=Y.V[:1]) for Y in points())
    same_evaluation(*(problem.oracle.evaluate(Y, other, value_at=True) for problem in pair))


@pytest.mark.usefixtures("cluster")
def test_rows_are_fetched_with_all_that_belongs_to_them():
    problem = bo.compose(
        "low-rank", on_cluster(M), rank=4, loss="interval", upper=M + 1.0, weights=on_cluster(WEIGHTS), mask=KNOWN
    )
    tile = problem.block.M.read(slice(15, 50))
    np.testing.assert_array_equal(tile.M, np.where(KNOWN, M, np.nan)[15:50])
    np.testing.assert_array_equal(tile.upper, (M + 1.0)[15:50])
    np.testing.assert_array_equal(tile.weights, WEIGHTS[15:50])
    assert not tile.complete


@pytest.mark.usefixtures("cluster")
def test_the_tsvd_start_takes_missing_entries_for_zero():
    rng = np.random.default_rng(7)
    given = rng.random((61, 2)) @ rng.random((2, 37))
    filled = np.where(KNOWN, given, 0.0)
    U, s, Vt = np.linalg.svd(filled)
    best = (U[:, :1] * s[:1]) @ Vt[:1]
    for data in (np.where(KNOWN, given, np.nan), sampled(given, KNOWN)):
        problem = bo.compose("low-rank", on_cluster(data), rank=1, missing="zeros", kernel="paper")
        Y = bo.solve(problem, method="aapb", start="tsvd", max_iterations=0).Y
        np.testing.assert_allclose(Y.U @ Y.V, best, atol=1e-6)


def spoiled(value):
    weights = np.ones(M.shape)
    weights[40, 7] = value
    return weights


REFUSED = {
    "all missing": ({"mask": np.zeros(M.shape, bool)}, "Every entry of M is missing"),
    "a mask of another shape": ({"mask": KNOWN[:, :3]}, "'mask' must have the shape of M, 61×37. Got 61×3 instead"),
    "a dask mask of another shape": (
        {"mask": da.from_array(KNOWN[:9])},
        "'mask' must have the shape of M, 61×37. Got 9",
    ),
    "a mask of numbers": ({"mask": on_cluster(WEIGHTS)}, "mask must be True where an entry is known"),
    "a negative weight": ({"weights": on_cluster(spoiled(-2.0))}, "weights must be finite numbers >= 0. Got -2 among"),
    "a weight that is nan": ({"weights": spoiled(np.nan)}, "weights must be finite numbers >= 0. Got nan among"),
    "no weight": ({"weights": on_cluster(np.zeros(M.shape))}, "Every weight is zero"),
    "labels": ({"loss": "one-bit"}, "must be .* Got .* instead"),
    "weights with an error": (
        {"weights": on_cluster(WEIGHTS).map_blocks(broken, dtype=float)},
        "could not be computed: ZeroDivisionError: no such row",
    ),
}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("case", REFUSED)
def test_a_mask_weights_and_data_that_do_not_fit_are_one_clear_error(case):
    options, message = REFUSED[case]
    with pytest.raises(bo.errors.DataError, match=message):
        bo.compose("low-rank", on_cluster(M), **{"rank": 2, "loss": "least-squares", **options})


@pytest.mark.usefixtures("cluster")
def test_a_mask_on_the_cluster_needs_a_matrix_that_is_there_too():
    with pytest.raises(bo.errors.ParameterError, match=r"'mask' parameter of low-rank must be held here, as M is"):
        bo.compose("low-rank", M, rank=2, mask=on_cluster(KNOWN))
