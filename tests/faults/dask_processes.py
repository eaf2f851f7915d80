"""A dask cluster whose scheduler and workers are processes of their own, to be killed or frozen one by one."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from distributed import Client

START = 60.0
"""Seconds that a process may take to be there."""


class Processes:
    """The processes by their names: ``scheduler``, ``worker-0``, ``worker-1``, …"""

    def __init__(self, folder):
        self.folder = folder
        self.running = {}
        self.file = folder / "scheduler.json"

    def start(self, name, module, *args):
        log = open(self.folder / f"{name}.log", "w")  # noqa: SIM115  (the process writes to it)
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(self.file), *args]
        self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        log.close()

    def signal(self, name, number):
        """To the process alone, not to those that it has started."""
        os.kill(self.running[name].pid, number)

    def end(self):
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def cluster(folder, workers=2, *options, nanny=False):
    """The processes, and a client of them."""
    processes = Processes(folder)
    try:
        processes.start("scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        until(processes.file.exists)
        for k in range(workers):
            own = "--nanny" if nanny else "--no-nanny"
            name = f"worker-{k}"
            processes.start(name, "dask_worker", own, "--nthreads", "1", "--no-dashboard", "--name", name, *options)
        client = Client(scheduler_file=str(processes.file), set_as_default=False, timeout=START)
        try:
            client.wait_for_workers(workers, timeout=START)
            with client.as_current():
                yield processes, client
        finally:
            client.close(timeout=5)
    finally:
        processes.end()


def until(condition):
    """Wait for it."""
    end = time.monotonic() + START
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
