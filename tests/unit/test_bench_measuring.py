"""Times and memory: rounds, pauses, the best of all calls, and growth that is seen."""

from types import SimpleNamespace

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.measuring import best_seconds, headline, machine, memory_growth


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the tasks and pauses move, and what happened on it."""
    state = SimpleNamespace(now=0.0, events=[])

    def sleep(seconds):
        state.events.append("pause")
        state.now += seconds

    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda: state.now, sleep=sleep))
    return state


def task(clock, name, *seconds):
    """A task that takes these seconds, one after the other; getting ready takes a hundred more."""
    left = list(seconds)

    def call():
        clock.events.append(name)
        clock.now += left.pop(0) if len(left) > 1 else left[0]

    def ready():
        clock.now += 100.0
        return call

    return ready


def test_tasks_on_the_threads_of_blas_come_first_and_a_pause_after_them(clock):
    best_seconds({"pass": task(clock, "pass", 1.0)}, {"bare": task(clock, "bare", 1.0)}, repeats=2)
    assert clock.events == ["bare", "pass", *2 * ["bare", "pause", "pass"]]


def test_other_tasks_alone_pause_once(clock):
    best_seconds({"pass": task(clock, "pass", 1.0)}, repeats=3)
    assert clock.events == ["pass", "pause", "pass", "pass", "pass"]


def test_the_shortest_call_counts_and_neither_the_first_nor_what_makes_ready(clock):
    tasks = {"pass": task(clock, "pass", 0.1, 3.0, 2.0, 4.0), "other": task(clock, "other", 9.0, 8.0)}
    assert best_seconds(tasks, repeats=3) == pytest.approx({"pass": 2.0, "other": 8.0})


def test_a_short_task_is_called_a_few_times_in_a_round(clock):
    best_seconds({"pass": task(clock, "pass", 1e-3)}, repeats=1)
    assert clock.events.count("pass") == 1 + measuring.CALLS


def test_growth_is_what_the_work_held_at_its_peak():
    def work():
        return float(np.ones(6_000_000).sum())

    value, size = memory_growth(work, lasting=0.3)
    assert value == 6e6
    assert size is None if not measuring.STATUS.exists() else 45e6 < size < 90e6


def test_room_that_was_freed_before_is_seen_when_it_is_taken_again():
    def work():
        return [np.ones(2**12) for _ in range(1200)]

    parts = work()
    last = parts.pop()  # in front of it the allocator keeps what is freed
    del parts
    parts, size = memory_growth(work)
    assert len(parts) * last.nbytes > 39e6
    assert size is None if not measuring.STATUS.exists() else 35e6 < size < 90e6


def test_a_system_that_does_not_tell_gives_none(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "STATUS", tmp_path / "status")
    assert memory_growth(lambda: 3) == (3, None)


def test_what_the_work_raises_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        memory_growth(lambda: 1 / 0)


def test_the_headline_names_settings_and_says_when_the_machine_is_busy(monkeypatch):
    monkeypatch.setenv("BREGOPT_THREADS", "1")
    facts = machine()
    assert "BREGOPT_THREADS=1" in headline(facts)
    assert "BUSY: load 3.2" in headline(facts | {"load": 3.2})
    assert "BUSY" not in headline(facts | {"load": 0.1})
    assert "BUSY" not in headline(facts | {"load": None})
