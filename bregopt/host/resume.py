"""Runs that are saved while they go on: what a folder holds, and how a run goes on from there."""

import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import bregopt
from bregopt.engine.checkpoint import (
    FORMAT,
    PROBLEM,
    RECORD,
    Checkpoint,
    Checkpoints,
    read_archive,
    read_last,
    remove_drafts,
    understood,
    write_archive,
    write_file,
)
from bregopt.engine.description import described, differences
from bregopt.engine.method import Method
from bregopt.engine.result import Result
from bregopt.engine.saved_result import load as load_result
from bregopt.engine.saving import Json, Loader, Saver, from_json, package_of, parts_of, to_json
from bregopt.engine.solve import go_on
from bregopt.errors import FileError, IncompatibleError, parameter
from bregopt.host.compose import catalog, make, plugins, resolve
from bregopt.host.loading import ACTIVE
from bregopt.host.selection import with_method_kernels
from bregopt.host.watching import RETURN, Watchers, interruptible, observers_of
from bregopt.parts.oracle import PlainOracle
from bregopt.parts.regularizer import Separable
from bregopt.problem import Problem, ResolvedProblem
from bregopt.rules.stopping import StopRule

LARGEST = 2**30
"""Bytes of the data up to which they are written beside the checkpoints."""


# ---- before a run


def checkpoints_for(
    folder: Path, every: float, problem: ResolvedProblem, method: Method, stop: StopRule
) -> Checkpoints:
    """A folder that the run of this method on this problem writes itself to; nothing is written before it begins."""
    if isinstance(every, bool) or not isinstance(every, (int, float)) or not every >= 0:
        raise parameter("checkpoint_every", "solve", "a number of seconds >= 0", every)
    return Checkpoints(folder, lambda: _begin(folder, problem, method, stop), float(every))


def _begin(folder: Path, problem: ResolvedProblem, method: Method, stop: StopRule) -> dict[str, Json]:
    """Make the folder, write the problem there, and say what the run is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{str(folder)!r} cannot be written: {error.strerror or error}. Choose another folder."
        ) from None
    remove_drafts(folder)
    return {
        "versions": versions(),
        "plugins": _active_plugins(),
        "problem": _description(problem),
        "method": _or_reason(lambda: to_json(method, "the method")),
        "stop": _or_reason(lambda: to_json(stop, "the stop rule")),
        "saved_problem": _or_reason(lambda: _write_problem(folder / PROBLEM, problem)),
    }


def versions() -> dict[str, str]:
    """What a run depends on."""
    return {"bregopt": bregopt.__version__, "python": platform.python_version(), "numpy": np.__version__}


def _active_plugins() -> dict[str, str]:
    return {plugin.name: plugin.version for plugin in plugins() if plugin.status == ACTIVE}


def _description(problem: ResolvedProblem) -> Json:
    """What the problem is, to be compared when its run goes on."""
    return {"name": problem.name, **described(parts_of(problem)), "kernel": described(problem.kernel)}


def _or_reason(save: Callable[[], Json]) -> Json:
    """What was saved, or the reason why it could not be."""
    try:
        return save()
    except IncompatibleError as error:
        return {"reason": str(error)}


def _write_problem(path: Path, problem: ResolvedProblem) -> Json:
    """The parts of the problem with their data, so that a run can go on without anything else."""
    path.unlink(missing_ok=True)
    content, arrays = saved_problem(problem)
    write_file(path, lambda handle: write_archive(handle, content, arrays))
    return {}


def saved_problem(problem: ResolvedProblem) -> tuple[Json, list[Any]]:
    """The parts of the problem as JSON, and the arrays that it refers to."""
    if problem.metrics and isinstance(problem.oracle, PlainOracle):
        raise IncompatibleError("Its metrics are functions.")
    saver = Saver()
    parts = {"smooth": problem.smooth, "block": problem.block, "kernel": problem.kernel, "labels": problem.labels}
    saved = {name: saver.save(part, name) for name, part in parts.items()}
    H = problem.regularizer
    saved["H"] = saver.save({"": H[""], **H.named}, "H")
    size = sum(array.nbytes for array in saver.arrays)
    if size > LARGEST:
        raise IncompatibleError(f"Its data take {size / 1e9:.1f} GB, too much to be written beside the checkpoints.")
    settings = {"name": problem.name, "kernel_named": problem.kernel_named}
    return {"format": FORMAT, "parts": saved, "settings": settings, "objects": saver.objects}, saver.arrays


# ---- a run that goes on


def resume(
    path: str | Path,
    problem: Problem | ResolvedProblem | None = None,
    *,
    method: Any = None,
    stop: StopRule | str | None = None,
    observers: Watchers = (),
    checkpoint_every: float = 30.0,
    on_interrupt: str = RETURN,
) -> Result:
    """Go on with a run that was saved by ``solve(..., checkpoint=path)`` or ``bregopt solve --out path``.

    The run ends as it would have ended without the break: with the same iterates, bit for bit, on the same machine with
    the same number of threads. Of a run that has ended it is the result.

    Parameters
    ----------
    path : str or Path
        The folder of the run.
    problem : Problem, optional
        The problem; by default the one that is saved in the folder. Data over 1 GiB, and parts that are not attrs
        classes, are not saved there.
    method : str or Method, optional
        The method of the run, if it is of a class that cannot be saved.
    stop : StopRule or str, optional
        A stop rule in place of the run's own.
    observers : iterable
        As for ``solve``.
    checkpoint_every : float
        Seconds between two checkpoints.
    on_interrupt : str
        As for ``solve``.

    Returns
    -------
    Result
    """
    folder = Path(path)
    checkpoint = read_last(folder)
    _check_versions(checkpoint)
    chosen: Method = _saved(checkpoint, "method") if method is None else make("method", method)
    rule: StopRule = _saved(checkpoint, "stop") if stop is None else make("stop", stop)
    resolved = _read_problem(folder, checkpoint) if problem is None else resolve(problem, chosen.kernel)
    _check_problem(checkpoint, resolved)
    record = {key: checkpoint.content[key] for key in RECORD}
    remove_drafts(folder)
    checkpoints = Checkpoints(folder, lambda: record, checkpoint_every)
    watching = observers_of(observers)
    ready = with_method_kernels(resolved, chosen)
    return interruptible(
        lambda rule: go_on(ready, chosen, checkpoint, rule, watching, checkpoints), rule, on_interrupt, saved=folder
    )


def load(path: str | Path) -> Result:
    """The result of a run that has ended, with everything but W, which needs the data.

    Parameters
    ----------
    path : str or Path
        A file that ``result.save`` wrote, or the folder of ``bregopt solve --out``.

    Returns
    -------
    Result
    """
    return load_result(Path(path), packages())


def _check_versions(checkpoint: Checkpoint) -> None:
    """Refuse a run of another version of bregopt or of a plugin: the next iterate might be another."""
    now = _active_plugins()
    then = checkpoint.content["plugins"]
    missing = [f"the plugin '{name}' is missing" for name in then if name not in now]
    other = [
        f"the plugin '{name}' was {then[name]} and is {now[name]}"
        for name in then
        if now.get(name, then[name]) != then[name]
    ]
    was, now_is = checkpoint.content["versions"]["bregopt"], bregopt.__version__
    version = [] if was == now_is else [f"bregopt was {was} and is {now_is}"]
    if found := [*version, *missing, *other]:
        raise FileError(
            f"The run in {str(checkpoint.path.parent)!r} cannot go on here: {'; '.join(found)}. "
            "Install what it ran with, or start a new run from its best point with start=folder."
        )


def _check_problem(checkpoint: Checkpoint, problem: ResolvedProblem) -> None:
    """Refuse another problem, and say what differs."""
    found = list(differences(checkpoint.content["problem"], _description(problem)))
    if found:
        more = f", and {len(found) - 3} more" if len(found) > 3 else ""
        raise FileError(
            f"The run in {str(checkpoint.path.parent)!r} was for another problem or other data: "
            f"{'; '.join(found[:3])}{more}. Give those it was started with."
        )


def _saved(checkpoint: Checkpoint, name: str) -> Any:
    saved = checkpoint.content[name]
    if "reason" in saved:
        raise FileError(
            f"The run in {str(checkpoint.path.parent)!r} cannot go on by itself: {saved['reason']} "
            f"Give the {name} too: bregopt.resume(folder, {name}=...)."
        )
    with understood(checkpoint.path):
        return from_json(saved, packages())


def packages() -> set[str]:
    """Those that registered parts come from."""
    return {package_of(entry.factory) for entry in catalog()}


def _read_problem(folder: Path, checkpoint: Checkpoint) -> ResolvedProblem:
    saved = checkpoint.content["saved_problem"]
    if "reason" in saved:
        raise FileError(
            f"The folder {str(folder)!r} does not hold the problem of its run. {saved['reason']} "
            "Give the problem too: bregopt.resume(folder, problem)."
        )
    content, arrays = read_archive(folder / PROBLEM)
    with understood(folder / PROBLEM):
        return loaded_problem(content, arrays)


def loaded_problem(content: Json, arrays: Mapping[str, Any]) -> ResolvedProblem:
    """The problem that ``saved_problem`` saved."""
    loader = Loader(lambda number: arrays[str(number)], content["objects"], packages())
    parts = {name: loader.load(part) for name, part in content["parts"].items()}
    everywhere, named = parts["H"].pop(""), parts.pop("H")
    return resolve(Problem(**parts, regularizer=Separable(everywhere, **named), **content["settings"]))
