"""Threads over tiles, and BLAS on one thread inside of each."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

In = TypeVar("In")
Out = TypeVar("Out")


def thread_count() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses a single thread: a tile is in cache, and a second thread would mostly wait."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="bregopt")


def spread(work: Callable[[In], Out], shares: Sequence[In]) -> list[Out]:
    """``work`` on each share, in threads of their own; the answers in order."""
    if len(shares) == 1:
        return [work(shares[0])]
    return list(_pool(len(shares)).map(work, shares))
