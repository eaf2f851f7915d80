"""The memory a piece of work takes beyond what was held before, where the system tells."""

import ctypes
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Out = TypeVar("Out")
STATUS = Path("/proc/self/status")
EVERY = 0.002
"""Seconds between two samples."""


def grown(work: Callable[[], Out], lasting: float = 0.0) -> tuple[Out, int | None]:
    """What the work returns, and by how many bytes RssAnon grew at its peak; pages of mapped files do not count.

    Short work is done again and again until it lasted so many seconds, as samples would miss it otherwise.
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


def _anonymous() -> int | None:
    """Bytes of memory that no file stands behind."""
    try:
        found = re.search(r"^RssAnon:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def _give_back() -> None:
    """Free room that the allocator keeps would be used again and not be seen; glibc can be told to return it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if STATUS.exists() else None
    if trim is not None:
        trim(0)
