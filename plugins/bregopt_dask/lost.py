"""Work on the cluster that is done again where it was lost with a worker."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TypeVar

from distributed import Client, KilledWorker

from bregopt.errors import BregoptError, DataError
from bregopt_dask.waiting import StalledError, Watch, gone

Out = TypeVar("Out")
TRIES = 6
PAUSE = 0.2
"""Seconds before the second try, twice as many before each further one: a worker takes a few to start anew."""


def persistently(client: Client, work: Callable[[], Out]) -> Out:
    """What ``work``, a pure function, returns; a worker that was lost costs another try, what it raised is raised."""
    watch = Watch(client)
    failure: Exception | None = None
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        if failure and client.status != "running":
            raise gone(client) from failure
        if client.status in ("closing", "closed"):
            raise DataError("The dask client was closed, and M lies on its cluster. Keep it open as long as M is used.")
        try:
            return watch.wait_for(work)
        except BregoptError as error:
            if not isinstance(error, StalledError) or isinstance(failure, StalledError):
                raise type(error)(*error.args) from None  # without the frames of the worker
            failure = error
        except (OSError, CancelledError, KilledWorker) as error:
            failure = error
    if isinstance(failure, KilledWorker):
        raise DataError(
            "Every worker of the dask cluster that ran a certain task died, mostly a sign that its memory was full. "
            "Give the workers more memory, or M smaller chunks."
        ) from failure
    raise DataError(
        f"The cluster failed {TRIES} times in a row. The last time: {type(failure).__name__}: {failure}"
    ) from failure
