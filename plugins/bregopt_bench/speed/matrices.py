"""What is timed: matrices of sizes given on the command line or in a file, and one pass over them.

A size is ROWSxCOLUMNS:RANK, with a density where the matrix is to be sparse.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, final

import click
import numpy as np
from attrs import evolve, frozen

import bregopt
from bregopt import Blocks, ResolvedProblem
from bregopt.matrices import read_matrix
from bregopt_bench.measuring import Task

PATTERN = re.compile(r"([1-9]\d*)[x×]([1-9]\d*):(\d+)(?::(\d*\.?\d+(?:e-\d+)?))?", re.ASCII)
DTYPES = ("float64", "float32")
SEED = 0
BETA = 0.6
METHOD = f"aapb(beta={BETA}, step=1)"
"""The paper's."""
PARTS = {"U": "l1(0.01)", "V": "l1(0.015)", "kernel": "paper"}
"""Of the paper's model."""


@final
@frozen
class Size:
    """An m×n matrix to be decomposed with rank r; one with a density is sparse."""

    m: int
    n: int
    rank: int
    density: float | None = None

    def __str__(self) -> str:
        return f"{self.m}×{self.n}"

    @property
    def spec(self) -> str:
        """As the command line takes it."""
        return f"{self.m}x{self.n}:{self.rank}" + ("" if self.density is None else f":{self.density:g}")


def size_type(density: bool | None = None) -> Callable[[Any], Size]:
    """The type of an option: ``6000x8000:30:0.004``; the density may be left out, must be given, or is refused."""
    form, example = {
        None: ("ROWSxCOLUMNS:RANK[:DENSITY]", "6000x8000:30 or 6000x8000:30:0.004"),
        True: ("ROWSxCOLUMNS:RANK:DENSITY", "6000x8000:30:0.004"),
        False: ("ROWSxCOLUMNS:RANK", "6000x8000:30"),
    }[density]

    def size(value: Any) -> Size:
        if isinstance(value, Size):
            return value
        found = PATTERN.fullmatch(value)
        if not found or density not in (None, found[4] is not None):
            raise click.BadParameter(f"{value!r} is not of the form {form}, as in {example}.")
        m, n, rank = (int(number) for number in found.groups()[:3])
        if not 1 <= rank <= min(m, n):
            raise click.BadParameter(f"{value!r} has rank {rank}; for {m}×{n} it must be from 1 to {min(m, n)}.")
        share = float(found[4]) if found[4] else None
        if share is not None and not 1 <= share * m * n <= m * n:
            raise click.BadParameter(f"{value!r} has the density {found[4]}; it must be from 1/{m * n} to 1.")
        return Size(m, n, rank, share)

    return size


def size_flag(name: str, default: Size, text: str) -> Callable[..., Any]:
    """An option that measures something more, at the size that follows it or at a default one."""
    dense = default.density is None
    return click.option(
        name,
        metavar="[MxN:r]" if dense else "[MxN:r:density]",
        type=size_type(density=not dense),
        is_flag=False,
        flag_value=default,
        help=f"{text}  [size: {default.spec}]",
    )


@final
@frozen(eq=False)
class TimedMatrix:
    """M, dense, CSR or a memory map, with the rank and the precision to decompose it in."""

    name: str
    M: Any
    rank: int
    dtype: str
    """of the products"""

    @property
    def density(self) -> float | None:
        """The share of non-zeros of a sparse M."""
        m, n = self.M.shape
        return self.M.nnz / (m * n) if hasattr(self.M, "nnz") else None

    @property
    def facts(self) -> dict[str, Any]:
        m, n = self.M.shape
        shape = {"rows": m, "columns": n, "rank": self.rank, "density": self.density}
        return {"matrix": self.name, **shape, "dtype": self.dtype}

    def problem(self, **options: Any) -> ResolvedProblem:
        """The paper's model of M."""
        return paper_problem(self.M, self.rank, dtype=self.dtype, **options)

    def on(self, device: str) -> "TimedMatrix":
        """The matrix as a torch tensor on a device."""
        from bregopt_torch import on_device

        return evolve(self, M=on_device(self.M.astype(self.dtype), device))


def drawn(size: Size, dtype: str) -> TimedMatrix:
    """A random M ≥ 0: the positive part of Gaussian entries, or uniform ones at random places."""
    rng = np.random.default_rng(SEED)
    if size.density is None:
        M = rng.standard_normal((size.m, size.n), dtype=np.dtype(dtype).type)
        return TimedMatrix(str(size), np.maximum(M, 0, out=M), size.rank, dtype)
    from scipy.sparse import csr_array

    places = random_places(size, rng)
    values = 1 - rng.random(places.size, dtype=np.dtype(dtype).type)  # in (0, 1]
    M = csr_array((values, np.divmod(places, size.n)), shape=(size.m, size.n))
    return TimedMatrix(str(size), M, size.rank, dtype)


def random_places(size: Size, rng: np.random.Generator) -> Any:
    """Of the entries of a sparse M, row by row from 0 to m·n − 1."""
    count = round((size.density or 1.0) * size.m * size.n)
    return rng.choice(size.m * size.n, count, replace=False, shuffle=False)


def in_file(path: Path, rank: int, dtypes: Sequence[str]) -> Iterator[TimedMatrix]:
    """The matrix in a file, in each precision."""
    M = read_matrix(path)
    name = f"{path.name} {M.shape[0]}×{M.shape[1]}"
    yield from (TimedMatrix(name, M, rank, dtype) for dtype in dtypes)


def paper_problem(M: Any, rank: int, **options: Any) -> ResolvedProblem:
    """The paper's model of M."""
    return bregopt.compose("relu-nmd", M, rank=rank, **PARTS, **options)


def evaluation(problem: ResolvedProblem, Y: Blocks, at: Blocks | None = None) -> Task:
    """One pass: an evaluation of Y with the gradient, there or at another point."""
    oracle = problem.oracle
    return lambda: lambda: oracle.evaluate(Y, at=Y if at is None else at)


def first_evaluation(problem: ResolvedProblem) -> Task:
    """One pass at the start of the problem."""
    return evaluation(problem, next(bregopt.iterate(problem, method=METHOD)).Y)
