"""Commands and options that plugins add: how they are found, and what happens to a plugin that fails."""

import re
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import click
import numpy as np
import pytest

import bregopt
from bregopt.cli.main import commands

M = np.maximum(0.0, np.random.default_rng(0).standard_normal((12, 9)))

pytestmark = pytest.mark.usefixtures("fresh_host")


def load(name, add_commands):
    """A plugin of that name whose hook is the given function."""

    @bregopt.hookimpl
    def bregopt_commands(cli):
        add_commands(cli)

    return bregopt.load_plugin(SimpleNamespace(__name__=name, bregopt_commands=bregopt_commands))


def says(text, name="hello"):
    @click.command(name, help="Say hello.")
    def command():
        click.echo(text)

    return command


def fail(cli):
    cli.add_command(says("half done", "half"))
    raise ValueError("no luck")


def warning(name, why):
    return f"bregopt: warning: The commands of the plugin '{name}' (object {name}) are left out: {why}\n"


def test_a_plugin_adds_a_command_that_runs_and_is_listed(call):
    load("mine", lambda cli: cli.add_command(says("Hello from a plugin.")))
    assert call("hello") == (0, "Hello from a plugin.\n", "")
    for args in ([], ["--help"]):
        out = call(*args)[1]
        assert re.search(r"^  hello +Say hello\.$", out, re.MULTILINE)
        assert re.search(r"^  solve +Decompose", out, re.MULTILINE)


def test_a_plugin_file_may_add_a_command(call, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import click\nimport bregopt\n\n"
        "@bregopt.hookimpl\n"
        "def bregopt_commands(cli):\n"
        "    @cli.command()\n"
        "    @click.option('--times', default=1)\n"
        "    def hello(times):\n"
        "        click.echo('hello ' * times)\n"
    )
    bregopt.load_plugin(tmp_path / "mine.py")
    assert call("hello", "--times", 2) == (0, "hello hello \n", "")


def test_a_plugin_that_fails_is_named_and_skipped_and_the_others_go_on(call):
    load("broken", fail)
    load("mine", lambda cli: cli.add_command(says("still here")))
    assert call("hello") == (0, "still here\n", warning("broken", "ValueError: no luck"))
    assert call("hello")[2] == ""  # it is told once
    assert "half" not in commands.commands
    assert call("half")[0] == 2


def test_a_name_that_is_taken_is_an_error_that_names_both(call):
    load("first", lambda cli: cli.add_command(says("the first")))
    load("second", lambda cli: cli.add_command(says("the second")))
    why = "the command 'hello' is provided by the plugin 'first' (object first) already."
    assert call("hello") == (0, "the first\n", warning("second", why))


def test_a_command_of_bregopt_cannot_be_replaced(call):
    load("mine", lambda cli: cli.add_command(says("mine", "plugins")))
    code, out, err = call("plugins")
    assert (code, err) == (0, warning("mine", "the command 'plugins' is provided by bregopt already."))
    assert "regularizer" in out


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_leaves_out_what_a_plugin_failed_at(call, tmp_path, flag):
    np.save(tmp_path / "M.npy", M)
    load("broken", fail)
    assert call("solve", tmp_path / "M.npy", "--max-iterations", 1, flag) == (0, "", "")


def test_a_plugin_that_is_gone_takes_its_commands_along(call):
    from bregopt.host.compose import host

    load("mine", lambda cli: cli.add_command(says("here")))
    assert call("hello")[0] == 0
    host.cache_clear()
    code, out, err = call("hello")
    assert (code, out) == (2, "")
    assert "No such command 'hello'" in err


def test_the_version_needs_no_plugins():
    code = (
        "import sys\nfrom bregopt.cli.main import commands\n"
        "commands.main(['--version'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('bregopt_')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"


def add_shelf(cli, name="--shelf", seen=None):
    """An option of ``bregopt solve`` that puts the matrix on a shelf, and notes what happened."""
    seen = [] if seen is None else seen

    @contextmanager
    def opener(value, dashboard):
        seen.append(("open", value, dashboard))
        try:
            yield lambda M: (seen.append(("put", M.shape)), M)[1]
        finally:
            seen.append(("close",))

    cli.commands["solve"].add_place(click.Option([name], help="On a shelf."), opener)


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "M.npy", M)
    return tmp_path / "M.npy"


def test_a_place_is_opened_for_the_run_takes_the_matrix_and_is_closed(call, file):
    seen = []
    load("shelves", lambda cli: add_shelf(cli, seen=seen))
    here = call("solve", file, "--max-iterations", 2)[1]
    assert seen == []
    there = call("solve", file, "--max-iterations", 2, "--shelf", "top")
    assert there[0] == 0
    assert there[1].splitlines()[:5] == here.splitlines()[:5]
    assert seen == [("open", "top", True), ("put", (12, 9)), ("close",)]
    call("solve", file, "--max-iterations", 2, "--shelf", "top", "--json")
    assert seen[3] == ("open", "top", False)  # nothing but JSON is to be said
    lines = [line.split()[0] for line in call("solve", "--help")[1].splitlines() if line.startswith("  --")]
    assert lines.index("--plugin") < lines.index("--shelf") < lines.index("--out")


def test_a_place_is_closed_after_an_error_too(call, file):
    seen = []
    load("shelves", lambda cli: add_shelf(cli, seen=seen))
    assert call("solve", file, "-r", 100, "--shelf", "top")[0] == 2
    assert seen[-1] == ("close",)


def test_a_matrix_lies_in_one_place_only(call, file):
    load("shelves", add_shelf)
    load("boxes", lambda cli: add_shelf(cli, "--box"))
    code, out, err = call("solve", file, "--shelf", "top", "--box", "1")
    assert (code, out) == (2, "")
    assert "The matrix can lie in one place only: give --shelf or --box." in err


@pytest.mark.parametrize("name", ["--dask", "--rank", "-q"])
def test_an_option_that_is_taken_is_refused_and_nothing_is_left_of_the_plugin(call, file, name):
    def twice(cli):
        add_shelf(cli)
        add_shelf(cli, name)

    load("shelves", twice)
    err = call("solve", file, "--max-iterations", 1)[2]
    assert err.startswith("bregopt: warning: The commands of the plugin 'shelves'")
    assert "'bregopt solve' has the option" in err
    assert "No such option" in call("solve", file, "--shelf", "top")[2]
