"""Waiting for a cluster, with a client that plays one: the silent is restarted, the stuck an error."""

import threading
from types import SimpleNamespace

import dask
import pytest
from bregopt_dask.lost import persistently
from bregopt_dask.waiting import LOOKS, Watch

import bregopt as bo

ONE, TWO = "tcp://10.0.0.1:1", "tcp://10.0.0.2:1"


@pytest.fixture(autouse=True)
def short_patience():
    with dask.config.set({"bregopt.patience": "40ms"}):
        yield


class PlayedCluster:
    """A client and its cluster; each look lets the workers that live give a sign of life."""

    def __init__(self, workers, *, executing=(), status="running", deaf=False):
        self.status = "running"
        self.scheduler = SimpleNamespace(address="tcp://10.0.0.9:8786", restart_workers="restart")
        self.futures = {}
        self.alive = dict(workers)
        self.executing, self.worker_status, self.deaf = executing, status, deaf
        self.looks = 0
        self.restarted = []
        self.ended = threading.Event()

    def scheduler_info(self, n_workers):
        assert n_workers == -1
        if self.deaf:
            threading.Event().wait()
        self.looks += 1
        return {
            "workers": {
                address: {
                    "last_seen": self.looks if alive else 0,
                    "status": self.worker_status,
                    "metrics": {"task_counts": {"executing": int(address in self.executing)}},
                }
                for address, alive in self.alive.items()
            }
        }

    def sync(self, what, *, workers, **_):
        assert what == "restart"
        self.restarted += workers
        for address in workers:
            del self.alive[address]
        self.ended.set()

    def work(self):
        """Ends when workers were restarted."""
        self.ended.wait()
        return 42


def test_what_the_work_returns_or_raises_comes_through():
    assert Watch(PlayedCluster({ONE: True})).wait_for(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        Watch(PlayedCluster({ONE: True})).wait_for(lambda: 1 / 0)


@pytest.mark.parametrize("executing", [(), (ONE,)])
def test_a_worker_that_falls_silent_is_restarted_and_named_once(executing):
    cluster = PlayedCluster({ONE: False, TWO: True}, executing=executing)
    with pytest.warns(bo.errors.FaultWarning, match=f"No sign of life from the worker {ONE} for 0.04 s") as told:
        assert Watch(cluster).wait_for(cluster.work) == 42
    assert cluster.restarted == [ONE]
    assert len(told) == 1


def test_a_long_task_of_a_worker_that_lives_is_waited_for():
    cluster = PlayedCluster({ONE: True, TWO: False}, executing=(ONE,))

    def long_task():
        while cluster.looks < 5 * LOOKS:
            cluster.ended.wait(0.01)
        return 42

    assert Watch(cluster).wait_for(long_task) == 42
    assert cluster.restarted == []


def test_tasks_that_go_on_finishing_are_progress():
    cluster = PlayedCluster({ONE: True})

    def many_tasks():
        while cluster.looks < 5 * LOOKS:
            cluster.ended.wait(0.002)
            cluster.futures[len(cluster.futures)] = SimpleNamespace(status="finished")
        return 42

    assert Watch(cluster).wait_for(many_tasks) == 42


STUCK = {
    "no workers": (PlayedCluster({}), "has no workers left. Start some"),
    "memory": (PlayedCluster({ONE: True}, status="paused"), f"memory is full at the worker {ONE}. Give"),
    "nothing to be seen": (PlayedCluster({ONE: True, TWO: True}), f"no task runs at the workers {ONE}, {TWO}"),
    "scheduler": (PlayedCluster({}, deaf=True), "scheduler at tcp://10.0.0.9:8786 has not answered for 0.04 s"),
}


@pytest.mark.parametrize("case", STUCK)
def test_a_cluster_that_does_nothing_is_one_error(case):
    cluster, message = STUCK[case]
    with pytest.raises(bo.errors.DataError, match=message):
        Watch(cluster).wait_for(cluster.work)


def test_a_scheduler_that_goes_while_the_work_waits_for_it_is_named():
    cluster = PlayedCluster({ONE: True})

    def lose_the_connection():
        cluster.status = "connecting"
        threading.Event().wait()

    with pytest.raises(
        bo.errors.DataError, match=r"scheduler at tcp://10.0.0.9:8786 is gone, and with it the rows of M"
    ):
        persistently(cluster, lose_the_connection)


def test_a_cluster_whose_last_worker_fell_silent_is_an_error_that_names_it():
    cluster = PlayedCluster({ONE: False})
    with (
        pytest.warns(bo.errors.FaultWarning),
        pytest.raises(bo.errors.DataError, match=f"no workers left after it lost the worker {ONE}, from which no sign"),
    ):
        Watch(cluster).wait_for(threading.Event().wait)


def test_a_worker_that_stays_silent_although_it_was_restarted_is_an_error_that_names_it():
    cluster = PlayedCluster({ONE: False})
    cluster.sync = lambda *args, **kwargs: None
    with (
        pytest.warns(bo.errors.FaultWarning),
        pytest.raises(bo.errors.DataError, match=rf"no sign of life comes from the worker {ONE}\. If a task"),
    ):
        Watch(cluster).wait_for(cluster.work)


def test_of_many_workers_a_few_are_named():
    cluster = PlayedCluster({f"tcp://10.0.0.{k}:1": False for k in range(6)})
    with pytest.warns(bo.errors.FaultWarning, match=r"from the workers tcp://10.0.0.0:1, .*0.2:1 and 3 more for"):
        Watch(cluster).wait_for(cluster.work)


@pytest.mark.parametrize("value", ["soon", "0s", -1, None, []])
def test_a_patience_that_is_no_time_is_refused(value):
    with (
        dask.config.set({"bregopt.patience": value}),
        pytest.raises(
            bo.errors.ParameterError, match=r"bregopt.patience of dask's configuration must be a time above 0"
        ),
    ):
        Watch(PlayedCluster({})).wait_for(lambda: 42)


def test_work_that_got_stuck_is_asked_for_once_more():
    cluster = PlayedCluster({ONE: True})
    asked = []

    def stuck_at_first():
        asked.append(True)
        return 42 if len(asked) == 2 else threading.Event().wait()

    assert persistently(cluster, stuck_at_first) == 42
    asked.clear()
    with pytest.raises(bo.errors.DataError, match="no task runs at"):
        persistently(cluster, lambda: asked.append(True) or threading.Event().wait())
    assert len(asked) == 2
