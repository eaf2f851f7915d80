"""``bregopt check``: the conformance checks of parts, with counterexamples."""

import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bregopt.cli.plugins import PIPED_WIDTH

if TYPE_CHECKING:
    from rich.console import Console

    from bregopt.testing.instances import Instance
    from bregopt.testing.outcomes import Report

COLOURS = {"passed": "green", "failed": "bold red", "expected": "yellow", "not-applicable": "dim"}


@click.command(
    short_help="Check a part, or the parts in a plugin file.",
    epilog="Exit codes: 0 every check passed, 1 a check failed, 2 wrong input.",
)
@click.argument("target", metavar="NAME_OR_FILE", required=False)
@click.option("--all", "everything", is_flag=True, help="Check every example of every plugin.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="For random points.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "badge_file",
    "--badge",
    metavar="FILE.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a picture that says how many checks passed, and print the Markdown that shows it.",
)
@click.pass_context
def check(
    context: click.Context, target: str | None, everything: bool, seed: int, as_json: bool, badge_file: Path | None
) -> None:
    """Try every claim of the part NAME, or of the parts that FILE.py registers.

    NAME is one that 'bregopt plugins' lists, or kind:name; it is checked with its default parameters and with the
    examples of its plugin. A part that fails comes with a counterexample: Python that can be pasted.

    \b
    Examples:
      bregopt check l1
      bregopt check my_regularizer.py
      bregopt check row-sparse --badge badge.svg     for the README of your plugin
      bregopt check --all
    """
    from bregopt.cli.badge import check_place
    from bregopt.host.progress import terminal
    from bregopt.testing.check import check as run
    from bregopt.testing.instances import every_example, in_file, named

    if everything == (target is not None):
        raise click.UsageError("Give the name of a part, a plugin file or --all.")
    if badge_file is not None:
        check_place(badge_file)
    instances = every_example() if target is None else in_file(target) if target.endswith(".py") else named(target)
    rows = []
    with _showing(None if as_json else terminal()) as show:
        for instance in instances:
            show(f"checking {instance.label}")
            begin = time.perf_counter()
            rows.append((instance, run(instance.part, seed=seed), time.perf_counter() - begin))
    shown = None if badge_file is None else _written(badge_file, [report for _, report, _ in rows])
    if as_json:
        found = {"seed": seed, "parts": [_as_json(*row) for row in rows]} | ({} if shown is None else {"badge": shown})
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print(rows, brief=everything)
        if shown is not None:
            click.echo(f"The badge is in {badge_file}. Show it in a README beside it by\n  {shown}")
    context.exit(0 if all(report.ok for _, report, _ in rows) else 1)


def _written(file: Path, reports: Sequence["Report"]) -> str:
    """Write the badge of these reports, and return the Markdown that shows it."""
    from bregopt.cli.badge import badge
    from bregopt.engine.checkpoint import write_file
    from bregopt.testing.outcomes import Status

    told = (Status.PASSED, Status.FAILED, Status.EXPECTED)
    made = badge(*(sum(report.counts[status] for report in reports) for status in told))
    write_file(file, lambda handle: handle.write(made.svg().encode()))
    return made.markdown(file)


@contextmanager
def _showing(console: "Console | None") -> Iterator[Callable[[str], object]]:
    """A line on the terminal that says what is being done, gone at the end."""
    if console is None:
        yield lambda text: None
        return
    with console.status("checking") as status:
        yield status.update


def _as_json(instance: "Instance", report: "Report", seconds: float) -> dict[str, Any]:
    from attrs import asdict

    outcomes = [asdict(outcome) for outcome in report.outcomes]
    known = {"kind": instance.kind, "label": instance.label, "part": report.part, "setup": instance.code}
    return {**known, "ok": report.ok, "seconds": round(seconds, 3), "outcomes": outcomes}


def _print(rows: Sequence[tuple["Instance", "Report", float]], brief: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    if brief:
        table = Table("kind", "part", *COLOURS, "seconds", box=box.SIMPLE_HEAD)
        for instance, report, seconds in rows:
            counts = [Text(str(n or ""), COLOURS[status]) for status, n in report.counts.items()]
            table.add_row(instance.kind, instance.label, *counts, f"{seconds:.1f}")
        console.print(table)
    for instance, report, _ in [] if brief else rows:
        table = Table("check", "verdict", "", box=box.SIMPLE_HEAD, title=f"{instance.label}: {report.part}")
        for outcome in report.outcomes:
            table.add_row(outcome.name, Text(outcome.status, COLOURS[outcome.status]), outcome.message)
        console.print(table)
    for instance, report, _ in rows:
        for outcome in report.failures:
            click.echo(f"FAILED {instance.label}  {outcome.name}\n  {outcome.message}")
            if outcome.counterexample:
                setup = "import bregopt as bo\n" + instance.code
                click.echo(textwrap.indent(f"{setup}\n{outcome.counterexample}", "    "))
    failed = sum(len(report.failures) for _, report, _ in rows)
    total = sum(len(report.outcomes) for _, report, _ in rows)
    click.echo(f"{len(rows)} {'part' if len(rows) == 1 else 'parts'}, {total} checks, {failed} failed.")
