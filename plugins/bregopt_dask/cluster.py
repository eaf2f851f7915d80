"""The cluster of ``--dask``: started here or found at an address, with M put on it by blocks of rows."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

import click
import numpy as np

from bregopt.errors import ParameterError, PluginError

LOCAL = "local"
PATIENCE = 5.0
"""Seconds in which a scheduler must answer, and have a worker."""
PER_THREAD = 4
"""Blocks for each thread of the cluster, at least."""
BLOCK_BYTES = 2**26
"""A block weighs no more than that."""


@contextmanager
def cluster(address: str, dashboard: bool) -> Iterator[Callable[[Any], Any]]:
    """A function that puts a matrix on the cluster; in the end all is closed.

    Where to watch the cluster is said on stderr if ``dashboard`` is wanted.
    """
    try:
        import dask.array  # noqa: F401  (what dask needs for arrays may be missing too)
        from distributed import Client
    except ImportError:
        raise PluginError("--dask needs dask and distributed. Install them: pip install 'bregopt[dask]'.") from None
    with ExitStack() as opened:
        if address == LOCAL:
            client = opened.enter_context(Client(opened.enter_context(_local())))
        else:
            client = opened.enter_context(_connected(address))
        if dashboard:
            click.echo(f"Dashboard of the cluster: {client.dashboard_link}", err=True)
        yield lambda M: _placed(M, client)


def _local() -> Any:
    """One worker for each processor."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the workers inherit it: Ctrl-C is not meant for them
    try:
        return LocalCluster(
            n_workers=CPU_COUNT,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,  # workers complain about their own end
        )
    finally:
        signal.signal(signal.SIGINT, before)


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        asyncio.run(_asked(address))
    except Exception as error:  # what is no scheduler answers anything
        raise ParameterError(
            f"--dask: no dask scheduler answers at {address!r}: {str(error) or 'nothing came back'}. "
            f"Give the address that 'dask scheduler' prints, as in tcp://host:8786, or {LOCAL!r}."
        ) from error
    client = Client(address, timeout=PATIENCE)
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        client.close()
        raise ParameterError(
            f"--dask: the scheduler at {address!r} has no workers. Start some: dask worker {address}"
        ) from None
    return client


async def _asked(address: str) -> None:
    """Whether a scheduler answers: a Client that finds none stays half open, and may block whoever collects it."""
    from distributed import Security, rpc

    async with rpc(address, timeout=PATIENCE, connection_args=Security().get_connection_args("client")) as there:
        await asyncio.wait_for(there.identity(), PATIENCE)


def _placed(M: Any, client: Any) -> Any:
    """M as a dask array of blocks, each a task with its rows inside, which are sent again if a worker dies."""
    import dask
    import dask.array as da

    m, n = M.shape
    if isinstance(M, np.ndarray):
        M, weight = np.asarray(M), M.nbytes  # no memory map: its file may be out of the workers' reach
    else:
        weight = M.data.nbytes + M.indices.nbytes
    count = min(m, max(PER_THREAD * sum(client.nthreads().values()), -(-weight // BLOCK_BYTES)))
    edges = [m * k // count for k in range(count + 1)]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize}):  # the rows are meant
        blocks = [(client.persist(dask.delayed(M[a:b])), (b - a, n)) for a, b in pairwise(edges)]
    return da.concatenate([da.from_delayed(block, shape=shape, dtype=M.dtype) for block, shape in blocks])
