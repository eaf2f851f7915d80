"""The progress bar: what it shows, and how rarely."""

import io

import numpy as np
import pytest
from rich.console import Console

import bregopt
from bregopt.compile_clock import tell_of_compiling
from bregopt.compiled import told_of_compiling
from bregopt.host import progress
from bregopt.host.compiling import CompilingLine
from bregopt.host.progress import Bar, terminal


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
    monkeypatch.setattr(progress, "clock", clock.perf_counter)
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


def test_the_bar_says_that_loops_are_compiled_until_the_next_iteration(console, clock):
    with Bar(console, 20, None) as bar:
        with told_of_compiling(bar.compiling):
            tell_of_compiling("loop")
        assert task(bar).description == "compiling once for this machine"
        clock.now = 60.0
        bar.see(states(1)[0])
        assert task(bar).description.startswith("iteration 0/20")


def test_the_bar_does_not_fill_while_loops_are_compiled(console, clock, monkeypatch):
    monkeypatch.setattr(progress, "clock", lambda: 1.0)
    with Bar(console, None, 10.0) as bar:
        clock.now = 60.0
        bar.see(states(1)[0])
        assert task(bar).completed == 0.0


def test_the_bar_knows_what_was_said_before_it_is_drawn(console):
    bar = Bar(console, 20, None)
    bar.compiling("loop")
    with bar:
        assert task(bar).description == "compiling once for this machine"


def test_without_a_bar_it_is_one_line_however_many_loops_are_compiled(capsys):
    line = CompilingLine()
    with told_of_compiling(line.compiling):
        for _ in range(3):
            tell_of_compiling("loop")
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err
        == "bregopt: compiling once for this machine, which takes some seconds; 'bregopt warm-up' does it beforehand\n"
    )


@pytest.mark.parametrize(
    ("options", "told"), [([], True), (["--no-progress"], True), (["-q"], False), (["--json"], False)]
)
def test_a_run_says_that_it_compiles_but_for_one_that_is_to_be_silent(call, monkeypatch, options, told):
    def composed(*args, **kwargs):
        tell_of_compiling("loop")
        return compose(*args, **kwargs)

    compose = bregopt.compose
    monkeypatch.setattr(bregopt, "compose", composed)
    code, _, err = call("solve", "--max-iterations", 1, *options)
    assert code == 0
    assert ("compiling once for this machine" in err) is told


def test_ctrl_c_is_answered_at_once(console):
    bar = Bar(console, 20, None)
    bar.stopping()
    assert "stopping after this iteration" in task(bar).description


def test_without_a_terminal_there_is_no_bar(capsys):
    assert terminal() is None
