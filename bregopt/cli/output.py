"""The folder of ``--out``: factors, history and run.json, complete or not there at all."""

import json
import os
import platform
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bregopt.cli.run import Run, plain
from bregopt.engine.result import Result
from bregopt.errors import FileError

FILES = ("factors.npz", "history.csv", "run.json")


def check_folder(folder: Path) -> None:
    """Refuse, before the run, a folder that cannot be written."""
    for path in (folder / name for name in FILES):
        if path.is_dir():
            raise FileError(f"--out: {str(path)!r} is a folder, where a file is to be written. Remove it.")
    with _draft_in(next(path for path in (folder, *folder.absolute().parents) if path.exists())):
        pass


def write_run(folder: Path, run: Run, options: Mapping[str, Any]) -> None:
    """Write the three files next to their place, then move them there."""
    with _draft_in(folder if folder.exists() else folder.absolute().parent) as draft:
        _write_factors(draft / "factors.npz", run.result)
        _write_history(draft / "history.csv", run.result)
        _write_record(draft / "run.json", run, options)
        if folder.exists():
            for name in FILES:
                os.replace(draft / name, folder / name)
        else:
            os.rename(draft, folder)


@contextmanager
def _draft_in(parent: Path) -> Iterator[Path]:
    """A new folder on the same disk as what it will become, removed at the end."""
    draft = parent / f".bregopt-{uuid.uuid4().hex}"
    try:
        draft.mkdir(parents=True)
        yield draft
    except OSError as error:
        raise FileError(
            f"--out: {str(parent)!r} cannot be written: {error.strerror or error}. Choose another folder."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_factors(path: Path, result: Result) -> None:
    import numpy as np

    np.savez(path, U=result.Y["U"], V=result.Y["V"])


def _write_history(path: Path, result: Result) -> None:
    """One column a figure, in the shortest digits that give back the same number."""
    rows = zip(*(column.tolist() for column in result.history.values()), strict=True)
    lines = [",".join(result.history), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_record(path: Path, run: Run, options: Mapping[str, Any]) -> None:
    """What ``--json`` prints, with what is needed to run it again."""
    import numpy as np
    import scipy

    record = run.as_json()
    record["options"] = plain(options)
    record["versions"] = {
        "bregopt": record["version"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    path.write_text(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
