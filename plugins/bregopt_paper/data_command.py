"""``bregopt data``: which data sets there are, where their files lie, and whether they are what they should be."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import bregopt as bo
from bregopt.errors import BregoptError, IncompatibleError, UnknownNameError
from bregopt_paper.datasets import checks
from bregopt_paper.datasets.dataset import Dataset, MissingDataError
from bregopt_paper.datasets.facts import FACTS, Facts
from bregopt_paper.datasets.files import cache, find, locate, places

WRONG, MISSING = 1, 3
"""Exit codes."""
COLOURS = {"there": "green", "ok": "green", "missing": "yellow", "wrong": "red", "generated": "none"}
NARROW = 100
"""Columns of a terminal below which the table leaves the provenance out of its columns."""


@click.group(invoke_without_command=True)
@click.pass_context
def data(context: click.Context) -> None:
    """List, find and check the data sets of the paper.

    The files of most of them are not part of bregopt. They are looked for in the folder that the variable BREGOPT_DATA
    names, then in the cache of the user. Nothing is downloaded unless you ask for it.

    \b
    Examples:
      bregopt data list                              what there is, and what is missing
      bregopt data path coil20                       where its file lies
      bregopt data check                             compare every one with its checksum and figures
      bregopt data fetch netz4504-dual               download what has an official address

    In Python, bo.make("dataset", "coil20") gives the matrix .M and the classes .labels.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@data.command("list", short_help="List the data sets.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """List the data sets: shape, non-zeros, classes, and whether the files are there.

    The figures of a generated one are those of its default parameters.
    """
    rows = [_row(name, summary) for name, summary in _names().items()]
    if as_json:
        found = {"places": [str(folder) for folder in places()], "datasets": rows}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif sys.stdout.isatty():
        _print_table(rows)
    else:
        _print_plain(rows)


@data.command(
    short_help="Print where the files of a data set lie.",
    epilog="Exit codes: 0 it is there, 2 wrong input, 3 it is missing.",
)
@click.argument("name")
@click.pass_context
def path(context: click.Context, name: str) -> None:
    """Print where the files of the data set NAME lie, one in a line."""
    facts = _with_files(name)
    try:
        found = [locate(file, name, facts.source) for file in facts.files]
    except MissingDataError as error:
        click.echo(f"bregopt: error: {error}", err=True)
        context.exit(MISSING)
    for it in found:
        click.echo(it)


@data.command(
    short_help="Compare data sets with what is known of them.",
    epilog="Exit codes: 0 all is well, 1 something is wrong, 2 wrong input, 3 something is missing.",
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def check(context: click.Context, names: Sequence[str]) -> None:
    """Read the data sets NAME, or all of them, and compare checksum, shape, non-zeros and classes with what is known.

    Generated ones are made with their default parameters.
    """
    chosen = [_known(name) for name in names] or list(_names())
    width = max(map(len, chosen))
    colour = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    seen = set()
    for name in chosen:
        verdict, told = _verdict(name)
        seen.add(verdict)
        shown = click.style(f"{verdict:7}", fg=COLOURS[verdict], bold=verdict == "wrong")
        click.echo(f"{name:{width}}  {shown}  {told}", color=colour)
    context.exit(WRONG if "wrong" in seen else MISSING if "missing" in seen else 0)


@data.command(short_help="Download the files of a data set.")
@click.argument("name")
def fetch(name: str) -> None:
    """Download the files of the data set NAME from the address of their publisher, and compare their checksums.

    They go into the cache of the user. Files that are there are left alone. mnist, mnist-1000 and netz4504-dual have
    such an address; mnist has a mirror too, for when the first does not answer. This command was tried with a
    server of its own, not with the real addresses. It needs pooch.

    BREGOPT_DATA_DOWNLOAD=1 lets every use of a data set download what is missing.
    """
    from bregopt_paper.datasets.download import download

    facts = _with_files(name)
    for file in facts.files:
        found = find(file)
        if found is None and not file.addresses:
            raise IncompatibleError(
                f"{file.path} has no address to download it from. Get it from {facts.source} and save it as "
                f"{cache() / file.path}."
            )
        if found is None:
            click.echo(f"Downloading {file.path} …", err=True)
        click.echo(found or download(file))


def _names() -> dict[str, str]:
    """Every registered data set with its summary: the paper's in the order of the table, then those of others."""
    found = {entry.name: entry.summary for entry in bo.catalog("dataset")}
    order = [*(name for name in FACTS if name in found), *(name for name in found if name not in FACTS)]
    return {name: found[name] for name in order}


def _known(name: str) -> str:
    if name not in _names():
        raise UnknownNameError(f"There is no data set named '{name}'. There are {', '.join(_names())}.")
    return name


def _with_files(name: str) -> Facts:
    facts = FACTS.get(_known(name))
    if facts is None or not facts.files:
        raise IncompatibleError(f"The data set '{name}' is generated: it has no file.")
    return facts


def _row(name: str, summary: str) -> dict[str, Any]:
    """What is known of a data set, for a table or for JSON."""
    facts = FACTS.get(name)
    if facts is None:
        return {"name": name, "shape": None, "nonzero_percent": None, "classes": None, "status": "generated",
                "files": [], "provenance": summary.replace("``", ""), "source": None}  # fmt: skip
    files = [{"path": file.path, "at": _text(find(file))} for file in facts.files]
    there = "there" if all(file["at"] for file in files) else "missing"
    return {
        "name": name,
        "shape": facts.shape,
        "nonzero_percent": round(facts.percent, 4),
        "classes": facts.classes,
        "status": there if files else "generated",
        "files": files,
        "provenance": facts.provenance,
        "source": facts.source or None,
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _cells(row: dict[str, Any]) -> list[str]:
    shape = "–" if row["shape"] is None else "×".join(map(str, row["shape"]))
    percent = "–" if row["nonzero_percent"] is None else f"{row['nonzero_percent']:.4g}"
    classes = "–" if row["classes"] is None else str(row["classes"])
    return [row["name"], shape, percent, classes, row["status"], row["provenance"]]


HEADINGS = ("name", "shape", "non-zero %", "classes", "files", "what it is")
TO_THE_RIGHT = ("shape", "non-zero %", "classes")


def _print_plain(rows: Sequence[dict[str, Any]]) -> None:
    """A line for each data set, however long."""
    cells = [list(HEADINGS), *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    for line in cells:
        padded = [
            f"{text:>{width}}" if heading in TO_THE_RIGHT else f"{text:{width}}"
            for text, width, heading in zip(line, widths, HEADINGS, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(markup=False, emoji=False, highlight=False)
    headings = HEADINGS if console.width >= NARROW else HEADINGS[:-1]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in TO_THE_RIGHT else "left", no_wrap=heading != HEADINGS[-1]
        )
    for row in rows:
        *start, status, told = _cells(row)
        table.add_row(*start, Text(status, COLOURS[status]), *[told][: len(headings) - len(start) - 1])
    console.print(table)
    looked = " and ".join(str(folder) for folder in places())
    console.print(f"Files are looked for in {looked}.", soft_wrap=True)
    if any(row["status"] == "missing" for row in rows):
        console.print("'bregopt data path NAME' says where to get a file that is missing.", soft_wrap=True)
    if headings != HEADINGS:
        console.print("A wider terminal, or --json, shows where each comes from.", soft_wrap=True)


def _verdict(name: str) -> tuple[str, str]:
    """ok, wrong or missing, and what was found."""
    facts = FACTS.get(name)
    try:
        dataset: Dataset = bo.make("dataset", name)
    except MissingDataError:
        return "missing", f"'bregopt data path {name}' says what is needed"
    except BregoptError as error:
        return "wrong", str(error)
    faults = [checks.matrix_fault(dataset), checks.labels_fault(dataset), checks.provenance_fault(dataset)]
    if facts is None or not facts.files:
        faults.append(checks.again_fault(dataset))
    if facts is not None:
        faults.append(_difference(dataset, facts))
    told = "; ".join(fault for fault in faults if fault)
    return ("wrong", f"{told}.") if told else ("ok", _figures(dataset, facts))


def _difference(dataset: Dataset, facts: Facts) -> str | None:
    """How the figures differ from those that are known, if they do."""
    found = {"shape": dataset.M.shape, "non-zeros": _nonzeros(dataset), "classes": _classes(dataset)}
    known = {"shape": facts.shape, "non-zeros": facts.nonzeros, "classes": facts.classes}
    return (
        "; ".join(f"{key}: {found[key]} instead of {known[key]}" for key in known if found[key] != known[key]) or None
    )


def _figures(dataset: Dataset, facts: Facts | None) -> str:
    m, n = dataset.M.shape
    classes = _classes(dataset)
    told = [f"{m}×{n}", f"{100 * _nonzeros(dataset) / (m * n):.4g} % non-zero"]
    told += [f"{classes} classes"] * (classes is not None)
    told += ["SHA-256 as known"] * bool(facts and facts.files)
    return ", ".join(told)


def _nonzeros(dataset: Dataset) -> int:
    import numpy as np

    M = dataset.M
    return int(np.count_nonzero(M) if isinstance(M, np.ndarray) else M.count_nonzero())


def _classes(dataset: Dataset) -> int | None:
    return None if dataset.labels is None else int(dataset.labels.max()) + 1
