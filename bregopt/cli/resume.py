"""``bregopt resume``: go on with a run from its folder."""

import json
import warnings
from pathlib import Path
from typing import Any, cast

import click

from bregopt.cli.run import RECORD, row
from bregopt.cli.solve import COMMAND, PATH, SolveCommand, run_command
from bregopt.engine.checkpoint import checkpoints_in, read_last
from bregopt.errors import FileError


@click.command(
    "resume",
    short_help="Go on with a run that was interrupted or killed.",
    epilog="Exit codes: as of 'bregopt solve'.",
)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
@click.pass_context
def resume(context: click.Context, folder: Path, quiet: bool, no_progress: bool) -> None:
    """Go on with the run in DIR, the folder that 'bregopt solve --out DIR' was given, to its end.

    It ends as it would have ended without the break, bit for bit on the same machine. The data are read again; other
    data, another version of bregopt, or a missing plugin are refused. If the run has ended, its summary is printed.
    """
    if not checkpoints_in(folder) and (folder / RECORD).is_file():
        show_record(folder / RECORD, quiet)
        return
    read_last(folder)  # says what is missing or damaged, before the data are read
    if quiet:
        warnings.simplefilter("ignore")
    solve = cast(click.Group, context.parent.command if context.parent else None).get_command(context, "solve")
    params = read_command(cast(SolveCommand, solve), folder)
    params |= {"out": folder, "quiet": quiet, "no_progress": no_progress or params["no_progress"]}
    run_command(cast(SolveCommand, solve), params, resuming=True)


def show_record(path: Path, quiet: bool) -> None:
    """Print the summary of a run that has ended."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["summary"].items()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise FileError(f"The record {str(path)!r} is damaged: {error!r}.") from None
    if not quiet:
        click.echo("\n".join(row(str(label), str(text)) for label, text in rows))


def read_command(command: SolveCommand, folder: Path) -> dict[str, Any]:
    """The parameters that the run in a folder was started with."""
    path = folder / COMMAND
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        given = {name: value for name, value in record.items() if value is not None}
    except (OSError, ValueError, AttributeError) as error:
        raise FileError(
            f"{str(path)!r}, which says how the run was started, cannot be read: {error}. "
            "A run that was started in Python goes on by bregopt.resume(folder)."
        ) from None
    known = {param.name: param for param in command.params}
    if unknown := [name for name in given if name not in known]:
        raise FileError(f"The run was started with {', '.join(unknown)}, of a plugin that is missing here.")
    context = click.Context(command)
    return {name: param.type_cast_value(context, given.get(name)) for name, param in known.items() if name}
