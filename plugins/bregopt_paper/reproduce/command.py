"""``bregopt reproduce``: the paper's experiments, run anew."""

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

import bregopt
from bregopt.errors import BregoptError
from bregopt_paper.experiments.experiment import Experiment, Section
from bregopt_paper.reproduce.records import Records
from bregopt_paper.reproduce.report import Chapter, write_report
from bregopt_paper.reproduce.runner import Outcome, Show, finished, run_tasks

ALL = "all"
FAILED, MISSING, INTERRUPTED = 1, 3, 130
NOTES = 3
"""Records made anew that are told of one by one."""
PACKAGES = ("bregopt", "numpy", "scipy", "numba", "matplotlib", "scikit-learn")


def experiments(seeds: int) -> dict[str, Callable[[], Experiment]]:
    """By name, in the order of the paper; imported when they are made."""

    def clustering() -> Experiment:
        from bregopt_paper.experiments.clustering import Clustering

        return Clustering()

    def compression() -> Experiment:
        from bregopt_paper.experiments.compression import Compression

        return Compression()

    def synthetic() -> Experiment:
        from bregopt_paper.experiments.synthetic import Synthetic

        return Synthetic(seeds)

    def l1() -> Experiment:
        from bregopt_paper.experiments.l1 import L1

        return L1(seeds)

    return {"clustering": clustering, "compression": compression, "synthetic": synthetic, "l1": l1}


NAMES = tuple(experiments(1))


@click.command(
    short_help="Run the paper's experiments anew, and write a report.",
    epilog="Exit codes: 0 all was run, 1 a task failed, 2 wrong input, 3 data are missing, 130 Ctrl-C.",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=click.Choice([*NAMES, ALL]))
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduced"),
    show_default=True,
    help="Where records, tables, figures and report.html go.",
)
@click.option("--quick", is_flag=True, help="Small generated data, and seconds instead of minutes.")
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Random starts of each method in 'synthetic' and 'l1'.",
)
@click.pass_context
def reproduce(context: click.Context, /, names: Sequence[str], out: Path, quick: bool, seeds: int) -> None:
    """Run experiments of the paper anew, and tell in one report what was and what was not reproduced.

    NAME is clustering, compression, synthetic, l1, or all. 'bregopt data list' shows the data sets and where their
    files are looked for; an experiment without its files is left out, and the report says so. What is finished is kept
    in DIR: the same command goes on where a killed one was, and runs nothing twice. An earlier experiment in DIR stays
    in the report.

    \b
    Examples:
      bregopt reproduce all --quick                  a minute, without any file
      BREGOPT_DATA=~/data bregopt reproduce l1       netz4504-dual, mycielskian11 and MNIST; 25 minutes on two cores
    """
    _check_packages()
    asked = [name for name in NAMES if name in names or ALL in names]
    kept = Records(out / "records" / "quick" if quick else out / "records")
    made = {name: make() for name, make in experiments(seeds).items() if name in asked or kept.has(name)}
    outcomes: dict[str, Outcome] = {}
    with _progress() as show:
        for name, experiment in made.items():
            tasks = experiment.tasks(quick)
            stopped = any(outcome.interrupted for outcome in outcomes.values())
            run = name in asked and not stopped
            outcomes[name] = run_tasks(tasks, kept, show) if run else finished(tasks, kept)
        show("writing the report", 1.0)
        chapters = [_chapter(made[name], outcome, quick) for name, outcome in outcomes.items()]
        faults = write_report(out, chapters, _facts(seeds, quick), quick)
    for fault in faults:
        click.echo(f"bregopt: {fault}", err=True)
    click.echo(f"The report is {out / 'report.html'}")
    context.exit(_say_what_lacks(outcomes) or (FAILED if faults else 0))


def _check_packages() -> None:
    """Refuse, before anything is run, what could not be drawn or measured."""
    absent = [
        name for module, name in (("matplotlib", "matplotlib"), ("sklearn", "scikit-learn")) if not _there(module)
    ]
    if absent:
        raise click.ClickException(
            f"'bregopt reproduce' needs {' and '.join(absent)}, not installed here. Install 'bregopt[paper]'."
        )


def _there(module: str) -> bool:
    return sys.modules.get(module) is not None or (module not in sys.modules and find_spec(module) is not None)


def _chapter(experiment: Experiment, outcome: Outcome, quick: bool) -> Chapter:
    """The section of an experiment; one that cannot be told says why, and its records stay."""
    tasks = experiment.tasks(quick)
    try:
        section = experiment.section(outcome.records, quick)
    except Exception as error:  # one section must not cost the report
        why = str(error) if isinstance(error, BregoptError) else f"{type(error).__name__}: {error}"
        section = Section(experiment.name, (f"This section could not be made: {why}",))
        outcome.failed[f"{experiment.name}: the section"] = why
    return Chapter(experiment.name, section, tasks, outcome.seconds, outcome.lacking)


def _say_what_lacks(outcomes: Mapping[str, Outcome]) -> int:
    """Say on stderr what was made anew and what was left out, and why; returns the exit code."""
    notes = [note for outcome in outcomes.values() for note in outcome.notes]
    for note in notes[:NOTES]:
        click.echo(f"bregopt: {note}", err=True)
    if len(notes) > NOTES:
        click.echo(f"bregopt: {len(notes) - NOTES} more records were made anew.", err=True)
    for what, kind in (("lacks data", "missing"), ("failed", "failed")):
        for name, outcome in outcomes.items():
            found: dict[str, str] = getattr(outcome, kind)
            for why in dict.fromkeys(found.values()):
                number = sum(it == why for it in found.values())
                click.echo(f"bregopt: {name} {what} ({number} of its tasks): {why}", err=True)
    if any(outcome.interrupted for outcome in outcomes.values()):
        click.echo("bregopt: interrupted: what is finished is kept; the same command goes on.", err=True)
        return INTERRUPTED
    if any(outcome.failed for outcome in outcomes.values()):
        return FAILED
    return MISSING if any(outcome.missing for outcome in outcomes.values()) else 0


@contextmanager
def _progress() -> Iterator[Show]:
    """A bar on a terminal, gone at the end; elsewhere a line for each task."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    streams = (sys.stderr, sys.stdout) if os.environ.get("TERM") != "dumb" else ()
    stream = next((it for it in streams if it.isatty()), None)
    if stream is None:
        yield lambda text, share: click.echo(text)
        return
    columns = (BarColumn(16), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda text, share: bar.update(task, description=text, completed=share)


def _facts(seeds: int, quick: bool) -> dict[str, str]:
    """What the figures depend on beside the settings of the tasks."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = bregopt.__version__ if package == "bregopt" else "not installed"
    return {
        "asked for": f"seeds {', '.join(map(str, range(seeds)))}" + ("; quick" if quick else ""),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "machine": f"{cores} cores, {platform.machine()}, {platform.system()}",
        "unit": "a product is one multiplication of 2·m·n·r flops; “@1000” means 1000 iterations of the paper’s "
        "method, that is 3000 products, for every method",
    }
