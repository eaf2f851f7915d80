"""``bregopt warm-up``: what plugins announce is compiled, and a run then compiles nothing."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import bregopt as bo
from bregopt.cli import warm_up
from bregopt.compile_clock import tell_of_compiling
from bregopt.host.compose import warm_ups


@pytest.fixture
def announce(fresh_host, monkeypatch):
    """Load a plugin that announces these runs; no other is there."""
    monkeypatch.setenv("BREGOPT_LOAD_PLUGINS", "rules")

    def load(answer, name="mine"):
        @bo.hookimpl
        def bregopt_warm_up():
            return answer

        bo.load_plugin(SimpleNamespace(__name__=name, bregopt_warm_up=bregopt_warm_up))

    return load


def compiling():
    tell_of_compiling("loop")


def nothing():
    pass


def test_every_run_is_made_and_it_is_said_whether_something_was_compiled(announce, call):
    announce([("my loops", compiling), ("other loops", nothing)])
    code, out, err = call("warm-up")
    assert (code, err) == (0, "")
    mine, other, where = out.splitlines()
    assert mine.startswith("my loops  ")
    assert " compiled in 0." in mine
    assert other.split() == ["other", "loops", "ready"]
    assert where.startswith(("Kept in ", "Nothing could be kept"))


def test_quiet_says_nothing(announce, call):
    announce([("my loops", compiling)])
    assert call("warm-up", "-q") == (0, "", "")


def test_a_run_that_fails_is_named_and_the_others_are_made(announce, call):
    def fail():
        raise ValueError("no luck")

    done = []
    announce([("bad", fail), ("good", lambda: done.append("good"))])
    code, out, err = call("warm-up", "-q")
    assert (code, out, done) == (1, "", ["good"])
    assert err.startswith("bad  ")
    assert "failed: " in err
    assert "ValueError: no luck" in err
    assert "test_cli_warm_up.py" in err


@pytest.mark.parametrize("answer", ["loops", [("my loops", 3)], [3]])
def test_an_answer_that_is_no_list_of_runs_is_named(announce, call, answer):
    announce(answer)
    code, _, err = call("warm-up")
    assert code == 2
    assert "bregopt_warm_up must return pairs (label, function), or None. It returned " in err


def test_a_plugin_may_have_nothing_to_compile(announce):
    announce(None)
    assert warm_ups() == []


@pytest.mark.parametrize("switch", ["BREGOPT_COMPILE=0", "NUMBA_DISABLE_JIT=1"])
def test_it_is_an_error_where_compiled_loops_are_switched_off(call, monkeypatch, switch):
    monkeypatch.setenv(*switch.split("="))
    code, _, err = call("warm-up")
    assert code == 2
    assert "Compiled loops are switched off by BREGOPT_COMPILE or NUMBA_DISABLE_JIT: unset it." in err


PREPARED = """
import sys
import bregopt as bo
import numpy as np
from bregopt.compiled import told_of_compiling
from bregopt.host.compose import warm_ups

compiled = []
with told_of_compiling(compiled.append):
    if sys.argv[1] == "warm-up":
        dict(warm_ups())["relu-nmd, dense M: the pass"]()
    else:
        M = np.maximum(0.0, np.random.default_rng(0).standard_normal((640, 330)))
        for method in ("aapb", "ecd", "bella"):
            bo.solve(bo.compose("relu-nmd", M, rank=3, U="l1(0.1)"), method=method, max_iterations=2)
print(bool(compiled))
"""


def test_after_it_a_run_compiles_nothing(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def compiles(what):
        done = subprocess.run(
            [sys.executable, "-c", PREPARED, what], capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip() == "True"

    assert [compiles("warm-up"), compiles("warm-up"), compiles("run")] == [True, False, False]


def test_what_the_plugins_announce_is_labelled_once_each():
    labels = [label for label, _ in warm_ups()]
    assert len(labels) == len(set(labels)) > 0
    assert all(len(label) < warm_up.WIDTH for label in labels)


FIRST = """
import os, sys
import bregopt as bo
import numpy as np
from bregopt.compiled import told_of_compiling


def told(loop):
    print("numba" in sys.modules, flush=True)
    os._exit(0)


with told_of_compiling(told):
    M = np.maximum(0.0, np.random.default_rng(0).standard_normal((640, 330)))
    bo.solve(bo.compose("relu-nmd", M, rank=3), method="aapb", max_iterations=2)
"""


def test_where_nothing_is_kept_it_is_told_before_numba_is_imported(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
