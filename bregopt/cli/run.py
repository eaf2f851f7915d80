"""One run of ``bregopt solve``: its record as JSON values, its summary for people, and its folder on the disk."""

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
from bregopt.engine.certificate import Certificate
from bregopt.engine.checkpoint import FACTORS, draft_in, refuse_unfinished, sync_folder
from bregopt.engine.result import Result
from bregopt.errors import FileError

RECORD = "run.json"
FILES = (FACTORS, "history.csv", RECORD)
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
            "problem": asdict(self.problem, filter=lambda attribute, _: attribute != fields(AskedProblem).words),
            "method": self.method,
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
            "certificate": _certificate(result.certificate),
        }
        return {key: plain(value) for key, value in record.items()}


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


def summary(run: Run) -> str:
    """What was solved, how well, why it ended, and what can be said of it."""
    return "\n".join(row(label, text) for label, text in summary_rows(run).items())


def summary_rows(run: Run) -> dict[str, str]:
    """The summary by its labels."""
    problem, result = run.problem, run.result
    model = {"{}": problem.name, "rank {}": problem.rank, "H on U: {}": problem.U, "H on V: {}": problem.V}
    method = {"{}": run.method, "{} kernel": problem.kernel, "{} start": run.start or "default", "seed {}": run.seed}
    size, entries = "×".join(map(str, problem.shape)), math.prod(problem.shape)
    missing = f", {100 * problem.missing / entries:.3g} % nan" if problem.missing else ""
    return {
        "Matrix" if len(problem.shape) == 2 else "Tensor": (
            f"{problem.matrix}, {size}, {100 * problem.nonzeros / entries:.3g} % non-zeros{missing}"
        ),
        "Model": ", ".join([_listed(model), *problem.words]),
        "Method": _listed(method),
        "Objective": f"{result.objective:.8g}",
        **{
            name.replace("_", " ").capitalize(): f"{value:.4g}"
            for name, value in result.metrics.items()
            if name != DETAIL
        },
        "Stopped": result.reason,
        "Work": f"{result.iterations} iterations, {result.counts.products:g} products, {result.seconds:.2f} s",
        "Certificate": result.certificate.summary(),
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


def check_folder(folder: Path) -> None:
    """Refuse, before the run, a folder that cannot be written, or that holds a run that has not ended."""
    for path in (folder, *folder.parents):
        if path.is_symlink() and not path.exists():
            raise FileError(f"--out: {str(path)!r} is a link to a place that does not exist. Choose another folder.")
    refuse_unfinished(folder)
    for path in (folder / name for name in FILES):
        if path.is_dir():
            raise FileError(f"--out: {str(path)!r} is a folder, where a file is to be written. Remove it.")
    with draft_in(next(path for path in (folder, *folder.absolute().parents) if path.exists()), "--out: "):
        pass


def write_run(folder: Path, run: Run, options: Mapping[str, Any]) -> None:
    """Write the three files next to their place, force them to the disk, then move them there.

    In a folder with an older run its run.json goes first, and the new one comes last: where there is one, all is whole.
    """
    with draft_in(folder if folder.exists() else folder.absolute().parent, "--out: ") as draft:
        _write_factors(draft / FACTORS, run.result)
        _write_history(draft / "history.csv", run.result)
        _write_record(draft / RECORD, run, options)
        for name in FILES:
            _sync(draft / name)
        if folder.exists():
            (folder / RECORD).unlink(missing_ok=True)
            for name in FILES:
                sync_folder(folder)
                os.replace(draft / name, folder / name)
            sync_folder(folder)
        else:
            os.rename(draft, folder)
            sync_folder(folder.absolute().parent)


def _sync(path: Path) -> None:
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def _write_factors(path: Path, result: Result) -> None:
    blocks: dict[str, Any] = {name: result.Y[name] for name in result.Y.names}
    np.savez(path, **blocks)


def _write_history(path: Path, result: Result) -> None:
    """One column a figure, in the shortest digits that give back the same number."""
    rows = zip(*(column.tolist() for column in result.history.values()), strict=True)
    lines = [",".join(result.history), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_record(path: Path, run: Run, options: Mapping[str, Any]) -> None:
    """What ``--json`` prints, with what is needed to run it again."""
    import scipy

    record = run.as_json()
    record["summary"] = summary_rows(run)
    record["options"] = plain(options)
    record["versions"] = {
        "bregopt": record["version"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    path.write_text(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
