"""The paper's method on a matrix that lies on disk: seconds of an iteration, and the memory it takes."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import bregopt
from bregopt.errors import FileError
from bregopt_bench.display import Show
from bregopt_bench.measuring import memory_growth
from bregopt_bench.speed.matrices import METHOD, SEED, Size, drawn, paper_problem

STORED_SIZE = Size(20000, 50000, 20)
ITERATIONS = 3
DTYPE = "float32"
WRITE_ENTRIES = 2**22
SPARE = 2**28
"""Bytes of the disk that are left alone."""


def stored_row(size: Size, show: Show) -> dict[str, Any]:
    """Write a random M to a temporary folder, iterate on it as a memory map, and remove it whatever happens."""
    needed = size.m * size.n * np.dtype(DTYPE).itemsize
    with tempfile.TemporaryDirectory(prefix="bregopt-bench-") as folder:
        free = shutil.disk_usage(folder).free
        if needed + SPARE > free:
            raise FileError(
                f"--stored needs {needed / 1e9:.1f} GB in {tempfile.gettempdir()!r}, where {free / 1e9:.1f} GB are "
                "free. Give a smaller size, or set TMPDIR to a folder on another disk."
            )
        _iterate(drawn(Size(300, 300, 1), DTYPE).M, 1, show)  # compiled loops take memory of their own
        path = Path(folder) / "M"
        show(f"writing {size}, {needed / 1e9:.1f} GB")
        _write(path, size)

        def work() -> list[float]:
            return _iterate(np.memmap(path, DTYPE, "r", shape=(size.m, size.n)), size.rank, show)

        seconds, memory = memory_growth(work)
    return {
        **{"matrix": str(size), "rows": size.m, "columns": size.n, "rank": size.rank, "dtype": DTYPE},
        "bytes": needed,
        "iteration_seconds": sum(seconds) / len(seconds),
        "seconds": seconds,
        "memory_bytes": memory,
    }


def _write(path: Path, size: Size) -> None:
    """Uniform entries, in blocks of rows."""
    rng = np.random.default_rng(SEED)
    M = np.memmap(path, DTYPE, "w+", shape=(size.m, size.n))
    height = max(1, WRITE_ENTRIES // size.n)
    for start in range(0, size.m, height):
        block = M[start : start + height]
        block[...] = rng.random(block.shape, dtype=np.float32)


def _iterate(M: Any, rank: int, show: Show) -> list[float]:
    """Seconds of each iteration after the start."""
    show("reading M once, and looking at the start")
    run = bregopt.iterate(paper_problem(M, rank), method=METHOD)
    next(run)
    seconds = []
    for k in range(ITERATIONS):
        show(f"iteration {k + 1} of {ITERATIONS}")
        begin = time.perf_counter()
        next(run)
        seconds.append(time.perf_counter() - begin)
    return seconds
