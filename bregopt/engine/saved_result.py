"""A result on the disk and back: arrays by their names, the rest as JSON; nothing is pickled."""

import json
import zipfile
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.engine.checkpoint import FACTORS, LABELS, OWN, checkpoints_in, understood, write_file
from bregopt.engine.method import Method
from bregopt.engine.result import Result
from bregopt.engine.saving import Loader, Saver
from bregopt.engine.state import State
from bregopt.errors import FileError, IncompatibleError
from bregopt.labels import Labels
from bregopt.problem import ResolvedProblem
from bregopt.rules.stopping import Status

FORMAT = 1
"""Of the file; another one is refused."""
REST = "result.npz"
"""The file of a finished run that holds all but its blocks."""
JSON, HISTORY = f"{OWN}json", f"{OWN}history/"
PARTS = ("certificate", "counts", "method", "data_model", "starts")
"""What is made of classes, some of which may be of a plugin."""


@final
@frozen(repr=False)
class SavedMethod(Method[None]):
    """A method of which only the text is known, as its class cannot be saved or is not installed: it runs nothing."""

    text: str

    def start(self, problem: ResolvedProblem, Y: Blocks) -> State[None]:
        raise IncompatibleError(f"The method {self.text} was not saved with the result: name it by its spec.")

    def advance(self, problem: ResolvedProblem, state: State[None]) -> State[None]:
        return self.start(problem, state.Y)

    def __repr__(self) -> str:
        return self.text


def save(result: Result, path: Path) -> Path:
    """Write the file beside its place, then move it there; ``.npz`` is added to a name without it."""
    path = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder: give the name of a file.")
    members = {**_blocks(result), **_rest(result)}
    write_file(path, lambda handle: np.savez(handle, **members))
    return path


def save_in(folder: Path, result: Result) -> None:
    """Write two files: the blocks with their labels, and the rest."""
    for name, members in ((FACTORS, _blocks(result)), (REST, _rest(result))):
        np.savez(folder / name, **members)


def _blocks(result: Result) -> dict[str, Any]:
    labels = result.labels or Labels()
    named = {name: np.asarray(it) for name in LABELS if (it := getattr(labels, name)) is not None}
    return named | {name: result.Y[name] for name in result.Y.names}


def _rest(result: Result) -> dict[str, Any]:
    saver = Saver()
    parts = {}
    for name in PARTS:
        with suppress(IncompatibleError):  # it is of a class that cannot be saved
            Saver().save(getattr(result, name), name)  # a trial, so that no half of it stays behind
            parts[name] = saver.save(getattr(result, name), name)
    content = {
        "format": FORMAT,
        "blocks": list(result.Y.names),
        "history": list(result.history),
        "objective": saver.save(result.objective, "objective"),
        "metrics": saver.save({name: float(value) for name, value in result.metrics.items()}, "metrics"),
        "status": result.status.value,
        "reason": result.reason,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "problem": result.problem,
        "method_text": repr(result.method),
        "parts": parts,
        "taken": "" if result.labels is None else result.labels.taken,
        "objects": saver.objects,
    }
    text = json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
    return {
        **{f"{HISTORY}{name}": column for name, column in result.history.items()},
        **{f"{OWN}{number}": array for number, array in enumerate(saver.arrays)},
        JSON: np.frombuffer(text, np.uint8),
    }


def load(path: Path, packages: Set[str]) -> Result:
    """The result in a file that ``save`` wrote, or in the folder of a run; made of classes of these packages."""
    file = path / REST if path.is_dir() else path
    if not file.is_file() and (path / FACTORS).is_file():
        file = path / FACTORS
    if not file.is_file():
        if checkpoints_in(path):
            raise FileError(
                f"The run in {str(path)!r} has not ended: go on with it by bregopt.resume(folder) or "
                "'bregopt resume FOLDER'."
            )
        raise FileError(f"There is no result in {str(path)!r}: give the folder of a run, or a file of result.save.")
    arrays = _read(file) | (_read(path / FACTORS) if path.is_dir() else {})
    if JSON not in arrays:
        raise FileError(
            f"{str(file)!r} holds blocks, and no result: it can be the start of another run, start={str(file)!r}."
        )
    with understood(file):
        return _result(json.loads(arrays[JSON].tobytes()), arrays, packages)


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as handle:
            if not zipfile.is_zipfile(handle):
                raise ValueError("it is none that result.save has written")
            with np.load(handle, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except Exception as error:  # a damaged archive makes numpy and zipfile raise anything
        raise FileError(f"The file {str(file)!r} cannot be read: {str(error) or type(error).__name__}.") from error


def _result(content: dict[str, Any], arrays: dict[str, Any], packages: Set[str]) -> Result:
    if content["format"] != FORMAT:
        raise FileError(f"it has the format {content['format']!r}, and this version of bregopt reads {FORMAT}")
    loader = Loader(lambda number: arrays[f"{OWN}{number}"], content["objects"], packages)
    parts: dict[str, Any] = {"method": SavedMethod(content["method_text"]), "data_model": None}
    for name, saved in content["parts"].items():
        try:
            parts[name] = loader.load(saved)
        except FileError:
            if name not in parts:  # what a method or a model needs may be missing; a certificate is bregopt's own
                raise
    found = {name: arrays[name] for name in LABELS if name in arrays and name not in content["blocks"]}
    if "picture_shape" in found:
        height, width = found["picture_shape"].tolist()
        found["picture_shape"] = (int(height), int(width))
    history = {name: arrays[f"{HISTORY}{name}"] for name in content["history"]}
    for column in history.values():
        column.flags.writeable = False
    return Result(
        Y=Blocks(**{name: arrays[name] for name in content["blocks"]}),
        W=None,
        objective=loader.load(content["objective"]),
        metrics=loader.load(content["metrics"]),
        status=Status(content["status"]),
        reason=content["reason"],
        iterations=content["iterations"],
        seconds=content["seconds"],
        history=history,
        labels=Labels(**found, taken=content["taken"]) if found else None,
        problem=content["problem"],
        **parts,
    )
