"""The command ``bregopt``: its own commands, those of plugins, and how what goes wrong is told."""

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, TextIO, final

import click

import bregopt
from bregopt.cli.check import check
from bregopt.cli.new import new
from bregopt.cli.plugins import plugins
from bregopt.cli.problem import MoreDataError
from bregopt.cli.report import compare, report
from bregopt.cli.resume import resume
from bregopt.cli.solve import solve
from bregopt.cli.warm_up import warm_up
from bregopt.errors import BregoptError, BregoptWarning, DuplicateNameError, PluginWarning
from bregopt.part_errors import part_error

INTERRUPTED = 130
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
OWN = (solve, resume, report, compare, plugins, check, new, warm_up)
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What a write to a full disk, or to what is closed, ends with; click sees to closed pipes."""


@final
class Commands(click.Group):
    """The commands of bregopt and of the plugins, which are loaded when a command is first looked up or listed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._owners: dict[str, str] = {}
        self._owner = "bregopt"
        self._asked: Mapping[str, Callable[..., object]] | None = None

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._ask_plugins()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        self._ask_plugins()
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if any(arg == "--quiet" or arg.startswith("-q") for arg in args):
            warnings.simplefilter("ignore")  # before plugins are loaded, and so before the command reads its options
        return super().resolve_command(ctx, args)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Take in a command; a name that is taken is an error."""
        key = name or cmd.name or ""
        if key in self.commands:
            raise DuplicateNameError(f"the command '{key}' is provided by {self._owners[key]} already.")
        super().add_command(cmd, name)
        self._owners[key] = self._owner

    def _ask_plugins(self) -> None:
        """Let each plugin add its commands; one that fails is reported, and adds nothing."""
        from bregopt.host.compose import command_hooks

        hooks = command_hooks()
        if hooks == self._asked:
            return
        self._asked = hooks
        self._owner, self.commands, self._owners = "bregopt", {}, {}
        for command in OWN:
            self.add_command(_copied(command))
        for label, add_commands in hooks.items():
            before = {name: _copied(command) for name, command in self.commands.items()}, dict(self._owners)
            self._owner = f"the {label}"
            try:
                add_commands(cli=self)
            except (Exception, SystemExit) as error:
                self.commands, self._owners = before
                why = str(error) if isinstance(error, BregoptError) else f"{type(error).__name__}: {error}"
                warnings.warn(f"The commands of the {label} are left out: {why}", PluginWarning, stacklevel=2)


def _copied(command: click.Command) -> click.Command:
    """The command with a list of parameters of its own, so that what a plugin adds can be undone."""
    twin = copy(command)
    twin.params = list(command.params)
    return twin


@click.group(cls=Commands, context_settings=SETTINGS, invoke_without_command=True)
@click.version_option(bregopt.__version__, prog_name="bregopt")
@click.pass_context
def commands(context: click.Context) -> None:
    """Decompose matrices into factors of low rank, with regularizers, kernels and methods that are plugins.

    \b
    Examples:
      bregopt solve                                  a built-in matrix, to see it work
      bregopt solve data.mtx -r 20 -U 'l1(0.01)'     your matrix, rank 20, a sparse U

    'bregopt COMMAND --help' explains a command; 'bregopt plugins' lists what its options can name.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit; what can be foreseen to go wrong is one line on stderr, without a traceback."""
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # formulas, on a terminal without Unicode
    with warnings.catch_warnings():
        warnings.simplefilter("always", BregoptWarning)
        warnings.showwarning = _warn
        sys.exit(_code(args))


def _nowhere() -> TextIO:
    """In place of a stream that the shell closed, as ``>&-`` does."""
    return open(os.devnull, "w", encoding="utf-8")


def _code(args: Sequence[str] | None) -> int:
    try:
        code = commands.main(args, prog_name="bregopt", standalone_mode=False) or 0
        sys.stdout.flush()
        return code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "bregopt"
        return _fail(f"{error.format_message()} Try '{path} --help'.")
    except (BregoptError, MemoryError, click.ClickException) as error:
        return _fail(str(error) or type(error).__name__, error.lines if isinstance(error, MoreDataError) else ())
    except click.Abort:
        _say("interrupted", "Ctrl-C ended the command.")
        return INTERRUPTED
    except OSError as error:
        if error.errno not in UNWRITTEN or error.filename is not None:
            return _foreign(error)
        _discard(sys.stdout)
        return _fail(f"The output cannot be written: {error.strerror}.")
    except Exception as error:
        return _foreign(error)


def _foreign(error: Exception) -> int:
    """What a command or an option of a plugin raised; what bregopt itself did is raised again."""
    known = part_error(error)
    if known is None:
        raise error
    return _fail(str(known))


def _discard(stream: TextIO) -> None:
    """Let go what the stream still holds: Python would try to write it once more at its end."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _fail(message: str, lines: Sequence[str] = ()) -> int:
    _say("error", message, lines)
    return 2


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say("warning", str(message))


def _say(label: str, message: str, lines: Sequence[str] = ()) -> None:
    """One line on stderr, and below it lines that a person may copy."""
    try:
        click.echo("\n    ".join([f"bregopt: {label}: {' '.join(message.split())}", *lines]), err=True)
    except OSError:
        _discard(sys.stderr)


if __name__ == "__main__":
    main()
