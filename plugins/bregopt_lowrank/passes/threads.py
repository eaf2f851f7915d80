"""Threads over tiles, and BLAS on one thread inside of each."""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

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


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses a single thread: a tile is in cache, and a second thread would mostly wait."""
    limited: AbstractContextManager[Any] = _controller("scipy.linalg.cython_blas" in sys.modules).limit(
        limits=1, user_api="blas"
    )
    return limited


@cache
def _pool(purpose: str, workers: int, process: int) -> ThreadPoolExecutor:
    """The pool of this process: a forked child makes its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix=f"bregopt-{purpose}")


def reader() -> ThreadPoolExecutor:
    """The threads that read ahead."""
    return _pool("reader", 4, os.getpid())


def spread(work: Callable[[In], Out], shares: Sequence[In]) -> list[Out]:
    """``work`` on each share, the first in this thread, the others in threads of their own; the answers in order."""
    pending = [_pool("tiles", len(shares) - 1, os.getpid()).submit(work, share) for share in shares[1:]]
    return [work(shares[0]), *(future.result() for future in pending)]
