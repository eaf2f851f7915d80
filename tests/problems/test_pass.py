"""The pass gives the same whatever M is held in, compiled or not, on one thread or several."""

import itertools

import dask.array
import numpy as np
import pytest
import scipy.sparse
from bregopt_lowrank import gram, subspace
from bregopt_lowrank.matrices.spectrum import perron_bound
from bregopt_lowrank.passes import run as passes
from bregopt_lowrank.passes.run import few_share, read_only, tiling
from distributed import Client
from lowrank_cases import Rows, stored

import bregopt as bo
from bregopt.errors import BregoptError, DataError

SHAPE, RANK = (700, 300), 6


@pytest.fixture(scope="module")
def M():
    rng = np.random.default_rng(0)
    return np.maximum(0, rng.standard_normal(SHAPE)) * (rng.random(SHAPE) < 0.3)


@pytest.fixture(scope="module")
def reference(M):
    """Algorithm 2 in a few lines of dense NumPy, from the same start."""
    problem = bo.compose("relu-nmd", M, rank=RANK, kernel="paper")
    Y = problem.first_point(None, np.random.default_rng(0))
    U, V = U_old, V_old = Y.U, Y.V
    for _ in range(20):
        X = U @ V
        W = np.where(M > 0, M, np.minimum(0, X))
        Ub, Vb = U + 0.6 * (U - U_old), V + 0.6 * (V - V_old)
        rho = 3 * (np.sum(Ub**2) + np.sum(Vb**2)) + np.linalg.norm(W)
        P, Q = rho * Ub - (Ub @ Vb - W) @ Vb.T, rho * Vb - Ub.T @ (Ub @ Vb - W)
        P, Q = (np.sign(Z) * np.maximum(np.abs(Z) - eta, 0) for Z, eta in ((P, 0.01), (Q, 0.015)))
        roots = np.roots([3 * (np.sum(P**2) + np.sum(Q**2)), 0, np.linalg.norm(W), -1])
        t = float(roots[np.abs(roots.imag) < 1e-12 * np.abs(roots)].real[0])
        U_old, V_old, U, V = U, V, t * P, t * Q
    return np.concatenate([U.ravel(), V.ravel()])


FORMS = {
    "dense": lambda M, _: M,
    "Fortran order": lambda M, _: np.asfortranarray(M),
    "CSR": lambda M, _: scipy.sparse.csr_array(M),
    "memory map": stored,
    "sliced by rows": lambda M, _: Rows(M),
    "dask": lambda M, _: dask.array.from_array(M, chunks=(250, -1)),
}


@pytest.fixture(scope="module")
def cluster():
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client


def compose(M, **options):
    return bo.compose("relu-nmd", M, rank=RANK, U="l1(0.01)", V="l1(0.015)", kernel="paper", **options)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_M_gives_the_same_iterates(form, compiled, threads, M, reference, tmp_path, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", compiled)
    monkeypatch.setenv("BREGOPT_THREADS", str(threads))
    problem = compose(FORMS[form](M, tmp_path))
    result = bo.solve(problem, method="aapb(beta=0.6, step=1)", max_iterations=20)
    np.testing.assert_allclose(result.Y.flat, reference, rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_columns_in_blocks_give_the_same_as_whole_rows(form, M, small_tiles, monkeypatch):
    problem = compose(FORMS[form](M, None))
    Y = problem.first_point(None, np.random.default_rng(1))
    at = bo.Blocks(U=1.1 * Y.U, V=Y.V + 0.01)
    assert tiling(SHAPE[1], RANK, np.float64, kept=False).width == SHAPE[1]
    whole = [problem.oracle.evaluate(Y), problem.oracle.evaluate(Y, at=at, value_at=True)]
    small_tiles()
    assert tiling(SHAPE[1], RANK, np.float64, kept=False)[:2] == (40, 100)
    for compiled in ("0", "1"):
        monkeypatch.setenv("BREGOPT_COMPILE", compiled)
        cut = [problem.oracle.evaluate(Y), problem.oracle.evaluate(Y, at=at, value_at=True)]
        for one, two in zip(whole, cut, strict=True):
            assert one.value == pytest.approx(two.value, rel=1e-13)
            assert one.metrics == pytest.approx(two.metrics, rel=1e-12)
            assert one.norms == pytest.approx(two.norms, rel=1e-12)
        assert whole[1].value_at == pytest.approx(cut[1].value_at, rel=1e-13)
        np.testing.assert_allclose(cut[1].gradient.flat, whole[1].gradient.flat, rtol=0, atol=1e-11)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03, 0.2])
@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_products_over_few_non_zeros_are_those_of_the_whole_tile(form, share, monkeypatch):
    rng = np.random.default_rng(2)
    M = rng.random(SHAPE) * (rng.random(SHAPE) < 0.01)
    U, V = rng.random((SHAPE[0], RANK)), -rng.random((RANK, SHAPE[1]))
    V[:, : int(share * SHAPE[1])] *= -1  # where X > 0
    problem, Y = compose(FORMS[form](M, None)), bo.Blocks(U=U, V=V)
    X = U @ V
    S = np.where(M > 0, X - M, np.maximum(0, X))
    for limit in (
        few_share,
        lambda rank, itemsize: 0.0,
        lambda rank, itemsize: 2.0,
    ):  # by the share, whole, over non-zeros
        monkeypatch.setattr(passes, "few_share", limit)
        one = problem.oracle.evaluate(Y, at=Y)
        np.testing.assert_allclose(one.gradient.U, S @ V.T, rtol=0, atol=1e-11)
        np.testing.assert_allclose(one.gradient.V, U.T @ S, rtol=0, atol=1e-11)
        assert one.value == pytest.approx(0.5 * np.sum(S**2), rel=1e-12)
        swept = problem.oracle.sweep(Y, Y, lambda name, rows, gradient: U[rows] - 0.1 * gradient, row_wise=True)
        U_new = U - 0.1 * (S @ V.T)
        np.testing.assert_allclose(swept.Y.U, U_new, rtol=0, atol=1e-11)
        np.testing.assert_allclose(swept.gradient, U_new.T @ (S + (U_new - U) @ V), rtol=0, atol=1e-10)


def test_products_over_non_zeros_pay_the_earlier_the_larger_the_rank():
    assert few_share(2, 8) == 0.0
    assert 0.02 < few_share(12, 8) < few_share(30, 8) < few_share(68, 8) < 0.2
    assert few_share(30, 4) < few_share(30, 8)


@pytest.mark.parametrize("form", ["dense", "CSR", "memory map"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_number_of_threads_gives_the_same_bits(form, threads, M, tmp_path):
    runs = [bo.solve(compose(FORMS[form](M, tmp_path), threads=threads), max_iterations=10) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].Y.flat, runs[1].Y.flat)
    assert runs[0].objective == runs[1].objective


def test_another_number_of_threads_changes_the_last_digits_only(M):
    evaluations = []
    for threads in (1, 2, 3, 7):
        problem = compose(M, threads=threads)
        Y = problem.first_point(None, np.random.default_rng(1))
        evaluations.append(problem.oracle.evaluate(Y, at=Y))
    for evaluation in evaluations[1:]:
        assert evaluation.value == pytest.approx(evaluations[0].value, rel=1e-12)
        size = np.abs(evaluations[0].gradient.flat).max()
        np.testing.assert_allclose(evaluation.gradient.flat, evaluations[0].gradient.flat, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("lags", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_the_compiled_walks_are_those_by_numpy(form, dtype, lags, M, small_tiles, monkeypatch):
    small_tiles()
    problem = compose(FORMS[form](M.astype(dtype), None), threads=2)
    Y, other = (problem.first_point(None, np.random.default_rng(seed)) for seed in (1, 2))
    evaluations = []
    for compiled in ("1", "0"):
        monkeypatch.setenv("BREGOPT_COMPILE", compiled)
        evaluations.append(problem.oracle.evaluate(Y, at=other if lags else Y, value_at=True))
    one, two = evaluations
    rtol = 1e-12 if dtype is np.float64 else 1e-5
    for name in ("value", "value_at", "norms", "metrics"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=rtol), name
    size = np.abs(two.gradient.flat).max()
    np.testing.assert_allclose(one.gradient.flat, two.gradient.flat, rtol=0, atol=rtol * size)


@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_a_walk_is_compiled_once_whoever_owns_its_arrays(form, M, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", "1")
    from bregopt_lowrank.passes import compiled_walks

    walk = {"dense": compiled_walks.dense, "CSR": compiled_walks.sparse}[form]
    evaluations, before = [], set(map(str, walk.signatures))
    for writeable in (True, False):
        own = M.copy()
        own.flags.writeable = writeable
        problem = compose(FORMS[form](own, None))
        Y = problem.first_point(None, np.random.default_rng(1))
        problem.oracle.evaluate(Y)
        problem.oracle.evaluate(Y, at=Y)
        problem.oracle.evaluate(Y, at=bo.Blocks(U=1.1 * Y.U, V=Y.V), value_at=True)
        evaluations.append(problem.oracle.sweep(Y, Y, lambda name, rows, gradient, Y=Y: Y.U[rows], row_wise=True))
    np.testing.assert_array_equal(evaluations[0].gradient, evaluations[1].gradient)
    assert walk.signatures
    assert len(set(map(str, walk.signatures)) - before) <= 1, "one for both, unless it was there already"


def test_float32_data_are_multiplied_in_float32_and_summed_in_float64(M):
    single, double = compose(M.astype(np.float32)), compose(M.astype(np.float32), dtype="float64")
    assert single.block.M.dtype == np.float32
    assert double.block.M.dtype == np.float64
    runs = [bo.solve(it, method="aapb(beta=0.6, step=1)", max_iterations=50) for it in (single, double)]
    assert runs[0].objective == pytest.approx(runs[1].objective, rel=1e-6)
    assert runs[0].Y.flat.dtype == np.float64
    np.testing.assert_allclose(runs[0].Y.flat, runs[1].Y.flat, rtol=0, atol=1e-4 * np.abs(runs[1].Y.flat).max())
    assert runs[0].certificate.monotone
    as_asked = compose(M, dtype="float32")
    assert as_asked.block.M.dtype == np.float32
    assert as_asked.block.M.source.dtype == np.float32


def test_a_matrix_in_storage_is_read_by_rows_and_never_as_a_whole(M):
    source = Rows(M)
    problem = compose(source, threads=2)
    source.read.clear()
    problem.oracle.evaluate(problem.first_point(None, np.random.default_rng(0)))
    covered = sorted((rows.start, rows.stop) for rows in source.read)
    assert [covered[0][0], covered[-1][1]] == [0, SHAPE[0]]
    assert all(one[1] == two[0] for one, two in itertools.pairwise(covered))
    assert len(covered) > 1


def test_a_matrix_in_storage_has_a_spectral_bound_and_a_tsvd_start(M):
    exact = np.linalg.svd(M, compute_uv=False)
    stored, held = compose(Rows(M)), compose(M)
    bound = stored.block.M.spectral
    assert exact[0] <= bound <= 1.05 * exact[0]
    assert exact[0] <= held.block.M.spectral <= 1.001 * exact[0]
    U, s, Vt = stored.block.M.leading(3)
    np.testing.assert_allclose(s, exact[:3], rtol=2e-2)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-10)
    assert np.linalg.norm(U * s @ Vt - M) <= 1.001 * np.sqrt(np.sum(exact[3:] ** 2))
    assert bo.solve(stored, start="tsvd", max_iterations=2).iterations == 2


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_perron_is_never_below_the_spectral_norm(seed):
    rng = np.random.default_rng(seed)
    A = rng.random((30, 20)) ** 8 * (rng.random((30, 20)) < 0.2)
    A[:, 3] = 0.0
    A[:10, :10] = A[10:20, 10:] = 0.0  # blocks that do not see each other
    A[0, 0] = 1e-3
    top = np.linalg.norm(A, 2)
    assert top <= perron_bound(lambda Z: A.T @ (A @ Z), 20) <= 1.5 * top
    data = bo.compose("relu-nmd", A, rank=2).block.M
    np.testing.assert_allclose(gram(data, np.eye(20)), A.T @ A, atol=1e-12)
    _, s, _ = subspace(lambda Z: A.T @ (A @ Z), lambda Z: A @ Z, 20, 2)
    np.testing.assert_allclose(s, np.linalg.svd(A, compute_uv=False)[:2], rtol=1e-2)


def test_what_is_wrong_with_a_stored_matrix_is_said(M):
    class Broken(Rows):
        def __getitem__(self, rows):
            raise OSError("the disk is gone")

    with pytest.raises(DataError, match=r"Rows 0 to \d+ of M could not be read: the disk is gone"):
        compose(Broken(M))
    with pytest.raises(DataError, match="non-negative"):
        compose(Rows(M - 1))
    with pytest.raises(DataError, match="two dimensions"):
        compose(Rows(M.ravel()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype"),
        ({"threads": 0}, "threads"),
        ({"threads": 1.5}, "threads"),
    ],
)
def test_wrong_options_of_the_pass_are_refused(options, message, M):
    with pytest.raises(BregoptError, match=message):
        compose(M, **options)


def test_the_number_of_threads_can_be_set_from_outside(M, monkeypatch):
    monkeypatch.setenv("BREGOPT_THREADS", "3")
    assert compose(M).block.M.threads == 3
    monkeypatch.setenv("BREGOPT_THREADS", "many")
    with pytest.raises(BregoptError, match="BREGOPT_THREADS"):
        compose(M)


def test_an_error_in_one_thread_reaches_the_caller(M):
    class Fading(Rows):
        fades = False

        def __getitem__(self, rows):
            if self.fades and rows.start > 0:
                raise OSError("gone")
            return super().__getitem__(rows)

    source = Fading(M)
    problem = compose(source, threads=2)
    source.fades = True
    with pytest.raises(DataError, match="gone"):
        problem.oracle.evaluate(problem.first_point(None, np.random.default_rng(0)))


def test_a_small_matrix_does_not_load_the_compiler_and_a_large_one_does():
    import subprocess
    import sys

    code = """
import sys, numpy as np, bregopt as bo
for n in (20, 500):
    bo.solve(bo.compose("relu-nmd", np.eye(n) + 0.1, rank=3), max_iterations=3)
    print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_an_array_to_be_read_only_is_a_view_and_leaves_the_array_as_it_is():
    x = np.arange(3.0)
    view = read_only(x)
    assert np.shares_memory(view, x)
    assert x.flags.writeable
    assert not view.flags.writeable
