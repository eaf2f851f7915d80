"""What this plugin adds: ``bregopt rank`` and ``bregopt weights``, imported only where the command line runs."""

from typing import TYPE_CHECKING

from bregopt import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def bregopt_commands(cli: "click.Group") -> None:
    from bregopt_selection.commands import rank, weights

    cli.add_command(rank)
    cli.add_command(weights)
