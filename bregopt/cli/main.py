"""The command ``bregopt``: the list of commands, and how what goes wrong is told."""

import io
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

import bregopt
from bregopt.cli.bench import bench
from bregopt.cli.check import check
from bregopt.cli.new import new
from bregopt.cli.plugins import plugins
from bregopt.cli.solve import solve
from bregopt.errors import BregoptError, PluginWarning

INTERRUPTED = 130
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=SETTINGS, invoke_without_command=True)
@click.version_option(bregopt.__version__, prog_name="bregopt")
@click.pass_context
def commands(context: click.Context) -> None:
    """Decompose sparse non-negative matrices: M ≈ max(0, UV) with U and V of low rank.

    \b
    Examples:
      bregopt solve                                  a built-in matrix, to see it work
      bregopt solve data.mtx -r 20 -U 'l1(0.01)'     your matrix, rank 20, a sparse U

    'bregopt COMMAND --help' explains a command; 'bregopt plugins' lists what its options can name.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


commands.add_command(solve)
commands.add_command(plugins)
commands.add_command(check)
commands.add_command(new)
commands.add_command(bench)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit; what can be foreseen to go wrong is one line on stderr, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # formulas, on a terminal without Unicode
    with warnings.catch_warnings():
        warnings.simplefilter("always", PluginWarning)
        warnings.showwarning = _warn
        sys.exit(_code(args))


def _code(args: Sequence[str] | None) -> int:
    try:
        return commands.main(args, prog_name="bregopt", standalone_mode=False) or 0
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "bregopt"
        return _fail(f"{error.format_message()} Try '{path} --help'.")
    except (BregoptError, MemoryError, click.ClickException) as error:
        return _fail(str(error) or type(error).__name__)
    except click.Abort:
        _say("interrupted", "Ctrl-C ended the command.")
        return INTERRUPTED


def _fail(message: str) -> int:
    _say("error", message)
    return 2


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say("warning", str(message))


def _say(label: str, message: str) -> None:
    click.echo(f"bregopt: {label}: {' '.join(message.split())}", err=True)


if __name__ == "__main__":
    main()
