"""A run on the disk: all that it needs in order to go on, written so that a kill at any moment leaves a whole file."""

import io
import json
import math
import os
import re
import shutil
import time
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from attrs import define, field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.engine.certificate import CertificateBuilder
from bregopt.engine.iterate import Moment
from bregopt.engine.saving import Json, Loader, Places, Saver
from bregopt.engine.state import State
from bregopt.errors import BregoptError, CheckpointWarning, FileError
from bregopt.rules.stopping import Status, Verdict

RECORD = ("versions", "plugins", "problem", "method", "stop", "saved_problem")
"""What a checkpoint says of its run, beside where it stands."""
FORMAT = 1
"""Of the files; another one is refused."""
KEPT = 2
"""The checkpoints of a run that are kept: the last, and the one before it."""
PROBLEM = "problem.npz"
"""The file that holds the problem of a run, beside its checkpoints."""
FACTORS = "factors.npz"
"""The file of a finished run that holds its blocks, and what their rows and columns are called."""
LABELS = ("rows", "columns", "picture_shape")
"""The arrays of that file that are no blocks."""
OWN = "bregopt/"
"""How the names of arrays begin that hold the rest of a result, where it is saved in one file."""
NAME = re.compile(r"checkpoint-(\d{6,})\.npz")


@final
@frozen(eq=False)
class Snapshot:
    """A run after one of its iterations."""

    moment: Moment
    best: State
    columns: Mapping[str, Array]
    """the history"""
    builder: CertificateBuilder
    """for the certificate"""
    seconds: float
    notes: tuple[str, ...]
    verdict: Verdict | None = None
    """why it ended, where it did"""


@final
@define(eq=False)
class Checkpoints:
    """The folder that a run writes itself to, every so many seconds.

    A checkpoint is written beside its place, forced to the disk, and renamed. The last two are kept. Where one cannot
    be written, a warning says why, the older ones stay, and the run goes on and tries again.
    """

    folder: Path
    begin: Callable[[], Mapping[str, Json]]
    """called before the first one: makes the folder, and says what the run is"""
    every: float = 30.0
    _next: float = field(factory=time.monotonic)
    _record: Mapping[str, Json] | None = None
    _failing: bool = False

    def offer(self, snapshot: Callable[[], Snapshot], places: Places) -> None:
        """Save the run if it is time to."""
        if time.monotonic() >= self._next:
            self.save(snapshot(), places)

    def save(self, snapshot: Snapshot, places: Places) -> None:
        """Save the run now; a failure is a warning."""
        began = time.monotonic()
        try:
            self.write(snapshot, places)
            self._failing = False
        except Exception as error:  # whatever it is, the run is worth more than one of its checkpoints
            if not self._failing:  # said once, until one succeeds
                why = str(error) if isinstance(error, BregoptError) else f"{type(error).__name__}: {error}."
                told = f"No checkpoint was written after iteration {snapshot.moment.state.iteration}: {why}"
                warnings.warn(f"{told} The run goes on, and tries again.", CheckpointWarning, stacklevel=2)
            self._failing = True
        now = time.monotonic()
        self._next = now + max(self.every, 20.0 * (now - began) if self.every > 0 else 0.0)  # however slow the disk is

    def write(self, snapshot: Snapshot, places: Places) -> Path:
        """One more checkpoint; older ones than the last two go."""
        record = self._record = self._record or self.begin()
        saved, arrays = saved_run(snapshot, places)
        content = {"format": FORMAT, **record, "iteration": snapshot.moment.state.iteration, **saved}
        known = checkpoints_in(self.folder)
        number = 1 + max((_number(path) for path in known), default=0)
        path = self.folder / f"checkpoint-{number:06d}.npz"
        write_file(path, lambda handle: write_archive(handle, content, arrays))
        for old in known[: -(KEPT - 1)]:
            old.unlink(missing_ok=True)
        return path


def saved_run(snapshot: Snapshot, places: Places) -> tuple[dict[str, Json], list[np.ndarray[Any, Any]]]:
    """The run as JSON, and the arrays that it refers to: what ``Checkpoint.snapshot`` reads."""
    saver, verdict = Saver(places), snapshot.verdict
    run = {
        "moment": saver.save(snapshot.moment, "state"),
        "best": saver.save(snapshot.best, "state"),
        "columns": saver.save(snapshot.columns, "history"),
        "builder": saver.save(snapshot.builder, "certificate"),
        "seconds": snapshot.seconds,
        "notes": list(snapshot.notes),
        "verdict": None if verdict is None else [verdict.status.value, verdict.reason],
    }
    return {"run": run, "objects": saver.objects}, saver.arrays


def write_archive(handle: Any, content: Json, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """An .npz of the arrays, by their numbers, and the JSON."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
    members: dict[str, Any] = {str(k): array for k, array in enumerate(arrays)}
    np.savez(handle, json=np.frombuffer(text, np.uint8), **members)


def write_file(path: Path, write: Callable[[Any], object]) -> None:
    """Write a file beside its place, force it to the disk, and rename it: there is the old file or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def draft_in(parent: Path, what: str = "") -> Iterator[Path]:
    """A new folder on the same disk as what it will become, removed at the end; ``what`` begins the error."""
    draft = parent / f".bregopt-{uuid.uuid4().hex}.draft"
    try:
        draft.mkdir(parents=True)
        yield draft
    except OSError as error:
        raise FileError(
            f"{what}{str(parent)!r} cannot be written: {error.strerror or error}. Choose another folder."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Force new names in a folder to the disk, where the system knows how."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints in a folder, the last one last."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if NAME.fullmatch(path.name)), key=_number)


def remove_drafts(folder: Path) -> None:
    """Remove what runs that were killed while they wrote have left behind."""
    for path in folder.glob(".*.draft"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def forget(folder: Path) -> None:
    """Remove what is needed only in order to go on with a run."""
    for path in (*checkpoints_in(folder), folder / PROBLEM):
        path.unlink(missing_ok=True)
    remove_drafts(folder)


def _number(path: Path) -> int:
    found = NAME.fullmatch(path.name)
    return int(found[1]) if found else 0


# ---- reading


@final
@frozen(eq=False)
class Checkpoint:
    """A checkpoint that was read: what the run is, and how to make its snapshot again."""

    path: Path
    content: Mapping[str, Json]
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(repr=False)

    @property
    def finished(self) -> bool:
        return self.content["run"]["verdict"] is not None

    @property
    def iteration(self) -> int:
        """The number of iterations that were made."""
        return int(self.content["iteration"])

    @property
    def best(self) -> Blocks:
        """The best point that the run has seen."""
        objects = self.content["objects"]
        state = objects[self.content["run"]["best"]["object"]]
        Y: Blocks = Loader(self._array, objects, frozenset()).load(state["fields"]["Y"])
        return Y

    def _array(self, number: int) -> np.ndarray[Any, Any]:
        return self.arrays[str(number)].copy()

    def snapshot(self, places: Places) -> Snapshot:
        """The run as it was; the objects of the problem and the method are those of ``places``."""
        run, verdict = self.content["run"], self.content["run"]["verdict"]
        loader = Loader(self._array, self.content["objects"], places.packages, places)
        with understood(self.path):
            return Snapshot(
                moment=loader.load(run["moment"]),
                best=loader.load(run["best"]),
                columns=loader.load(run["columns"]),
                builder=loader.load(run["builder"]),
                seconds=run["seconds"],
                notes=tuple(run["notes"]),
                verdict=None if verdict is None else Verdict(Status(verdict[0]), verdict[1]),
            )


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Make one error of all that a file can do wrong which was read, but says what cannot be."""
    try:
        yield
    except BregoptError as error:
        raise FileError(f"The file {str(path)!r} does not fit: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"The file {str(path)!r} does not fit what is solved, or is damaged: {error!r}.") from error


def read_last(folder: Path) -> Checkpoint:
    """The last checkpoint in a folder; where that is damaged the one before it."""
    faults = []
    for path in reversed(checkpoints_in(folder)):
        try:
            return read(path)
        except FileError as error:
            faults.append(str(error))
    if faults:
        raise FileError(" ".join(faults))
    raise FileError(f"There is no checkpoint in {str(folder)!r}: give the folder that the run was told to write to.")


def refuse_unfinished(folder: Path) -> None:
    """Refuse a folder with a run that has not ended: hours of work may be in it."""
    if checkpoints_in(folder) and not (last := read_last(folder)).finished:
        raise FileError(
            f"{str(folder)!r} holds a run that has not ended, at iteration {last.iteration}. "
            "Go on with it by bregopt.resume(folder) or 'bregopt resume FOLDER', remove it, or give another folder."
        )


def read(path: Path) -> Checkpoint:
    """A checkpoint; nothing is made of it yet."""
    content, arrays = read_archive(path)
    missing = [name for name in (*RECORD, "iteration", "run", "objects") if name not in content]
    if missing or "verdict" not in content["run"]:
        raise FileError(f"{str(path)!r} is no checkpoint: it lacks {', '.join(missing) or 'its end'}.")
    return Checkpoint(path, content, arrays)


def read_archive(path: Path | IO[bytes]) -> tuple[dict[str, Json], dict[str, np.ndarray[Any, Any]]]:
    """What ``write_archive`` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()}
        content = json.loads(arrays.pop("json").tobytes())
        version = content["format"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise FileError(f"The file {str(path)!r} is damaged: {str(error) or type(error).__name__}.") from error
    if version != FORMAT:
        raise FileError(
            f"The file {str(path)!r} has the format {version!r}, and this version of bregopt reads {FORMAT}: "
            "go on with the version that wrote it."
        )
    return content, arrays


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    """An array of the archive, which must hold as many bytes as it announces: nothing is allocated for others."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"its member {name!r} is compressed")
    data = archive.read(name)
    head = io.BytesIO(data)
    version = np.lib.format.read_magic(head)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(head)
    if dtype.kind not in "fiub" or math.prod(shape) * dtype.itemsize != len(data) - head.tell():
        raise ValueError(f"its member {name!r} does not hold what it announces")
    head.seek(0)
    return np.lib.format.read_array(head, allow_pickle=False)


def _is_no_block(name: str) -> bool:
    """Whether an array of a file of factors is no block."""
    return name in LABELS or name.startswith(OWN)


def saved_point(path: str | Path) -> Blocks:
    """The blocks in a folder that a run has written, or in an .npz file: a start for another run."""
    path = Path(path)
    file = path / FACTORS if path.is_dir() else path
    if path.is_dir() and not file.exists():
        return read_last(path).best
    if not file.is_file():
        raise FileError(f"The start {str(file)!r} does not exist: give the folder of a run, or an .npz file of blocks.")
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            blocks = {name: arrays[name] for name in arrays.files if not _is_no_block(name)}
    except Exception as error:  # a damaged archive makes numpy and zipfile raise anything
        raise FileError(f"The start {str(file)!r} cannot be read: {error}.") from error
    return Blocks(**blocks)
