"""Seconds of several tasks in one run: rounds in which each takes its turn, and the best of each."""

import time
from collections.abc import Callable, Mapping

PAUSE = 0.4
"""Threads of BLAS wait for more work by spinning, some 0.15 s long, and would take a core from what comes next."""
CALLS = 25
ENOUGH = 0.15
"""A task is called up to ``CALLS`` times in a round, or until it took that many seconds."""

Task = Callable[[], Callable[[], object]]
"""Makes ready what is to be timed, and returns it."""


def best(quiet: Mapping[str, Task], loud: Mapping[str, Task] | None = None, *, repeats: int) -> dict[str, float]:
    """The shortest time of each task; the ``loud`` ones run BLAS on its own threads, and a pause follows them."""
    loud = loud or {}
    for ready in (*loud.values(), *quiet.values()):
        ready()()
    seconds = dict.fromkeys((*loud, *quiet), float("inf"))
    for turn in range(repeats):
        for name, ready in loud.items():
            seconds[name] = min(seconds[name], _burst(ready()))
        if loud or turn == 0:
            time.sleep(PAUSE)
        for name, ready in quiet.items():
            seconds[name] = min(seconds[name], _burst(ready()))
    return seconds


def _burst(call: Callable[[], object]) -> float:
    shortest, spent = float("inf"), 0.0
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        last = time.perf_counter() - begin
        shortest, spent = min(shortest, last), spent + last
        if spent > ENOUGH:
            break
    return shortest
