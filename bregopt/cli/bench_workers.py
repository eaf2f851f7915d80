"""The pass on a dask array, spread over the processes of a local cluster."""

import logging
from importlib import import_module
from typing import Any

import click

from bregopt.cli.bench_case import SEED
from bregopt.cli.bench_growth import speedups
from bregopt.cli.bench_size import Size
from bregopt.cli.bench_task import first_look, problem_of
from bregopt.cli.notice import Notice

DEFAULT = Size(10000, 10000, 100)
"""A pass of more than a second on one worker: in less, the messages between processes would weigh."""
COUNTS = (1, 2)
CHUNKS = 8


def worker_rows(size: Size, dtype: str, repeats: int, show: Notice) -> list[dict[str, Any]]:
    """The pass on one and on two workers with a single thread each."""
    from bregopt.cli.timing import best

    distributed, da = dask_modules()
    seconds = {}
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    for count in COUNTS:
        show(f"measuring {size}, rank {size.rank}, {dtype}, on {count} of {len(COUNTS)} dask workers")
        with distributed.LocalCluster(n_workers=count, **options) as cluster, distributed.Client(cluster):
            M = da.random.default_rng(SEED).standard_normal((size.m, size.n), chunks=(-(-size.m // CHUNKS), size.n))
            M = da.maximum(M, 0).astype(dtype)  # drawn by the workers: nothing of size m×n is sent
            seconds[count] = best({"pass": first_look(problem_of(M, size.rank))}, repeats=repeats)["pass"]
    shape = {"matrix": str(size), "rows": size.m, "columns": size.n, "rank": size.rank, "dtype": dtype}
    return speedups(shape, "workers", seconds)


def dask_modules() -> tuple[Any, Any]:
    """``distributed`` and ``dask.array``, or what to install."""
    try:
        return import_module("distributed"), import_module("dask.array")
    except ImportError:
        raise click.ClickException("--workers needs dask and distributed. Install them, or 'bregopt[dask]'.") from None
