"""``bregopt warm-up``: compile before the first run what it would wait for."""

import os
import time
from contextlib import AbstractContextManager, nullcontext

import click

from bregopt.compiled import SWITCH, told_of_compiling, wanted
from bregopt.errors import BregoptError

WIDTH = 48
"""Characters that a label takes."""


@click.command(
    "warm-up",
    short_help="Compile now what a first run would wait for.",
    epilog="Exit codes: 0 everything is ready, 1 a plugin failed, 2 wrong input.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def warm_up(context: click.Context, quiet: bool) -> None:
    """Compile the loops that plugins announce, and keep them on disk for all later runs.

    A run compiles what it needs when it needs it for the first time on a machine, which takes some seconds. This
    command does so beforehand: after an installation, or in the recipe of a container image. What is there already is
    not compiled again. The folder is that of NUMBA_CACHE_DIR; by default loops are kept beside their sources, or in
    your home folder if that cannot be written.
    """
    from bregopt.host.compose import warm_ups

    if not wanted():
        raise click.UsageError(f"Compiled loops are switched off by {SWITCH} or NUMBA_DISABLE_JIT: unset it.")
    failed = 0
    for label, work in warm_ups():
        loops: list[str] = []
        begin = time.perf_counter()
        try:
            with _shown(label, quiet), told_of_compiling(loops.append):
                work()
            outcome = f"compiled in {time.perf_counter() - begin:.1f} s" if loops else "ready"
        except BregoptError as error:
            failed = 1
            click.echo(f"{label:<{WIDTH}}failed: {error}", err=True)
            continue
        if not quiet:
            click.echo(f"{label:<{WIDTH}}{outcome}")
    if not quiet:
        click.echo(_where())
    context.exit(failed)


def _shown(label: str, quiet: bool) -> AbstractContextManager[object]:
    """A line on the terminal that says what is being compiled, gone at the end."""
    from bregopt.host.compiling import COMPILING
    from bregopt.host.progress import terminal

    console = None if quiet else terminal()
    return console.status(f"{COMPILING}: {label}") if console else nullcontext()


def _where() -> str:
    """The folder of the loops, and their size."""
    from bregopt.compile_cache import folders, kept_bytes

    found = folders()
    if not found:
        return "Nothing could be kept on disk."
    beside = all(folder.name == "__pycache__" for folder in found)
    size = sum(map(kept_bytes, found)) / 2**20
    return f"Kept in {os.path.commonpath(found)}{', beside the sources' if beside else ''}: {size:.1f} MiB"
