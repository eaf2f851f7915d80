"""Where a run begins: from Blocks, arrays, a result, a spec, or what a run has saved."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.checkpoint import saved_point
from bregopt.engine.result import Result
from bregopt.errors import DataError, parameter
from bregopt.host.compose import make
from bregopt.part_errors import times
from bregopt.problem import ResolvedProblem, Start

Given = Blocks | Result | Start | str | Path | Mapping[str, Any] | Sequence[Any] | np.ndarray[Any, Any] | None
"""A start as ``solve`` takes it."""


def first_point(problem: ResolvedProblem, start: Given, seed: int | np.random.Generator) -> Blocks:
    """Y⁰."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer, np.random.Generator)):
        raise parameter("seed", "solve", "a whole number or a numpy Generator", seed)
    if not isinstance(seed, np.random.Generator) and seed < 0:
        raise parameter("seed", "solve", "a whole number >= 0", seed)
    return problem.first_point(_start(problem, start), np.random.default_rng(seed))


def _start(problem: ResolvedProblem, start: Given) -> Blocks | Start | None:
    if isinstance(start, Path) or (isinstance(start, str) and (os.sep in start or Path(start).exists())):
        return saved_point(start)
    if isinstance(start, Result):
        return start.Y
    if start is None or isinstance(start, (Blocks, Start)):
        return start
    if isinstance(start, Mapping):
        return _named(problem, start)
    if isinstance(start, (tuple, list, np.ndarray)):
        return _in_order(problem, [start] if isinstance(start, np.ndarray) else start)
    made: Start = make("start", start)
    return made


def _in_order(problem: ResolvedProblem, arrays: Sequence[Any]) -> Blocks:
    """``start=(U, V)``."""
    shapes = _shapes(problem)
    if len(arrays) != len(shapes):
        raise DataError(
            f"A start of arrays has one for each block, in this order: {_told(shapes)}. "
            f"Got {len(arrays)} {'array' if len(arrays) == 1 else 'arrays'} instead."
        )
    return _checked(shapes, dict(zip(shapes, arrays, strict=True)))


def _named(problem: ResolvedProblem, arrays: Mapping[str, Any]) -> Blocks:
    """``start={"U": U, "V": V}``."""
    shapes = _shapes(problem)
    if set(arrays) != set(shapes):
        found = ", ".join(map(str, arrays)) or "none"
        raise DataError(f"A start of arrays names each block: {_told(shapes)}. Got {found} instead.")
    return _checked(shapes, {name: arrays[name] for name in shapes})


def _checked(shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Any]) -> Blocks:
    Y = Blocks(**arrays)
    for name, shape in shapes.items():
        if Y[name].shape != shape:
            turned = " Transpose it." if Y[name].shape == shape[::-1] else ""
            raise DataError(f"The start has {name} of shape {times(Y[name].shape)}, not {times(shape)}.{turned}")
    return Y


def _shapes(problem: ResolvedProblem) -> dict[str, tuple[int, ...]]:
    """The blocks of the problem: as it says, or as its own start has them."""
    if problem.shapes is not None:
        return {name: tuple(shape) for name, shape in problem.shapes.items()}
    layout = problem.first_point(None, np.random.default_rng(0)).layout
    return dict(zip(layout.names, layout.shapes, strict=True))


def _told(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} of shape {times(shape)}" for name, shape in shapes.items())
