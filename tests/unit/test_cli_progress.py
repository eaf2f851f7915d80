"""The progress bar: what it shows, and how rarely."""

import io

import numpy as np
import pytest
from rich.console import Console

import bregopt
from bregopt.cli import progress
from bregopt.cli.progress import Bar, terminal


@pytest.fixture
def console():
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves on by hand."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def states(count):
    run = bregopt.iterate(bregopt.compose("relu-nmd", np.eye(4), rank=2))
    return [next(run) for _ in range(count)]


def task(bar):
    return bar._progress.tasks[0]


def test_the_bar_shows_iteration_limit_objective_and_error(console, clock):
    with Bar(console, 20, None) as bar:
        *_, state = states(6)
        clock.now = 1.0
        bar.see(state)
        assert task(bar).description == (
            f"iteration 5/20  objective {state.objective:.4e}  error {state.metrics['relative_error']:.2e}"
        )
        assert task(bar).completed == pytest.approx(0.25)
    assert "iteration 5/20" in console.file.getvalue()


def test_the_bar_fills_to_the_nearest_limit_and_pulses_without_one(console, clock):
    state = states(1)[0]
    for iterations, seconds, total, done in [(None, 4.0, 1.0, 0.25), (10, 4.0, 1.0, 0.25), (None, None, None, 0.0)]:
        clock.now = 0.0
        bar = Bar(console, iterations, seconds)
        clock.now = 1.0
        bar.see(state)
        assert (task(bar).total, task(bar).completed) == (total, pytest.approx(done))


def test_most_iterations_cost_one_look_at_the_clock(console, clock, monkeypatch):
    bar, updates = Bar(console, 20, None), []
    monkeypatch.setattr(bar._progress, "update", lambda *_, **fields: updates.append(fields))
    state = states(1)[0]
    for _ in range(1000):
        clock.now += 0.001
        bar.see(state)
    assert 3 <= len(updates) <= 10


def test_ctrl_c_is_answered_at_once(console):
    bar = Bar(console, 20, None)
    bar.stopping()
    assert "stopping after this iteration" in task(bar).description


def test_without_a_terminal_there_is_no_bar(capsys):
    assert terminal() is None
