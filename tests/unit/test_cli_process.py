"""The command line as a process of its own: signals, pipes, terminals, start-up."""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from bregopt.cli.run import FILES
from bregopt.engine.checkpoint import checkpoints_in, read_last

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and terminals as POSIX has them")

TELLTALE = """
import sys
from attrs import frozen
import bregopt


@frozen
class Telltale(bregopt.StopRule):
    '''Never stops, and tells when the run is under way.'''

    def judge(self, progress):
        if progress.iteration == 3:
            print("under way", file=sys.stderr, flush=True)
        return None


@bregopt.hookimpl
def bregopt_register(registry):
    registry.add(bregopt.StopRule, "telltale", Telltale)
"""


def start(*args, env=None, **options):
    """``python -m bregopt``, as a shell in a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "bregopt", *map(str, args)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"} | (env or {}),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stderr": subprocess.PIPE, "text": True, **options},
    )


def test_ctrl_c_prints_and_writes_the_best_result_and_exits_130(tmp_path):
    (tmp_path / "telltale.py").write_text(TELLTALE)
    plugin, out = tmp_path / "telltale.py", tmp_path / "out"
    process = start("solve", "--plugin", plugin, "--stop", "telltale", "--out", out, stdout=subprocess.PIPE)
    assert process.stderr.readline() == "under way\n"
    process.send_signal(signal.SIGINT)
    printed, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert "Interrupted by Ctrl-C after" in printed
    assert "Certificate" in printed
    kept = {path.name for path in out.iterdir()}
    assert kept == {*FILES, "problem.npz", "command.json", *(path.name for path in checkpoints_in(out))}
    assert read_last(out).iteration == json.loads((out / "run.json").read_text(encoding="utf-8"))["iterations"]
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    history = np.genfromtxt(out / "history.csv", delimiter=",", names=True)
    with np.load(out / "factors.npz", allow_pickle=False) as factors:
        assert factors["U"].shape == (383, 10)
    assert record["status"] == "interrupted"
    assert record["objective"] <= history["objective"].min()  # where the history has bounds
    assert len(history) == record["iterations"] + 1


@pytest.mark.parametrize("args", [["plugins"], ["solve", "--max-iterations", "1"]])
def test_a_closed_pipe_ends_the_command_quietly(args):
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*args, stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60) == (None, "")


def test_a_terminal_shows_a_bar_that_gives_way_to_the_summary():
    from terminals import shown_on_a_terminal  # POSIX alone has them

    process, shown = shown_on_a_terminal(partial(start, "solve", "--max-seconds", 1, env={"TERM": "xterm"}))
    assert process.wait(timeout=60) == 0
    bar, _, summary = shown.rpartition("\x1b[2K")  # the line of the bar is erased
    assert "━" in bar
    assert "iteration " in bar
    assert "━" not in summary
    assert "Objective" in summary


def test_help_is_quick_since_nothing_heavy_is_imported_for_it():
    check = (
        "import sys, bregopt.cli.main; print(sorted({'scipy', 'rich', 'pluggy', 'sparse', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("args", "escaped"), [(["solve", "--max-iterations", "1", "--certificate"], "\\u03a6(Y"), (["plugins"], "\\u03c8")]
)
def test_a_terminal_without_unicode_gets_escapes_and_no_traceback(args, escaped):
    process = start(*args, stdout=subprocess.PIPE, encoding="latin-1", env={"PYTHONIOENCODING": "latin-1"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert escaped in out


def in_a_shell(redirection, *args, **options):
    """(exit code, stderr) of the command line with its streams as a shell redirects them."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "bregopt", *map(str, args)]
    done = subprocess.run(command, capture_output=True, timeout=60, encoding="utf-8", check=False, **options)
    return done.returncode, done.stderr


SOLVE = ["solve", "--max-iterations", "1"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is always full")
@pytest.mark.parametrize("args", [SOLVE, ["plugins"], ["--help"]])
def test_a_full_disk_is_one_line_of_error(args):
    code, err = in_a_shell("> /dev/full", *args)
    assert (code, err) == (2, "bregopt: error: The output cannot be written: No space left on device.\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is always full")
@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-"])
def test_an_error_that_cannot_be_told_still_ends_with_exit_code_2(redirection):
    assert in_a_shell(redirection, "solve", "nowhere.npy") == (2, "")


@pytest.mark.parametrize(
    ("args", "redirection"), [(SOLVE, ">&-"), (["plugins"], ">&-"), (["check", "l1"], ">&-"), (SOLVE, ">&- 2>&-")]
)
def test_a_closed_output_is_no_error(args, redirection):
    assert in_a_shell(redirection, *args) == (0, "")


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "LANG": "C"}])
def test_a_name_beyond_ascii_is_told_where_there_is_only_ascii(env):
    env = os.environ | {"PYTHONCOERCECLOCALE": "0"} | env
    code, err = in_a_shell("", "solve", "ü.npy", env=env)
    assert code == 2
    assert err.startswith("bregopt: error: The file '")
    assert err.count("\n") == 1


def test_a_narrow_terminal_gets_lines_that_fit():
    process = start(*SOLVE, stdout=subprocess.PIPE, encoding="utf-8", env={"COLUMNS": "40"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 40
