"""How long code that is compiled at its first use is waited for: that is no part of solving, and a person is told."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

Tell = Callable[[str], None]
"""Takes the name of a loop that is about to be compiled."""

_tellers: list[Tell] = []


@final
class _Waits(threading.local):
    """Of one thread: how long it has waited in all, and since when it does so now."""

    total = 0.0
    since = 0.0
    depth = 0


_waits = _Waits()


def clock() -> float:
    """Seconds since some moment, without those in which this thread waited for compiled code."""
    now = _waits.since if _waits.depth else time.perf_counter()
    return now - _waits.total


def begin_waiting() -> None:
    """Stop the clock of this thread; loops are compiled inside of others, so calls may be nested."""
    if _waits.depth == 0:
        _waits.since = time.perf_counter()
    _waits.depth += 1


def end_waiting() -> None:
    """Let the clock of this thread go on, once this was called as often as ``begin_waiting``."""
    _waits.depth = max(_waits.depth - 1, 0)  # numba may have begun before it was listened to
    if _waits.depth == 0 and _waits.since:
        _waits.total += time.perf_counter() - _waits.since
        _waits.since = 0.0


@contextmanager
def waiting() -> Iterator[None]:
    """Work that the clock of this thread leaves out."""
    begin_waiting()
    try:
        yield
    finally:
        end_waiting()


@contextmanager
def told_of_compiling(tell: Tell) -> Iterator[None]:
    """Inside, ``tell`` gets the name of each loop just before it is compiled, in whatever thread that is.

    A loop that was kept on disk is not compiled, and nothing is told of it.
    """
    _tellers.append(tell)
    try:
        yield
    finally:
        _tellers.remove(tell)


def is_told() -> bool:
    """Whether somebody asked."""
    return bool(_tellers)


def tell_of_compiling(loop: str) -> None:
    """Tell everyone who asked."""
    for tell in tuple(_tellers):
        tell(loop)
