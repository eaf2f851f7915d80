"""Who takes part in a race: methods of bregopt, and those a user would pick from other libraries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Blocks, ResolvedProblem, Status, StopRule, parse_spec, tikhonov
from bregopt.errors import BregoptError, OverflowedError, ParameterError
from bregopt_bench.peers.lbfgsb import l_bfgs_b
from bregopt_bench.peers.pyproximal_palm import pyproximal_palm
from bregopt_bench.peers.recorder import COLUMNS, Trace

OURS = ("aapb", "aapb-certified", "apb", "auto", "ecd", "els", "aals", "masked-newton", "hybrid", "bella")
DEFAULT = (
    *("aapb", "palm", "ipalm", "ppalm", "ippalm", "ippalm(growing)", "bpg", "cocain", "aapb-paper", "apb-paper"),
    "pyproximal-palm",
)
SMOOTH = ("auto", "a-nmd", "ebcd-nmd", "l-bfgs-b")
"""By default too where H = 0 or Tikhonov."""
TRIAL = 2
"""Iterations before the race: a method that refuses the problem shows it there, and loops are compiled."""

RunMethod = Callable[[ResolvedProblem, Blocks, StopRule], Trace]
OTHER_LIBRARIES: Mapping[str, RunMethod] = {"l-bfgs-b": l_bfgs_b, "pyproximal-palm": pyproximal_palm}


@final
@frozen
class Entrant:
    """A method under the name it was asked for."""

    name: str
    run: RunMethod


@final
@frozen
class Entrants:
    """Who takes part on a problem, the defaults that were left out with the reason, and what methods said of it."""

    methods: tuple[Entrant, ...]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]


def is_ours(name: str, ours: Sequence[str]) -> bool:
    """Whether a method is one of ours, by its spec or by the name in it."""
    return name in ours or parse_spec(name).name in ours


def ours_and_peers(names: Iterable[str], ours: Sequence[str]) -> tuple[list[str], list[str]]:
    """The methods that are ours, and their peers."""
    names = list(names)
    mine = [name for name in names if is_ours(name, ours)]
    return mine, [name for name in names if name not in mine]


def check_names(methods: Sequence[str], ours: Sequence[str]) -> None:
    """Refuse a misspelt method, and one of ours that does not take part."""
    for name in methods:
        _make(name)
    there = methods or (*DEFAULT, *SMOOTH)
    for name in ours:
        if not any(is_ours(method, [name]) for method in there):
            raise ParameterError(f"--ours {name!r} is not in the race. Its methods are {', '.join(there)}.")


def entrants_of(problem: ResolvedProblem, Y: Blocks, asked: Sequence[str]) -> Entrants:
    """The methods asked for, each of which must accept the problem; or the defaults that do."""
    methods: list[Entrant] = []
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
        methods.append(entrant)
        notes += said
    return Entrants(tuple(methods), skipped, tuple(notes))


def _make(name: str) -> Any:
    """A method of bregopt or of another library, by its spec."""
    return OTHER_LIBRARIES.get(name) or bregopt.make("method", name)


def _defaults(problem: ResolvedProblem) -> list[str]:
    """Those that are registered."""
    smooth = all(tikhonov(H) is not None for H in problem.regularizer.distinct())
    there = {entry.name for entry in bregopt.catalog("method")} | set(OTHER_LIBRARIES)
    return [name for name in (*DEFAULT, *(SMOOTH if smooth else ())) if parse_spec(name).name in there]


def _tried(name: str, problem: ResolvedProblem, Y: Blocks) -> tuple[Entrant, Sequence[str]]:
    entrant = Entrant(name, OTHER_LIBRARIES.get(name) or _solving(_make(name)))
    trace = entrant.run(problem, Y, bregopt.make("stop", "max-iterations", TRIAL))
    return entrant, trace.notes


def _solving(method: Any) -> RunMethod:
    def run(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is told of in the table
                result = bregopt.solve(problem, method=method, start=Y, stop=stop)
        except OverflowedError as error:  # in its first evaluation, before there is a result
            return Trace({name: np.empty(0) for name in COLUMNS}, Status.NOT_FINITE, str(error))
        return Trace(result.history, result.status, result.reason, result.notes)

    return run
