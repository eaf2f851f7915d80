"""``bregopt report`` and ``bregopt compare``: runs that were written to folders, as a page, a table and a picture."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

import bregopt
from bregopt.errors import FileError

if TYPE_CHECKING:
    from bregopt.engine.result import Result

PATH = click.Path(path_type=Path)


@click.command("report", short_help="Write a page about a run.", epilog="Exit codes: 0 written, 2 wrong input.")
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("-o", "--out", metavar="FILE", type=PATH, help="The page.  [default: DIR/report.html]")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def report(folder: Path, out: Path | None, quiet: bool) -> None:
    """Write a page about the run in DIR, the folder of 'bregopt solve --out DIR', or in a file of result.save.

    The page is one HTML file that needs no network: the answer, the curves, the factors as pictures, what each
    component is made of, the certificate and the settings. Drawing needs matplotlib: pip install 'bregopt[plot]'.
    """
    written = bregopt.report(folder, out or (folder if folder.is_dir() else folder.parent) / "report.html")
    if not quiet:
        click.echo(str(written))


@click.command(
    "compare", short_help="Runs side by side: a table and a picture.", epilog="Exit codes: 0 fine, 2 wrong input."
)
@click.argument("folders", type=PATH, metavar="DIR...", nargs=-1, required=True)
@click.option("--plot", metavar="FILE", type=PATH, help="Draw the curves of all runs by time, as .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of the table.")
def compare(folders: tuple[Path, ...], plot: Path | None, as_json: bool) -> None:
    """Compare the runs in the folders DIR, which 'bregopt solve --out DIR' has written, or in files of result.save.

    \b
    Example:
      bregopt compare run1 run2 run3 --plot runs.png
    """
    from bregopt.reports.comparison import compared, differing, text_table

    check_pictures(plot=plot)
    names = [folder.name if [it.name for it in folders].count(folder.name) == 1 else str(folder) for folder in folders]
    if len(set(names)) < len(names):
        raise FileError("A run is named twice: give each folder once.")
    results = {name: bregopt.load(folder) for name, folder in zip(names, folders, strict=True)}
    rows = compared(results)
    if as_json:
        finite = [{key: _plain(value) for key, value in it.items()} for it in rows]
        click.echo(json.dumps(finite, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        click.echo("\n".join(filter(None, [text_table(rows), differing(results)])))
    if plot is not None:
        bregopt.plot(results, plot)
        click.echo(f"Drawn: {plot}", err=as_json)


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- for 'bregopt solve'


def check_pictures(*, plot: Path | None = None, report: Path | None = None) -> None:
    """Refuse, before the run, pictures that cannot be drawn or written."""
    if plot is None and report is None:
        return
    from bregopt.reports.drawing import SUFFIXES, check_file, matplotlib

    matplotlib()
    if plot is not None:
        check_file(plot, SUFFIXES)
    if report is not None:
        check_file(report, (".html", ".htm"))


def draw(
    result: "Result", settings: Mapping[str, str], *, plot: Path | None = None, report: Path | None = None
) -> list[Path]:
    """The pictures that were asked for; the files written."""
    if plot is not None:
        bregopt.plot(result, plot)
    if report is not None:
        bregopt.report(result, report, settings=settings)
    return [path for path in (plot, report) if path is not None]
