"""What benchmarks measure, and on what: seconds, memory, and the machine with its settings."""

import ctypes
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Out = TypeVar("Out")
Task = Callable[[], Callable[[], object]]
"""Makes ready what is to be timed, and returns it."""

PAUSE = 0.4
"""Threads of BLAS wait for more work by spinning, some 0.15 s long, and would take a core from what comes next."""
CALLS = 25
ENOUGH = 0.15
"""A task is called up to ``CALLS`` times in a round, or until it took that many seconds."""

STATUS = Path("/proc/self/status")
EVERY = 0.002
"""Seconds between two samples of the memory."""

SETTINGS = ("BREGOPT_THREADS", "BREGOPT_COMPILE")
BUSY = 0.5
"""Processors in use by others from which on the figures mean little."""


def best_seconds(
    tasks: Mapping[str, Task], blas_tasks: Mapping[str, Task] | None = None, *, repeats: int
) -> dict[str, float]:
    """The shortest time of each task, over rounds in which each is called in turn.

    The ``blas_tasks`` run BLAS on its own threads: they come first in a round, and a pause follows them.
    """
    blas_tasks = blas_tasks or {}
    for ready in (*blas_tasks.values(), *tasks.values()):
        ready()()
    seconds = dict.fromkeys((*blas_tasks, *tasks), float("inf"))
    for number in range(repeats):
        for name, ready in blas_tasks.items():
            seconds[name] = min(seconds[name], _shortest_call(ready()))
        if blas_tasks or number == 0:
            time.sleep(PAUSE)
        for name, ready in tasks.items():
            seconds[name] = min(seconds[name], _shortest_call(ready()))
    return seconds


def _shortest_call(call: Callable[[], object]) -> float:
    shortest, spent = float("inf"), 0.0
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        last = time.perf_counter() - begin
        shortest, spent = min(shortest, last), spent + last
        if spent > ENOUGH:
            break
    return shortest


def memory_growth(work: Callable[[], Out], lasting: float = 0.0) -> tuple[Out, int | None]:
    """What the work returns, and by how many bytes RssAnon grew at its peak; pages of mapped files do not count.

    Short work is done again and again until it lasted so many seconds, as samples would miss it otherwise. Where the
    system does not tell, the growth is ``None``.
    """
    _give_back()
    before = _anonymous()
    if before is None:
        return work(), None
    peak, ended = before, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(EVERY):
            peak = max(peak, _anonymous() or 0)

    watcher = threading.Thread(target=watch, name="bregopt-memory", daemon=True)
    watcher.start()
    try:
        end = time.perf_counter() + lasting
        out = work()
        while time.perf_counter() < end:
            out = work()
        peak = max(peak, _anonymous() or 0)
    finally:
        ended.set()
        watcher.join()
    return out, peak - before


def peak_memory() -> int | None:
    """The most bytes of memory that this process ever held, where the system tells."""
    return _stated("VmHWM")


def _anonymous() -> int | None:
    """Bytes of memory that no file stands behind."""
    return _stated("RssAnon")


def _stated(name: str) -> int | None:
    """A size that the system states of this process."""
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def _give_back() -> None:
    """Free room that the allocator keeps would be used again and not be seen; glibc can be told to return it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if STATUS.exists() else None
    if trim is not None:
        trim(0)


def machine() -> dict[str, Any]:
    """The machine as JSON values, to be asked for before the benchmark adds to the load."""
    from threadpoolctl import threadpool_info

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "cores": cores(),
        "processor": platform.machine(),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_threads": max(pools, default=None),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {"python": platform.python_version(), **_versions("bregopt", "numpy", "numba")},
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


def headline(facts: dict[str, Any]) -> str:
    """The machine in a line."""
    threads = f" on {_count(facts['blas_threads'], 'thread')}" if facts["blas_threads"] else ""
    parts = [f"{_count(facts['cores'], 'core')} {facts['processor']}", facts["blas"] + threads]
    parts += [f"{name} {number}" for name, number in facts["versions"].items()]
    parts += [f"device {facts['device']}"] if "device" in facts else []
    parts += [f"{name}={value}" for name, value in facts["settings"].items()]
    parts += [f"BUSY: load {facts['load']:.1f}"] if (facts["load"] or 0) > BUSY else []
    return ", ".join(parts)


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
