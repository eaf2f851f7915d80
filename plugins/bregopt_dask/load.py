"""From a dask array to blocks of rows that the workers hold: tasks, so that what dies with a worker is made again."""

import math
import operator
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, final

import dask
import numpy as np
from attrs import field, frozen
from bregopt_lowrank import Given, RemoteArray, check_matrix
from dask import delayed
from distributed import Client, get_client

from bregopt.errors import BregoptError, DataError
from bregopt_dask.lost import persistently
from bregopt_dask.matrix import Distributed
from bregopt_dask.row_block import Facts, RowBlock, hold
from bregopt_dask.workers import Workers


@final
@frozen(eq=False)
class DaskArray(RemoteArray):
    """An array by chunks of known sizes, dense or sparse."""

    array: Any = field(repr=False)

    @array.validator
    def _has_known_sizes(self, attribute: object, array: Any) -> None:
        if any(math.isnan(size) for size in array.shape):
            raise DataError("The chunks of a dask array must have known sizes. Call its compute_chunk_sizes() before.")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def load(self, given: Given) -> Distributed:
        """M on the workers of the current client, checked there."""
        m, n = self.array.shape
        if not m * n:
            raise DataError(f"M is empty. Got shape {(m, n)} instead of at least one row and one column.")
        client = _client()
        whole = self.array.rechunk({1: -1})
        chunks = [chunk for chunk in zip(whole.to_delayed()[:, 0], whole.chunks[0], strict=True) if chunk[1]]
        heights = [height for _, height in chunks]
        beside = {name: _by_rows(array, heights) for name, array in given.companions.items()}
        meant = any(not isinstance(array, DaskArray) for array in given.companions.values())
        quiet = {"distributed.admin.large-graph-warning-threshold": sys.maxsize} if meant else {}

        def survey() -> tuple[Workers, list[Facts]]:
            threads = max(1, sum(client.nthreads().values()) // len(chunks))  # a worker runs a task on each thread
            rows = [{name: parts[k] for name, parts in beside.items()} for k in range(len(chunks))]
            tasks = [
                delayed(hold)(chunk, (height, n), threads, given.missing, **rest)
                for (chunk, height), rest in zip(chunks, rows, strict=True)
            ]
            with dask.config.set(quiet):
                blocks = client.compute(tasks)
            return Workers.holding(client, blocks), client.gather(client.map(RowBlock.facts, blocks, pure=False))

        try:
            workers, facts = persistently(client, survey)
        except (BregoptError, Warning):
            raise
        except ImportError as error:
            raise DataError(
                f"A worker of the cluster lacks a package: {error}. Install bregopt[dask] there."
            ) from error
        except Exception as error:  # a chunk is made by anybody's functions
            raise DataError(f"A chunk of M could not be computed: {type(error).__name__}: {error}") from error
        return _whole((m, n), facts, workers, tuple(name for name in ("upper", "weights") if name in beside))


def _whole(
    shape: tuple[int, int], blocks: Sequence[Facts], workers: Workers, companions: tuple[str, ...]
) -> Distributed:
    """M from its blocks, if there is something in it and its size suits the precision."""
    missing, nonzeros = sum(block.missing for block in blocks), sum(block.nonzeros for block in blocks)
    most = max(block.most for block in blocks)
    if missing == shape[0] * shape[1]:
        raise DataError("Every entry of M is missing: there is nothing to decompose.")
    if not nonzeros and "upper" not in companions:
        raise DataError("M is zero everywhere: there is nothing to decompose.")
    if not most:
        raise DataError("Every weight is zero: there is nothing to fit.")
    norm, kinds = math.hypot(*(block.frobenius for block in blocks)), [block.dtype for block in blocks]
    if nonzeros:
        check_matrix(norm, min(kinds, key=operator.attrgetter("itemsize")))
    lowest = min(block.lowest for block in blocks)
    facts = (shape, np.result_type(*kinds), norm, nonzeros, lowest, missing, most)
    return Distributed(*facts, companions, workers, tuple(blocks))


def _by_rows(array: Any, heights: Sequence[int]) -> list[Any]:
    """The rows of a mask, of weights or of ``upper`` for each block; those that lie here are sent with the tasks."""
    if isinstance(array, DaskArray):
        chunks: list[Any] = array.array.rechunk((tuple(heights), (array.shape[1],))).to_delayed()[:, 0].tolist()
        return chunks
    if hasattr(array, "tocsr"):
        array = array.tocsr()
    elif not hasattr(array, "shape"):
        array = np.asarray(array)
    if isinstance(array, np.ndarray):
        array = np.asarray(array)  # no memory map: its file may be out of the workers' reach
    return [delayed(array[a:b], traverse=False) for a, b in pairwise(accumulate(heights, initial=0))]


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
