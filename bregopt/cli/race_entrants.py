"""Who takes part in a race: methods of bregopt, and those a user would pick from other libraries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt.blocks import Blocks
from bregopt.cli.race_curve import Trace
from bregopt.cli.race_lbfgsb import l_bfgs_b, tikhonov
from bregopt.cli.race_pyproximal import pyproximal_palm
from bregopt.errors import BregoptError, OverflowedError, ParameterError
from bregopt.host.spec import parse
from bregopt.problem import ResolvedProblem
from bregopt.rules.stopping import Status, StopRule

OURS = ("aapb", "aapb-certified", "apb", "auto", "ecd", "els", "aals", "masked-newton", "hybrid", "bella")
DEFAULT = (
    *("aapb", "palm", "ipalm", "ppalm", "ippalm", "ippalm(growing)", "bpg", "cocain", "aapb-paper", "apb-paper"),
    "pyproximal-palm",
)
SMOOTH = ("auto", "a-nmd", "ebcd-nmd", "l-bfgs-b")
"""By default too where H = 0 or Tikhonov."""
TRIAL = 2
"""Iterations before the race: a method that refuses the problem shows it there, and loops are compiled."""

Running = Callable[[ResolvedProblem, Blocks, StopRule], Trace]
OUTSIDE: Mapping[str, Running] = {"l-bfgs-b": l_bfgs_b, "pyproximal-palm": pyproximal_palm}


@final
@frozen
class Entrant:
    """A method under the name it was asked for."""

    name: str
    run: Running


@final
@frozen
class Field:
    """The entrants of a problem, the defaults that were left out with the reason, and what methods said of it."""

    entrants: tuple[Entrant, ...]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]


def is_ours(name: str, ours: Sequence[str]) -> bool:
    """Whether a method is one of ours, by its spec or by the name in it."""
    return name in ours or parse(name).name in ours


def check(methods: Sequence[str], ours: Sequence[str]) -> None:
    """Refuse a misspelt method, and one of ours that does not take part."""
    for name in methods:
        _make(name)
    there = methods or (*DEFAULT, *SMOOTH)
    for name in ours:
        if not any(is_ours(method, [name]) for method in there):
            raise ParameterError(f"--ours {name!r} is not in the race. Its methods are {', '.join(there)}.")


def _make(name: str) -> Any:
    """A method of bregopt or from outside, by its spec."""
    return OUTSIDE.get(name) or bregopt.make("method", name)


def field(problem: ResolvedProblem, Y: Blocks, asked: Sequence[str]) -> Field:
    """The methods asked for, each of which must accept the problem; or the defaults that do."""
    entrants: list[Entrant] = []
    skipped: dict[str, str] = {}
    notes: list[str] = []
    for name in dict.fromkeys(asked) if asked else _defaults(problem):
        try:
            entrant, said = _tried(name, problem, Y)
        except BregoptError as error:
            if asked:
                raise
            skipped[name] = str(error)
            continue
        entrants.append(entrant)
        notes += said
    return Field(tuple(entrants), skipped, tuple(notes))


def _defaults(problem: ResolvedProblem) -> list[str]:
    """Those that are registered."""
    smooth = all(tikhonov(H) is not None for H in problem.regularizer.distinct())
    there = {entry.name for entry in bregopt.catalog("method")} | set(OUTSIDE)
    return [name for name in (*DEFAULT, *(SMOOTH if smooth else ())) if parse(name).name in there]


def _tried(name: str, problem: ResolvedProblem, Y: Blocks) -> tuple[Entrant, Sequence[str]]:
    entrant = Entrant(name, OUTSIDE.get(name) or _solving(_make(name)))
    trace = entrant.run(problem, Y, bregopt.make("stop", f"max-iterations({TRIAL})"))
    return entrant, trace.notes


def _solving(method: Any) -> Running:
    def run(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is told of in the table
                result = bregopt.solve(problem, method=method, start=Y, stop=stop)
        except OverflowedError as error:  # in its first look, before there is a result
            names = ("products", "seconds", "objective", "relative_error")
            return Trace({name: np.empty(0) for name in names}, Status.NOT_FINITE, str(error))
        return Trace(result.history, result.status, result.reason, result.notes)

    return run
