"""The time that compiling takes is no part of solving, and it is told of."""

import contextlib
import threading
import time

import numba
import numpy as np
import pytest

import bregopt as bo
from bregopt import compile_clock, compiled
from bregopt.compile_clock import clock, waiting

SLEEP = 0.05


@pytest.fixture
def now(monkeypatch):
    """A clock on the wall that moves on by hand."""

    class Wall:
        time = 100.0

        def perf_counter(self):
            return self.time

    wall = Wall()
    monkeypatch.setattr(compile_clock, "time", wall)
    monkeypatch.setattr(compile_clock, "_waits", compile_clock._Waits())
    return wall


def test_the_clock_leaves_out_what_is_waited_for_and_counts_nested_waits_once(now):
    begin = clock()
    now.time += 1.0
    with waiting():
        now.time += 10.0
        assert clock() - begin == 1.0, "it stands still"
        with waiting():
            now.time += 10.0
        now.time += 10.0
    now.time += 2.0
    assert clock() - begin == 3.0


def test_the_clock_goes_on_after_an_error(now):
    @waiting()
    def fail():
        now.time += 10.0
        raise ZeroDivisionError

    begin = clock()
    with pytest.raises(ZeroDivisionError):
        fail()
    now.time += 1.0
    assert clock() - begin == 1.0


def test_the_end_of_a_wait_whose_beginning_nobody_heard_changes_nothing(now):
    begin = clock()
    compile_clock.end_waiting()
    now.time += 1.0
    assert clock() - begin == 1.0


def test_another_thread_that_waits_does_not_stop_the_clock_of_this_one(now):
    begin = clock()
    waits, go_on = threading.Event(), threading.Event()

    def other():
        with waiting():
            waits.set()
            go_on.wait()

    thread = threading.Thread(target=other)
    thread.start()
    waits.wait()
    now.time += 5.0
    assert clock() - begin == 5.0
    go_on.set()
    thread.join()


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


def slow_to_compile(inner):
    """A loop that takes a while to compile, as numba asks for the type of what it calls."""

    def called(x):
        return x

    @numba.extending.overload(called)
    def meanwhile(x):
        time.sleep(inner)
        return lambda x: x

    def loop(x):
        return called(x)

    return loop


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("by", ["jit", "first_class"])
def test_numba_stops_the_clock_while_it_compiles(by):
    loop, told = slow_to_compile(SLEEP), []
    begin, begin_wall = clock(), time.perf_counter()
    with compiled.told_of_compiling(told.append):
        if by == "jit":
            compiled.jit(loop, kept=False)(1.0)
        else:
            compiled.first_class(loop, 1.0, returns=1.0)
    wall = time.perf_counter() - begin_wall
    assert wall - (clock() - begin) >= SLEEP
    assert "loop" in told


def test_a_loop_that_is_compiled_already_is_not_told_of():
    loop, told = compiled.jit(slow_to_compile(0.0), kept=False), []
    loop(1.0)
    with compiled.told_of_compiling(told.append):
        loop(2.0)
    assert told == []


def test_nobody_is_told_after_the_end():
    told = []
    with compiled.told_of_compiling(told.append):
        pass
    compiled.jit(slow_to_compile(0.0), kept=False)(1.0)
    assert told == []


def test_a_method_that_compiles_in_its_iterations_does_not_lose_time(now):
    """Seconds, the limit in seconds and the history go by the same clock."""
    M = np.maximum(0.0, np.random.default_rng(0).standard_normal((6, 5)))
    problem = bo.compose("relu-nmd", M, rank=2)

    def compile_and_work(state):
        if state.iteration in (0, 2):
            with waiting():
                now.time += 60.0
        now.time += 1.0

    result = bo.solve(problem, method="aapb", max_seconds=5, observers=[compile_and_work])
    assert result.iterations == 5
    assert result.seconds == pytest.approx(6.0)
    assert result.history["seconds"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("terminal", "silent", "told"), [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_a_person_who_would_wait_without_a_word_reads_one_line(terminal, silent, told, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    problem = bo.compose("relu-nmd", np.eye(6), rank=2)

    def compile_twice(state):
        compile_clock.tell_of_compiling("walk")
        compile_clock.tell_of_compiling("run")

    with compile_clock.told_of_compiling(lambda _: None) if silent else contextlib.nullcontext():
        bo.solve(problem, max_iterations=0, observers=[compile_twice])
    assert capsys.readouterr().err.count("compiling once for this machine") == told
