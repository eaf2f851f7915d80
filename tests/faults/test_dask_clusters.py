"""Runs on a dask cluster whose workers or scheduler are killed, halted or out of memory: each ends, and says why."""

import json
import os
import signal
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from children import finish, start
from dask_processes import cluster
from distributed import Client, LocalCluster

import bregopt as bo

PATIENCE = 8.0
M = np.maximum(0, np.random.default_rng(0).standard_normal((60, 40)))
CHUNKED = da.from_array(M, chunks=(10, 40))
METHOD = "aapb(beta=0.6, step=1)"
ITERATIONS = 8


@pytest.fixture(autouse=True)
def short_patience():
    with dask.config.set({"bregopt.patience": PATIENCE}):
        yield


@pytest.fixture(scope="module")
def expected():
    return bo.solve(bo.compose("relu-nmd", M, rank=3, kernel="paper"), method=METHOD, max_iterations=ITERATIONS)


def solve(hit=lambda: None, at=3):
    """The run on the current cluster, which is hit at that iteration."""

    def see(state):
        if state.iteration == at:
            hit()

    problem = bo.compose("relu-nmd", CHUNKED, rank=3, kernel="paper")
    return bo.solve(problem, method=METHOD, max_iterations=ITERATIONS, observers=[see])


def same(result, expected):
    assert result.iterations == ITERATIONS
    np.testing.assert_allclose(result.Y.flat, expected.Y.flat, rtol=0, atol=1e-10)


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("nanny", [False, True])
def test_a_run_goes_on_without_a_worker_that_was_killed(nanny, at, expected, tmp_path):
    with cluster(tmp_path, 2, nanny=nanny) as (_, client):
        victim = pid_of_a_worker(client)
        same(solve(lambda: os.kill(victim, signal.SIGKILL), at), expected)


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("nanny", [False, True])
def test_a_run_goes_on_without_a_worker_that_was_halted_and_names_it(nanny, at, expected, tmp_path):
    with cluster(tmp_path, 2, nanny=nanny) as (_, client):
        victim = pid_of_a_worker(client)
        with pytest.warns(bo.errors.FaultWarning, match="No sign of life from the worker tcp://"):
            result = solve(lambda: os.kill(victim, signal.SIGSTOP), at)
        same(result, expected)


def test_a_worker_that_was_halted_before_the_matrix_came_is_replaced(expected, tmp_path):
    with cluster(tmp_path, 2) as (processes, _):
        processes.signal("worker-0", signal.SIGSTOP)
        with pytest.warns(bo.errors.FaultWarning, match="No sign of life from the worker tcp://"):
            same(solve(), expected)


def test_a_nanny_replaces_the_only_worker(expected, tmp_path):
    with cluster(tmp_path, 1, nanny=True) as (_, client):
        victim = pid_of_a_worker(client)
        with pytest.warns(bo.errors.FaultWarning, match="No sign of life from the worker tcp://"):
            result = solve(lambda: os.kill(victim, signal.SIGSTOP))
        same(result, expected)


def test_a_worker_that_is_halted_for_a_moment_costs_nothing(expected, tmp_path):
    with cluster(tmp_path, 2) as (processes, _):

        def halt_and_go_on():
            processes.signal("worker-0", signal.SIGSTOP)
            time.sleep(1)
            processes.signal("worker-0", signal.SIGCONT)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same(solve(halt_and_go_on), expected)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, "has done nothing for 16 s: it has no workers left. Start some"),
        (signal.SIGSTOP, "it has no workers left after it lost the worker tcp://.*from which no sign of life came"),
    ],
    ids=["killed", "halted"],
)
@pytest.mark.filterwarnings("ignore::bregopt.errors.FaultWarning")
def test_a_cluster_without_workers_is_one_error(number, message, tmp_path):
    with (
        cluster(tmp_path, 1) as (processes, _),
        pytest.raises(bo.errors.DataError, match=message),
    ):
        solve(lambda: processes.signal("worker-0", number))


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, "The dask scheduler at tcp://.* is gone, and with it the rows of M. Start"),
        (signal.SIGSTOP, "The dask scheduler at tcp://.* has not answered for 8 s. Start"),
    ],
    ids=["killed", "halted"],
)
@pytest.mark.parametrize("at", [0, 3])
def test_a_lost_scheduler_is_one_error(at, number, message, tmp_path):
    with (
        cluster(tmp_path, 2) as (processes, _),
        pytest.raises(bo.errors.DataError, match=message),
    ):
        solve(lambda: processes.signal("scheduler", number), at)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "halted"])
def test_the_command_line_says_in_one_line_that_the_scheduler_is_lost(number, small_file, tmp_path):
    with cluster(tmp_path, 2) as (processes, client):
        address = client.scheduler.address
        env = {"DASK_BREGOPT__PATIENCE": "8s"}
        args = ("solve", small_file, "--dask", address, "--max-seconds", 100, "--method", "aapb", "-q")
        process = start(*args, env=env)
        wait_for_tasks(client)
        processes.signal("scheduler", number)
        ended = finish(process)
    errors = [line for line in ended.err.splitlines() if line.startswith("bregopt: ")]
    assert ended.code == 2
    assert len(errors) == 1
    assert f"error: The dask scheduler at {address} " in errors[0]


def test_the_command_line_goes_on_without_a_worker_that_was_halted(small_file, tmp_path):
    with cluster(tmp_path, 2) as (processes, client):
        env = {"DASK_BREGOPT__PATIENCE": "8s"}
        args = (
            "solve",
            small_file,
            "--dask",
            client.scheduler.address,
            "--max-seconds",
            5,
            "--method",
            "aapb",
            "--json",
        )
        process = start(*args, env=env)
        wait_for_tasks(client)
        processes.signal("worker-0", signal.SIGSTOP)
        ended = finish(process)
    assert ended.code == 0, ended.err
    assert ended.err.startswith("bregopt: warning: No sign of life from the worker tcp://")
    assert json.loads(ended.out)["status"] == bo.Status.MAX_SECONDS.value


def hungry(block):
    """Far more than a worker has."""
    held = np.ones(2**26)
    time.sleep(30)
    return block * held[0]


def hoard(megabytes):
    """Memory that the worker does not get back."""
    hoard.kept = np.ones(megabytes * 2**17)


@pytest.fixture
def narrow():
    """Two workers with little memory."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0", silence_logs=50
        ) as there,
        Client(there, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


@pytest.mark.usefixtures("narrow")
def test_chunks_for_which_memory_never_suffices_are_one_error():
    with pytest.raises(
        bo.errors.DataError, match=r"mostly a sign that its memory was full. Give the workers more memory"
    ):
        bo.compose("relu-nmd", CHUNKED.map_blocks(hungry, dtype=float), rank=3)


def test_a_run_goes_on_after_workers_ran_out_of_memory_once(narrow, expected):
    def fill():
        narrow.run(hoard, 500, on_error="ignore")

    same(solve(fill), expected)


def test_workers_that_pause_for_want_of_memory_for_good_are_named(narrow):
    def fill():
        narrow.run(hoard, 200, on_error="ignore")
        time.sleep(2)

    with pytest.raises(
        bo.errors.DataError, match=r"memory is full at the workers? tcp://.*Give the workers more memory"
    ):
        solve(fill)


def pid_of_a_worker(client):
    return client.run(os.getpid)[min(client.scheduler_info(n_workers=-1)["workers"])]


def wait_for_tasks(client):
    """Until a run of somebody else is under way."""
    end = time.monotonic() + 60
    while not any(client.has_what().values()):
        assert time.monotonic() < end, "no run began"
        time.sleep(0.1)
    time.sleep(1)
