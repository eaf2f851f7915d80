"""``bregopt solve --dask``: the same run on a cluster, and what is said where there is none."""

import gc
import json
import multiprocessing
import socket
import sys

import numpy as np
import pytest
import scipy.sparse
from bregopt_dask import cluster
from distributed import Client, LocalCluster

M = np.maximum(0.0, np.random.default_rng(0).standard_normal((30, 20)))
OPTIONS = ("-r", 3, "--method", "aapb", "--kernel", "paper", "--max-iterations", 4)


@pytest.fixture
def file(tmp_path):
    scipy.sparse.save_npz(tmp_path / "M.npz", scipy.sparse.csr_array(M))
    return tmp_path / "M.npz"


@pytest.fixture(scope="module")
def running():
    """A cluster that somebody else has started."""
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=":0"
    ) as there:
        yield there


def test_a_local_cluster_gives_the_same_run_and_names_its_dashboard(call, file):
    here = call("solve", file, *OPTIONS)
    code, out, err = call("solve", file, "--dask", "local", *OPTIONS)
    assert code == 0
    assert err.startswith("Dashboard of the cluster: http://127.0.0.1:")
    assert len(err.splitlines()) == 1
    assert [line for line in out.splitlines() if "Work" not in line] == [
        line for line in here[1].splitlines() if "Work" not in line
    ]
    assert multiprocessing.active_children() == []


def test_a_running_cluster_is_used_and_left_running(call, file, running):
    here = json.loads(call("solve", file, "--json", *OPTIONS)[1])
    code, out, err = call("solve", file, "--json", "--dask", running.scheduler_address, *OPTIONS)
    there = json.loads(out)
    assert (code, err) == (0, "")
    assert there["problem"] == here["problem"]
    assert there["objective"] == pytest.approx(here["objective"], rel=1e-12)
    assert len(running.scheduler.workers) == 1
    assert not running.scheduler.tasks


def test_an_error_closes_the_cluster_too(call, tmp_path):
    np.save(tmp_path / "bad.npy", np.where(M > 0, M, np.nan))
    code, out, err = call("solve", tmp_path / "bad.npy", "-q", "--dask", "local")
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: M must be finite.")
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "here"])
def test_an_address_without_a_scheduler_is_one_line_and_code_2(call, file, monkeypatch, address):
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    code, out, err = call("solve", file, "--dask", address)
    assert (code, out) == (2, "")
    assert err.startswith(f"bregopt: error: --dask: no dask scheduler answers at '{address}'")
    assert err.endswith("as in tcp://host:8786, or 'local'.\n")
    assert len(err.splitlines()) == 1


def test_what_listens_but_is_no_scheduler_is_refused_and_leaves_no_client_behind(call, file, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, out, err = call("solve", file, "--dask", f"tcp://127.0.0.1:{silent.getsockname()[1]}")
    assert (code, out) == (2, "")
    assert "no dask scheduler answers at 'tcp://127.0.0.1:" in err
    assert [thing for thing in gc.get_objects() if type(thing) is Client and thing.status == "connecting"] == []


def test_a_scheduler_without_workers_is_refused(call, file, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as empty:
        code, out, err = call("solve", file, "--dask", empty.scheduler_address)
    assert (code, out) == (2, "")
    assert "has no workers. Start some: dask worker tcp://" in err


def test_without_dask_the_extra_is_named(call, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = call("solve", file, "--dask", "local")
    assert (code, out) == (2, "")
    assert err == "bregopt: error: --dask needs dask and distributed. Install them: pip install 'bregopt[dask]'.\n"


def mapped(M):
    return M.view(np.memmap)


@pytest.mark.parametrize(
    ("held", "kind"), [(np.asarray, np.ndarray), (mapped, np.ndarray), (scipy.sparse.csr_array, scipy.sparse.csr_array)]
)
def test_the_matrix_is_cut_into_four_blocks_a_thread_dense_or_sparse_as_it_is(running, held, kind, monkeypatch):
    given = held(M)
    with Client(running, set_as_default=False) as client:
        blocks = cluster._placed(given, client)
        assert blocks.chunks == ((3, 4, 4, 4, 3, 4, 4, 4), (20,))
        parts = client.gather(client.compute(blocks.to_delayed()[:, 0].tolist()))
        assert {type(part) for part in parts} == {
            scipy.sparse.csr_array if held is scipy.sparse.csr_array else np.ndarray
        }
        dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
        np.testing.assert_array_equal(np.concatenate(dense), M)
        monkeypatch.setattr(cluster, "BLOCK_BYTES", 200)  # light blocks, so more of them
        assert blocks.numblocks[0] < cluster._placed(given, client).numblocks[0] <= 30
