"""From a dask array to blocks of rows that the workers hold: tasks, so that what dies with a worker is made again."""

import math
import operator
from typing import Any

import numpy as np
from bregopt_lowrank import check_matrix
from dask import delayed
from distributed import Client, get_client

from bregopt.errors import BregoptError, DataError
from bregopt_dask.lost import persistently
from bregopt_dask.matrix import Distributed
from bregopt_dask.row_block import RowBlock, hold
from bregopt_dask.workers import Workers


def load(M: Any) -> Distributed:
    """M on the workers of the current client, checked there."""
    _check(M)
    client = _client()
    whole = M.rechunk({1: -1})
    chunks = [chunk for chunk in zip(whole.to_delayed()[:, 0], whole.chunks[0], strict=True) if chunk[1]]

    def survey() -> tuple[Workers, Any]:
        threads = max(1, sum(client.nthreads().values()) // len(chunks))  # a worker runs a task on each of its threads
        blocks = client.compute([delayed(hold)(chunk, (height, M.shape[1]), threads) for chunk, height in chunks])
        facts = client.gather(client.map(RowBlock.facts, blocks, pure=False))
        return Workers.holding(client, blocks), facts

    try:
        workers, facts = persistently(client, survey)
    except (BregoptError, Warning):
        raise
    except ImportError as error:
        raise DataError(f"A worker of the cluster lacks a package: {error}. Install bregopt[dask] there.") from error
    except Exception as error:  # a chunk is made by anybody's functions
        raise DataError(f"A chunk of M could not be computed: {type(error).__name__}: {error}") from error
    kinds, norms, nonzeros, lowest = zip(*facts, strict=True)
    if not any(nonzeros):
        raise DataError("M is zero everywhere: there is nothing to decompose.")
    edges = tuple(np.cumsum([0, *(height for _, height in chunks)]).tolist())
    norm = math.hypot(*norms)
    check_matrix(norm, min(kinds, key=operator.attrgetter("itemsize")))
    return Distributed(M.shape, np.result_type(*kinds), norm, sum(nonzeros), min(lowest), workers, edges)


def _client() -> Client:
    try:
        client = get_client()
    except ValueError:
        client = None
    if client is None or client.status != "running":
        raise DataError(
            "A dask array needs a running dask.distributed client. Start one before: client = distributed.Client()."
        )
    return client


def _check(M: Any) -> None:
    if M.ndim != 2:
        raise DataError(f"M must be a matrix with two dimensions. Got shape {M.shape} instead.")
    if any(math.isnan(size) for size in M.shape):
        raise DataError("The chunks of M must have known sizes. Call M.compute_chunk_sizes() before.")
    if 0 in M.shape:
        raise DataError(f"M is empty. Got shape {M.shape} instead of at least one row and one column.")
