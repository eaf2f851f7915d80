"""Ctrl-C: the first ends the run after its iteration, the second at once."""

import signal

import numpy as np
import pytest

import bregopt
from bregopt.rules.interrupt import Interrupt

M = np.eye(4)


@pytest.fixture
def problem():
    return bregopt.compose("relu-nmd", M, rank=2)


@pytest.fixture(autouse=True)
def python_handler():
    """As in a terminal, even if the tests themselves run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_at(iteration):
    def press(state):
        if state.iteration == iteration:
            signal.raise_signal(signal.SIGINT)

    return press


def test_the_first_ends_the_run_with_the_best_result_so_far(problem):
    rule, heard = Interrupt(), []
    with rule.listening(lambda: heard.append(True)):
        result = bregopt.solve(problem, stop=rule, max_iterations=50, observers=[press_at(3)])
    assert result.status is bregopt.Status.INTERRUPTED
    assert (result.iterations, heard) == (3, [True])
    assert "Ctrl-C after 3 iterations" in result.reason
    assert result.objective <= result.history["objective"].min()  # where the history has bounds


def test_the_second_ends_it_at_once(problem):
    rule = Interrupt()

    def press_twice(state):
        if state.iteration == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), rule.listening():
        bregopt.solve(problem, stop=rule, max_iterations=50, observers=[press_twice])


def test_the_handler_is_put_back_whatever_happens():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt().listening():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ZeroDivisionError), Interrupt().listening():
        1 / 0  # noqa: B018  (the error is what is tested)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_in_the_background_goes_on_ignoring_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupt().listening():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_nothing_is_stopped_unless_it_is_pressed(problem):
    rule = Interrupt()
    with rule.listening():
        result = bregopt.solve(problem, stop=rule, max_iterations=5)
    assert result.status is bregopt.Status.MAX_ITERATIONS
