"""From the options of ``bregopt solve`` to a finished run."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import bregopt
from bregopt.cli.builtin import NAME, mycielskian
from bregopt.cli.cluster import cluster
from bregopt.cli.interrupt import Interrupt
from bregopt.cli.matrix_file import read_matrix
from bregopt.cli.progress import Bar, terminal
from bregopt.cli.run import Asked, Run
from bregopt.cli.stop_options import stop_options

DEFAULT_RANK = 10


def perform(
    file: Path | None,
    *,
    rank: int | None,
    U: str,
    V: str,
    kernel: str,
    method: str,
    start: str | None,
    seed: int,
    stop: Sequence[str],
    max_iterations: int | None,
    max_seconds: float | None,
    tolerance: float | None,
    dask: str | None,
    dashboard: bool,
    progress: bool,
) -> Run:
    """Read, compose, solve; every spec is read before the data, so that a misspelt one costs no time."""
    interrupt = Interrupt()
    limits = stop_options(interrupt, stop, max_iterations, max_seconds, tolerance)
    parts = {"U": bregopt.make("regularizer", U), "V": bregopt.make("regularizer", V)}
    algorithm = bregopt.make("method", method)
    first = None if start is None else bregopt.make("start", start)

    with cluster(dask, dashboard) as placed:
        M = mycielskian() if file is None else read_matrix(file)
        rank = min(DEFAULT_RANK, *M.shape) if rank is None else rank
        problem = bregopt.compose("relu-nmd", placed(M), rank=rank, kernel=kernel, **parts)

        console = terminal() if progress else None
        bar = Bar(console, limits["max_iterations"], max_seconds) if console else None
        with bar or nullcontext(), interrupt.listening(bar.stopping if bar else None):
            observers = [bar] if bar else []
            result = bregopt.solve(problem, method=algorithm, start=first, seed=seed, observers=observers, **limits)
    asked = Asked(
        matrix=NAME if file is None else file.name,
        shape=M.shape,
        nonzeros=_nonzeros(M),
        rank=rank,
        U=U,
        V=V,
        kernel=kernel,
    )
    return Run(problem=asked, method=method, start=start, seed=seed, result=result)


def _nonzeros(M: Any) -> int:
    import numpy as np

    return int(np.count_nonzero(M if isinstance(M, np.ndarray) else M.data))
