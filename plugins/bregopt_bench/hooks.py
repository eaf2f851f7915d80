"""What this plugin adds: the command ``bregopt bench``, imported only where the command line runs."""

from typing import TYPE_CHECKING

from bregopt import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def bregopt_commands(cli: "click.Group") -> None:
    from bregopt_bench.commands import bench

    cli.add_command(bench)
