"""Threads over tiles, and BLAS on one thread inside of each."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar, final

from threadpoolctl import ThreadpoolController

from bregopt.errors import parameter

In = TypeVar("In")
Out = TypeVar("Out")
SWITCH = "BREGOPT_THREADS"
"""Set to the number of threads of a pass; by default there are as many as processors."""


def thread_count() -> int:
    """The threads a pass may use."""
    given = os.environ.get(SWITCH)
    if given is not None:
        if not given.isdecimal() or int(given) < 1:
            raise parameter(SWITCH, "the environment", "a whole number >= 1", given)
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller(with_scipy: bool) -> ThreadpoolController:
    """Of the BLAS of numpy, and that of scipy once it is loaded, which compiled loops call."""
    return ThreadpoolController()


@final
class _OneThread:
    """BLAS on one thread while anybody is inside: the first to come in limits it, the last to leave restores it.

    The limit belongs to the process. If each of two runs that overlap restored what it had met, the later one would
    leave the limit of the other behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: dict[bool, Any] = {}

    def __enter__(self) -> None:
        with_scipy = "scipy.linalg.cython_blas" in sys.modules
        with self._lock:
            self._inside += 1
            if with_scipy not in self._limits:
                self._limits[with_scipy] = _controller(with_scipy).limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for with_scipy, limit in reversed(self._limits.items()):
                    _take_control(_controller(with_scipy))
                    limit.restore_original_limits()
                    _take_control(_controller(with_scipy))
                self._limits.clear()


def _take_control(controller: ThreadpoolController) -> None:
    """Let any thread set the limit: newer versions of threadpoolctl listen to the one that set it first only."""
    for library in controller.lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


_ONE_THREAD = _OneThread()


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses a single thread: a tile is in cache, and a second thread would mostly wait."""
    return _ONE_THREAD


@cache
def _pool(purpose: str, workers: int, process: int) -> ThreadPoolExecutor:
    """The pool of this process: a forked child makes its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix=f"bregopt-{purpose}")


def reader() -> ThreadPoolExecutor:
    """The threads that read ahead."""
    return _pool("reader", 4, os.getpid())


def split(whole: slice, count: int) -> list[slice]:
    """A range in so many parts, each as long as the others."""
    first, size = whole.start, whole.stop - whole.start
    count = max(1, min(count, size))
    return [slice(first + size * k // count, first + size * (k + 1) // count) for k in range(count)]


def spread(work: Callable[[In], Out], shares: Sequence[In]) -> list[Out]:
    """``work`` on each share, the first in this thread, the others in threads of their own; the answers in order."""
    pending = [_pool("tiles", len(shares) - 1, os.getpid()).submit(work, share) for share in shares[1:]]
    return [work(shares[0]), *(future.result() for future in pending)]


def read_only(X: Any) -> Any:
    """A view of the array to be read only, whoever owns it: each kind of array has a compiled loop of its own."""
    view = X.view()
    view.flags.writeable = False
    return view
