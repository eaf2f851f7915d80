"""Who takes part in a race: methods of bregopt, and those a user would pick from other libraries."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Blocks, ResolvedProblem, Status, StopRule, parse_spec, tikhonov
from bregopt.errors import BregoptError, IncompatibleError, OverflowedError, ParameterError
from bregopt_bench.peers.lbfgsb import l_bfgs_b
from bregopt_bench.peers.pyproximal_palm import LARGE, pyproximal_palm
from bregopt_bench.peers.recorder import COLUMNS, Trace

OURS = ("aapb", "aapb-certified", "apb", "auto", "ecd", "els", "aals", "masked-newton", "hybrid", "bella")
DEFAULT = (
    *("aapb", "palm", "ipalm", "ppalm", "ippalm", "ippalm(growing)", "bpg", "cocain", "aapb-paper", "apb-paper"),
    *("pyproximal-palm", "l-bfgs-b"),
)
SMOOTH = ("auto", "a-nmd", "ebcd-nmd")
"""By default too where H = 0 or Tikhonov."""
SAME = 1e-6
"""Two ways to sum up an objective may differ by that part, in single precision too."""
TRIAL = 2
"""Iterations before the race: a method that refuses the problem shows it there, and loops are compiled."""

RunMethod = Callable[[ResolvedProblem, Blocks, StopRule], Trace]


def palm_of_pyproximal(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
    """PALM of pyproximal, whose operator here is that of ReLU-NMD: other problems are refused."""
    if not is_relu_nmd(problem, Y):
        raise IncompatibleError(
            f"Its operator here is ½‖W − UV‖² with max(0, W) = M, and the {problem.name} is another one."
        )
    return pyproximal_palm(problem, Y, stop)


def is_relu_nmd(problem: ResolvedProblem, Y: Blocks) -> bool:
    """Whether W = M where M > 0 and min(0, UV) elsewhere, for the same M at Y and at 2Y, and F + G = ½‖W − UV‖²."""
    if Y.names != ("U", "V") or any(X.ndim != 2 for X in (Y.U, Y.V)):
        return False
    if Y.U.shape[0] * Y.V.shape[1] > LARGE:
        return True  # too large to look; pyproximal-palm refuses it for that
    seen = []
    for Z in (Y, 2.0 * Y):
        W, X = problem.block.argmin(problem.smooth, Z), Z.U @ Z.V
        if getattr(W, "shape", None) != X.shape:
            return False
        W = np.asarray(W)
        seen.append(np.maximum(W, 0.0))
        value = 0.5 * float(np.square(W - X).sum())
        expected = np.where(seen[0] > 0, seen[0], np.minimum(X, 0.0))
        same = np.allclose(W, expected, rtol=SAME, atol=SAME * float(np.abs(X).max()))
        if not (same and math.isclose(value, problem.oracle.evaluate(Z).value, rel_tol=SAME)):
            return False
    return np.allclose(seen[0], seen[1], rtol=SAME, atol=SAME * float(seen[0].max()))


OTHER_LIBRARIES: Mapping[str, RunMethod] = {"l-bfgs-b": l_bfgs_b, "pyproximal-palm": palm_of_pyproximal}


@final
@frozen
class Entrant:
    """A method under the name it was asked for."""

    name: str
    run: RunMethod


@final
@frozen
class Entrants:
    """Who takes part on a problem, who refuses it and why, and what methods said of it."""

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
    """The methods asked for, or the defaults: those that accept the problem, at least one."""
    methods: list[Entrant] = []
    skipped: dict[str, str] = {}
    notes: list[str] = []
    for name in dict.fromkeys(asked or _defaults(problem)):
        try:
            entrant, said = _tried(name, problem, Y)
        except BregoptError as error:
            skipped[name] = str(error)
            continue
        methods.append(entrant)
        notes += said
    if not methods:
        reasons = " ".join(f"{name} refuses: {why}" for name, why in skipped.items())
        raise IncompatibleError(f"No method of the race takes the {problem.name}. {reasons}")
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
                result = bregopt.solve(problem, method=method, start=Y, stop=stop, on_interrupt="raise")
        except OverflowedError as error:  # in its first evaluation, before there is a result
            return Trace({name: np.empty(0) for name in COLUMNS}, Status.NOT_FINITE, str(error))
        return Trace(result.history, result.status, result.reason, result.notes)

    return run
