"""``bregopt bench export``: the race as a folder that benchopt runs, with peers of other libraries."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import bregopt
from bregopt.errors import FileError
from bregopt.matrices import BUILT_IN
from bregopt_bench.race.command import DEFAULT_MATRIX
from bregopt_bench.race.entrants import DEFAULT, OTHER_LIBRARIES, SMOOTH, check_names

BENCHMARK = Path(__file__).parent / "benchmark"
"""What is copied: an objective, data sets and solvers, each a file that imports benchopt."""
CONFIG = "race.yml"
METHODS = tuple(name for name in (*SMOOTH, *DEFAULT) if name not in OTHER_LIBRARIES)
OF_NMF = ("scikit-learn", "NumPy HALS")
"""Solvers of the folder that know one model only."""


@click.command(short_help="The race as a folder for the tool benchopt.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("matrices", metavar="[MATRIX]...", nargs=-1)
@click.option(
    "--problem",
    "model",
    type=click.Choice(["relu-nmd", "nmf"]),
    default="relu-nmd",
    show_default=True,
    help="What is solved.",
)
@click.option(
    "-r", "--rank", "ranks", metavar="N", type=click.IntRange(1), multiple=True, help="Repeat for more.  [default: 10]"
)
@click.option(
    "--ridge", metavar="ETA", type=click.FloatRange(0), default=0.1, show_default=True, help="H on both factors."
)
@click.option("--method", "methods", metavar="SPEC", multiple=True, help="Repeat for more.  [default: as in the race]")
def export(
    folder: Path, matrices: Sequence[str], model: str, ranks: Sequence[int], ridge: float, methods: Sequence[str]
) -> None:
    """Write a benchmark for benchopt, the tool of the community, into the new folder DIR.

    It has an objective, data sets and solvers: every method of bregopt, NMF of scikit-learn, L-BFGS-B of scipy, and a
    loop in NumPy. race.yml names those that take part. MATRIX is as for 'bregopt bench race'; every matrix is made
    dense, as the peers take no other.

    \b
    Examples:
      bregopt bench export my-race
      bregopt bench export my-race faces.npy --problem nmf -r 20 --method auto --method hals
      benchopt run my-race --config my-race/race.yml           needs 'bregopt[benchopt]'
    """
    check_names(methods, ())
    settings = config(matrices or (DEFAULT_MATRIX,), model, ranks or (10,), ridge, methods or METHODS)
    write(folder, settings)
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    click.echo("\n  ".join([f"Written to {folder}:", *written]))
    click.echo(f"\nNext:\n  benchopt run {folder} --config {folder / CONFIG}")


def config(
    matrices: Sequence[str], model: str, ranks: Sequence[int], ridge: float, methods: Sequence[str]
) -> Mapping[str, Any]:
    """What race.yml says: who takes part, on what, and for how long."""
    peers = ["L-BFGS-B", *(OF_NMF if model == "nmf" else ())]
    return {
        "objective": [{"Low rank": {"model": [model], "rank": list(ranks), "ridge": [ridge]}}],
        "dataset": [{"Matrix": {"which": [place(matrix) for matrix in matrices]}}],
        "solver": [{"bregopt": {"method": list(methods)}}, *peers],
        "n-repetitions": 1,
        "max-runs": 100,
        "timeout": 60,
    }


def place(matrix: str) -> str:
    """A built-in's spec as it is, or the path of a file, which is read wherever benchopt runs."""
    if bregopt.parse_spec(matrix).name in BUILT_IN if "(" in matrix else matrix in BUILT_IN:
        return matrix
    path = Path(matrix).resolve()
    if not path.exists():
        raise FileError(f"The matrix {matrix!r} is neither one of {', '.join(BUILT_IN)} nor a file that exists.")
    return str(path)


def write(folder: Path, settings: Mapping[str, Any]) -> None:
    """The folder, which must be a new one."""
    if os.path.lexists(folder):
        raise FileError(f"{str(folder)!r} exists already. Choose another folder.")
    try:
        shutil.copytree(BENCHMARK, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = json.dumps(settings, indent=2, ensure_ascii=False)  # which is YAML too
        (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{str(folder)!r} cannot be written: {error.strerror or error}.") from error
