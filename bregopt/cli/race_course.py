"""What is raced on: matrices by their names, composed problems, and the points every method starts from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt.blocks import Blocks
from bregopt.cli.builtin import BUILT_IN, built_in
from bregopt.cli.matrix_file import read_matrix
from bregopt.cli.race_entrants import Field, field
from bregopt.engine.solve import feasible
from bregopt.errors import UnknownNameError
from bregopt.host.spec import parse
from bregopt.problem import ResolvedProblem, Start

DEFAULT_RANK = 10


@final
@frozen(eq=False, kw_only=True)
class Course:
    """A problem, the start of every seed, and who takes part."""

    facts: Mapping[str, Any]
    problem: ResolvedProblem
    points: Sequence[Blocks]
    field: Field


def matrix(name: str) -> Any:
    """The matrix of a built-in's spec, or in a file."""
    called = name.partition("(")[0].strip()
    if called in BUILT_IN:
        return built_in(parse(name))
    path = Path(name)
    if not (path.suffix or path.exists()):
        known = " and ".join(BUILT_IN)
        raise UnknownNameError(f"There is no built-in matrix {called!r}, only {known}, and no file {name!r}.")
    return read_matrix(path)


def courses(
    matrices: Mapping[str, Any],
    ranks: Sequence[int],
    starts: Mapping[str, Start],
    seeds: int,
    methods: Sequence[str],
    **model: Any,
) -> Iterator[Course]:
    """One for each matrix, rank and start, with every method tried on it."""
    for name, M in matrices.items():
        for rank in dict.fromkeys(ranks) or [min(DEFAULT_RANK, *M.shape)]:
            problem = bregopt.compose("relu-nmd", M, rank=rank, **model)
            for start, first in starts.items():
                points = _points(problem, first, seeds)
                shape = {"rows": M.shape[0], "columns": M.shape[1], "density": _density(M)}
                facts = {"matrix": name, **shape, "rank": rank, "start": start}
                yield Course(facts=facts, problem=problem, points=points, field=field(problem, points[0], methods))


def _points(problem: ResolvedProblem, start: Start, seeds: int) -> list[Blocks]:
    """Y⁰ of every seed; a start that draws nothing has one only."""
    points: list[Blocks] = []
    for seed in range(seeds):
        Y, _ = feasible(problem, problem.first_point(start, np.random.default_rng(seed)))
        if points and np.array_equal(Y.flat, points[-1].flat):
            break
        points.append(Y)
    return points


def _density(M: Any) -> float:
    nonzeros = int(np.count_nonzero(M if isinstance(M, np.ndarray) else M.data))
    return nonzeros / (int(M.shape[0]) * int(M.shape[1]))
