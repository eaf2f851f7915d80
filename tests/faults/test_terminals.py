"""The command line on odd terminals, and on none."""

from functools import partial

import pytest
from children import finish, run, start
from terminals import shown_on_a_terminal

SOLVE = ("solve", "--max-iterations", 2)
COMMANDS = [SOLVE, ("plugins",), ("--help",), ("solve", "--help"), ("check", "l1"), (*SOLVE, "--json")]
LOCALE = ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONIOENCODING", "PYTHONUTF8")


def on_a_terminal(*args, **env):
    """What the command shows on a terminal, and its code."""
    process, shown = shown_on_a_terminal(partial(start, *args, env=env))
    return finish(process).code, shown


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: " ".join(map(str, args)))
def test_without_a_terminal_nothing_but_text_is_printed(args):
    done = run(*args)
    assert (done.code, done.err) == (0, "")
    assert not set("\x1b\r\b") & set(done.out)


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "no_such.locale"])
@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: " ".join(map(str, args)))
def test_a_locale_without_unicode_costs_no_traceback(args, locale):
    done = run(*args, without=LOCALE, env={"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_summary_keeps_to_the_width_of_the_terminal(columns):
    done = run(*SOLVE, env={"COLUMNS": str(columns)})
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= columns


@pytest.mark.parametrize("columns", ["", "0", "1", "-5", "wide", "10000000"])
def test_a_width_that_is_none_is_no_error(columns):
    done = run(*SOLVE, env={"COLUMNS": columns})
    assert (done.code, done.err) == (0, "")


def test_a_dumb_terminal_gets_no_escapes():
    code, shown = on_a_terminal("solve", "--max-seconds", 1, TERM="dumb")
    assert code == 0
    assert "\x1b" not in shown
    assert "Objective" in shown


@pytest.mark.parametrize("term", ["", "unknown", "xterm-256color"])
def test_any_other_terminal_shows_the_summary(term):
    code, shown = on_a_terminal("solve", "--max-seconds", 1, TERM=term)
    assert code == 0
    assert "Objective" in shown
