"""The records of finished tasks on the disk: JSON, or JSON with its arrays in an .npz file, whole or not there."""

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Array
from bregopt.errors import DataError, FileError
from bregopt_paper.experiments.experiment import Record, Task

FORMAT = 1
ARRAY, FLOAT = "$array", "$float"
"""What stands in the JSON for an array, and for a number that JSON does not have."""
KINDS = "fiub"
"""Of the arrays that can be kept: numbers and truth values."""


@final
@frozen(eq=False)
class Kept:
    """A record that was kept, and how long its task took."""

    record: Record
    seconds: float


@final
@frozen
class Records:
    """A folder with a file for each finished task, ``l1/netz15/aapb.npz`` or ``.json``."""

    folder: Path

    def has(self, experiment: str) -> bool:
        """Whether any task of an experiment was finished here."""
        return any((self.folder / experiment).rglob("*.npz")) or any((self.folder / experiment).rglob("*.json"))

    def find(self, task: Task) -> tuple[Kept | None, str]:
        """The record of a task, or why that which is there cannot be taken; neither where there is none."""
        why = ""
        for path in filter(Path.exists, self._paths(task)):
            try:
                content, arrays = _read(path)
                changed = _changes(task, content)
                if not changed:
                    return Kept(_decoded(content["record"], arrays), float(content["seconds"])), ""
                why = f"{task.name} is made anew: its record was made with {' and '.join(changed)}."
            except Exception as error:  # a damaged file makes json, numpy and zipfile raise anything
                told = str(error) or type(error).__name__
                why = f"{task.name} is made anew: its record {str(path)!r} is damaged ({told})."
        return None, why

    def keep(self, task: Task, record: Record, seconds: float) -> Kept:
        """Write the record down, and return it as it will be read."""
        arrays: list[Array] = []
        content = {
            "format": FORMAT,
            "task": task.name,
            "version": bregopt.__version__,
            "settings": _encoded(task.settings, None, task.name),
            "seconds": seconds,
            "record": _encoded(record, arrays, task.name),
        }
        npz, plain = self._paths(task)
        path, other = (npz, plain) if arrays else (plain, npz)
        write_whole(path, lambda handle: _write(handle, content, arrays))
        other.unlink(missing_ok=True)
        return Kept(_decoded(content["record"], dict(enumerate(arrays))), seconds)

    def _paths(self, task: Task) -> tuple[Path, Path]:
        """Of the task with arrays, and without."""
        return self.folder / f"{task.name}.npz", self.folder / f"{task.name}.json"


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place, force it to the disk, and rename it: there is the old file or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise FileError(f"--out: {str(path)!r} cannot be written: {error.strerror or error}.") from error


def _write(handle: BinaryIO, content: Mapping[str, Any], arrays: list[Array]) -> None:
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False).encode()
    if not arrays:
        handle.write(text)
        return
    members: dict[str, Any] = {str(number): array for number, array in enumerate(arrays)}
    np.savez_compressed(handle, json=np.frombuffer(text, np.uint8), **members)


def _read(path: Path) -> tuple[dict[str, Any], dict[int, Array]]:
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8")), {}
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as members:
        content = json.loads(members["json"].tobytes())
        return content, {int(name): members[name] for name in members.files if name != "json"}


def _changes(task: Task, content: Mapping[str, Any]) -> list[str]:
    """What a record was made with that is not so now."""
    now = {
        "format": FORMAT,
        "version": bregopt.__version__,
        "task": task.name,
        "settings": json.loads(json.dumps(_encoded(task.settings, None, task.name))),
    }
    return [
        f"other {name}" if name == "settings" else f"{name} {content[name]}"
        for name, value in now.items()
        if content[name] != value
    ]


def _encoded(value: Any, arrays: list[Array] | None, name: str) -> Any:
    """As JSON can hold it; arrays go to the list, and are refused where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS and arrays is not None:
        arrays.append(value)
        return {ARRAY: len(arrays) - 1}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {FLOAT: repr(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) and key not in (ARRAY, FLOAT) for key in value):
        return {key: _encoded(item, arrays, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(item, arrays, name) for item in value]
    may = "numbers, text, lists and mappings by text" + ("" if arrays is None else ", and arrays of numbers")
    what = "settings" if arrays is None else "record"
    raise DataError(f"The {what} of {name} cannot be kept: {type(value).__name__} found, where {may} can be.")


def _decoded(value: Any, arrays: Mapping[int, Array]) -> Any:
    if isinstance(value, Mapping):
        if ARRAY in value:
            return arrays[value[ARRAY]]
        if FLOAT in value:
            return float(value[FLOAT])
        return {key: _decoded(item, arrays) for key, item in value.items()}
    return [_decoded(item, arrays) for item in value] if isinstance(value, list) else value
