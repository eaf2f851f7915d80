"""One run of ``bregopt solve``: its record as JSON values, its summary for people, and its folder on the disk."""

import csv
import json
import math
import os
import platform
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import click
import numpy as np
from attrs import asdict, field, fields, frozen

import bregopt
from bregopt.blocks import Array
from bregopt.engine.certificate import Certificate
from bregopt.engine.checkpoint import FACTORS, draft_in, refuse_unfinished, sync_folder
from bregopt.engine.method import Method
from bregopt.engine.result import Result
from bregopt.engine.saved_result import REST, save_in
from bregopt.errors import FileError
from bregopt.labels import block_lines

RECORD = "run.json"
FILES = (FACTORS, REST, "history.csv", RECORD)
LABEL = 16
"""Characters that a label of the summary takes."""
WIDEST = 100
DETAIL = "model_residual"
"""A figure of the record that the summary leaves out."""


@final
@frozen(kw_only=True)
class AskedProblem:
    """The problem of a run, with the matrix and the specs as the user named them; ``None`` where it takes none."""

    name: str
    matrix: str
    shape: tuple[int, ...]
    nonzeros: int
    missing: int = 0
    """entries that are nan"""
    rank: int | None
    U: str | None
    V: str | None
    kernel: str | None
    parameters: Mapping[str, Any] = field(factory=dict)
    """further ones that were given"""
    words: tuple[str, ...] = ()
    """those of them that the name does not hold, for people"""
    labels: str | None = None
    """what was taken for labels of rows and columns, in words"""


@final
@frozen(eq=False, kw_only=True)
class Run:
    """A finished run."""

    problem: AskedProblem
    method: str
    start: str | None
    seed: int
    result: Result
    signal: int | None = None
    """what interrupted it"""

    def as_json(self) -> dict[str, Any]:
        """The run as JSON values; what is not finite is null."""
        result = self.result
        record = {
            "version": bregopt.__version__,
            "problem": asdict(self.problem, filter=_is_recorded),
            "method": self.method,
            "method_used": _used(result.method),
            "start": self.start,
            "seed": self.seed,
            "objective": result.objective,
            "relative_error": result.metrics.get("relative_error"),
            "model_residual": result.metrics.get("model_residual"),
            "metrics": dict(result.metrics),
            "status": result.status.value,
            "reason": result.reason,
            "converged": result.converged,
            "iterations": result.iterations,
            "seconds": result.seconds,
            "products": result.counts.products,
            "notes": result.notes,
            "certificate": _certificate(result.certificate),
            "starts": [asdict(it) for it in result.starts],
        }
        return {key: plain(value) for key, value in record.items()}


def _is_recorded(attribute: Any, value: Any) -> bool:
    """Whether a record holds a field of the problem: not the words for people, nor labels that there are not."""
    its = fields(AskedProblem)
    return attribute != its.words and not (attribute == its.labels and value is None)


def _used(method: Method) -> str:
    """The method that a run was made with: the one that ``auto`` chose, with its parameters."""
    shown = repr(method)
    return type(method).__name__ if " object at 0x" in shown else shown


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "lyapunov": certificate.lyapunov,
        "rises": certificate.rises,
        "guaranteed": certificate.guaranteed,
        "assumptions": {
            name: {"statement": it.statement, "failed_at": it.failed_at} for name, it in certificate.assumptions.items()
        },
        "largest_norm": certificate.largest_norm,
        "stationarity": certificate.stationarity,
        "subgradient": certificate.subgradient,
        "subgradient_rounding": certificate.subgradient_rounding,
        "relative_subgradient": certificate.relative_subgradient,
        "first_residual": certificate.first_residual,
        "notes": certificate.notes,
    }


def plain(value: Any) -> Any:
    """As JSON can hold it: lists, text for paths, and neither nan nor inf."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def summary(run: Run, *, saved: bool, certificate: bool = False) -> str:
    """The plain answer; then what was solved, how well, why it ended, and what can be said of it."""
    rows = summary_rows(run, certificate=certificate)
    if not saved:
        rows["Answer"] += " Factors were not saved: add --out DIR."
    return "\n".join(row(label, text) for label, text in rows.items())


def summary_rows(run: Run, *, certificate: bool = False) -> dict[str, str]:
    """The summary by its labels; the theorem and its assumptions only where ``certificate`` asks for them."""
    problem, result = run.problem, run.result
    model = {"{}": problem.name, "rank {}": problem.rank, "H on U: {}": problem.U, "H on V: {}": problem.V}
    method: dict[str, object] = {"{}": run.method, "{} kernel": problem.kernel, "{} start": run.start or "default"}
    method |= {"seeds {}": f"{run.seed} to {result.starts[-1].seed}"} if result.starts else {"seed {}": run.seed}
    products, seconds = f"{result.counts.products:g} products", f"{result.seconds:.2f} s"
    work = f"{products} and {seconds} of all starts" if result.starts else f"{products}, {seconds}"
    size, entries = "×".join(map(str, problem.shape)), math.prod(problem.shape)
    missing = f", {100 * problem.missing / entries:.3g} % nan" if problem.missing else ""
    seen = result.certificate
    return {
        "Answer": result.answer,
        "Matrix" if len(problem.shape) == 2 else "Tensor": (
            f"{problem.matrix}, {size}, {100 * problem.nonzeros / entries:.3g} % non-zeros{missing}"
        ),
        **({"Labels": problem.labels} if problem.labels else {}),
        "Model": ", ".join([_listed(model), *problem.words]),
        "Method": _listed(method),
        "Objective": f"{result.objective:.8g}",
        **{
            name.replace("_", " ").capitalize(): f"{value:.4g}"
            for name, value in result.metrics.items()
            if name != DETAIL
        },
        "Stopped": result.reason,
        "Work": f"{result.iterations} iterations, {work}",
        **({"Notes": "\n".join(result.notes)} if result.notes and not certificate else {}),
        "Certificate": seen.summary() if certificate else f"{seen.plain()} More: --certificate.",
    }


def _listed(values: Mapping[str, object]) -> str:
    """Each value in its words, those that there are."""
    return ", ".join(words.format(value) for words, value in values.items() if value is not None)


def row(label: str, text: str) -> str:
    """A label and a text beside it, wrapped to the terminal."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST) - LABEL
    lines = [
        wrapped
        for line in text.splitlines()
        for wrapped in textwrap.wrap(
            line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    ]
    label = label.ljust(LABEL - 1) + " "
    shown = label if os.environ.get("TERM") == "dumb" else click.style(label, bold=True)
    return shown + f"\n{' ' * LABEL}".join(lines)


def check_folder(folder: Path, overwrite: bool = False) -> None:
    """Refuse, before the run, a folder that cannot be written, or that holds a run, unless a finished one may go."""
    for path in (folder, *folder.parents):
        if path.is_symlink() and not path.exists():
            raise FileError(f"--out: {str(path)!r} is a link to a place that does not exist. Choose another folder.")
    refuse_unfinished(folder)
    if (folder / RECORD).is_file() and not overwrite:
        raise FileError(
            f"--out: {str(folder)!r} holds a run already. Give another folder, or --overwrite to replace that run."
        )
    for path in (folder / name for name in FILES):
        if path.is_dir():
            raise FileError(f"--out: {str(path)!r} is a folder, where a file is to be written. Remove it.")
    with draft_in(next(path for path in (folder, *folder.absolute().parents) if path.exists()), "--out: "):
        pass


def files_of(run: Run) -> list[str]:
    """What is written of a run: a table of each factor too, where its rows or columns have names."""
    return [*_tables(run.result), *FILES]


def write_run(folder: Path, run: Run, options: Mapping[str, Any]) -> None:
    """Write the files next to their place, force them to the disk, then move them there.

    In a folder with an older run its run.json goes first, and the new one comes last: where there is one, all is whole.
    """
    with draft_in(folder if folder.exists() else folder.absolute().parent, "--out: ") as draft:
        save_in(draft, run.result)
        _write_history(draft / "history.csv", run.result)
        _write_record(draft / RECORD, run, options)
        for name, sides in _tables(run.result).items():
            _write_table(draft / name, run.result.Y[name.removesuffix(".csv")], *sides)
        for name in files_of(run):
            _sync(draft / name)
        if folder.exists():
            if (folder / RECORD).exists():
                for name in run.result.Y.names:  # of the older run, whose factors had labels
                    (folder / f"{name}.csv").unlink(missing_ok=True)
            (folder / RECORD).unlink(missing_ok=True)
            for name in files_of(run):
                sync_folder(folder)
                os.replace(draft / name, folder / name)
            sync_folder(folder)
        else:
            os.rename(draft, folder)
            sync_folder(folder.absolute().parent)


def _sync(path: Path) -> None:
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


Side = tuple[str, ...]
"""The labels of rows or columns."""


def _tables(result: Result) -> dict[str, tuple[Side, Side]]:
    """The files of the factors whose rows or columns have names, with these; components are numbered from 1."""
    found = {name: block_lines(result.labels, name, result.Y[name].shape) for name in result.Y.names}
    return {f"{name}.csv": (rows, columns) for name, (rows, columns) in found.items() if rows and columns}


def _write_table(path: Path, X: Array, rows: Side, columns: Side) -> None:
    """A factor as it stands, with a line above it and a column beside it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *columns])
        writer.writerows([name, *row] for name, row in zip(rows, X.tolist(), strict=True))


def _write_history(path: Path, result: Result) -> None:
    """One column a figure, in the shortest digits that give back the same number."""
    rows = zip(*(column.tolist() for column in result.history.values()), strict=True)
    lines = [",".join(result.history), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_record(path: Path, run: Run, options: Mapping[str, Any]) -> None:
    """What ``--json`` prints, with what is needed to run it again."""
    import scipy

    record = run.as_json()
    record["summary"] = summary_rows(run, certificate=bool(options.get("certificate")))
    record["options"] = plain(options)
    record["versions"] = {
        "bregopt": record["version"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    path.write_text(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
