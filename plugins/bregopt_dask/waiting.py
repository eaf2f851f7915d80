"""Waiting for a cluster: workers that fall silent are restarted, and a cluster that does nothing more is an error."""

import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, TypeVar, final

import dask
from attrs import define, field
from dask.utils import parse_timedelta
from distributed import Client

from bregopt.errors import DataError, FaultWarning, ParameterError

Out = TypeVar("Out")
SETTING = "bregopt.patience"
"""Of dask's configuration: DASK_BREGOPT__PATIENCE in the environment."""
PATIENCE = "60s"
"""How long a worker may be silent: it sends a sign of life every second or so, unless a task holds its interpreter."""
LOOKS = 4
"""How often the cluster is looked at while patience lasts."""
ROUNDS = 3
"""How often workers are restarted for the same piece of work."""
NAMED = 3
"""Workers that a message names."""


@final
class StalledError(DataError):
    """Nothing is done although there are workers: it may help to ask them again."""


def gone(client: Client) -> DataError:
    """The error for a connection that is lost: with it the client has lost all that it had on the cluster."""
    return DataError(
        f"The dask scheduler at {client.scheduler.address} is gone, and with it the rows of M. "
        "Start the cluster and the run again."
    )


def patience() -> float:
    """Seconds without a sign of life after which a worker counts as lost."""
    found = dask.config.get(SETTING, PATIENCE)
    try:
        seconds = float(parse_timedelta(found))
    except (ValueError, KeyError, TypeError, AttributeError):
        seconds = 0.0
    if not seconds > 0:
        raise ParameterError(
            f"{SETTING} of dask's configuration must be a time above 0, such as '60s'. Got {found!r} instead."
        )
    return seconds


def in_background(work: Callable[[], Out]) -> "Future[Out]":
    """The work in a thread that nobody has to wait for."""
    answer: Future[Out] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="bregopt-dask", daemon=True).start()
    return answer


@final
@define(eq=False)
class Watch:
    """Waits for work, and looks at the cluster: looks are counted, as a program that is itself halted takes none."""

    client: Client
    patience: float = field(factory=patience)
    silence: dict[str, tuple[float, int]] = field(factory=dict)
    """of each worker its last sign of life, by the scheduler's clock, and for how many looks there was no other"""
    idle: int = 0
    """looks since the cluster last did something"""
    done: tuple[int, int] = (0, 0)
    """tasks that are finished, and all"""
    rounds: int = 0
    restarted: set[str] = field(factory=set)
    question: "Future[Mapping[str, Any]] | None" = None
    """the one that the scheduler has not answered yet, asked some looks ago"""
    unanswered: int = 0

    def wait_for(self, work: Callable[[], Out]) -> Out:
        """What ``work`` returns or raises; where the cluster is stuck, it is left behind."""
        self.idle = self.unanswered = 0
        answer = in_background(work)
        while not wait([answer], timeout=self.interval).done:
            self._look()
        return answer.result()

    @property
    def interval(self) -> float:
        """Seconds between two looks."""
        return self.patience / LOOKS

    def _look(self) -> None:
        """Restart the workers that have fallen silent; raise where nothing is to be expected any more."""
        workers = self._workers()
        if workers is None:
            return
        for address, worker in workers.items():
            seen, looks = self.silence.get(address, (None, 0))
            self.silence[address] = worker["last_seen"], looks + 1 if seen == worker["last_seen"] else 0
        lively = [worker for address, worker in workers.items() if not self.silence[address][1]]
        self.idle = 0 if self._works(lively) else self.idle + 1
        silent = [address for address in workers if self.silence[address][1] >= LOOKS]
        if self.idle >= LOOKS and set(silent) - self.restarted and self.rounds < ROUNDS:
            self._restart(silent)
        elif self.idle > 2 * LOOKS:  # one that falls silent is known by then
            stuck = StalledError if workers and not silent else DataError
            raise stuck(f"The dask cluster has done nothing for {2 * self.patience:g} s: {self._why(workers, silent)}")

    def _restart(self, silent: Sequence[str]) -> None:
        self.idle = 0
        self.rounds += 1
        self.restarted |= set(silent)
        warnings.warn(
            f"No sign of life from {_named(silent)} for {self.patience:g} s. The rows of M there are made again.",
            FaultWarning,
            stacklevel=2,
        )
        in_background(partial(_restart, self.client, silent, self.patience))  # if it fails, they stay silent

    def _workers(self) -> Mapping[str, Any] | None:
        """What the scheduler knows of its workers, or ``None`` if it has not answered yet."""
        if self.client.status != "running":
            raise gone(self.client)
        self.question = self.question or in_background(partial(_known_workers, self.client))
        if wait([self.question], timeout=self.interval).done:
            workers, self.question, self.unanswered = self.question.result(), None, 0
            return workers
        self.unanswered += 1
        if self.unanswered < LOOKS:
            return None
        raise DataError(
            f"The dask scheduler at {self.client.scheduler.address} has not answered for {self.patience:g} s. "
            "Start the cluster and the run again."
        )

    def _works(self, workers: Iterable[Any]) -> bool:
        """Whether a task runs, or one has been finished or added since the last look."""
        before = self.done
        states = [state.status for state in list(self.client.futures.values())]
        self.done = states.count("finished"), len(states)
        return self.done != before or any(worker["metrics"]["task_counts"].get("executing") for worker in workers)

    def _why(self, workers: Mapping[str, Any], silent: Sequence[str]) -> str:
        if not workers:
            lost = f" after it lost {_named(self.restarted)}, from which no sign of life came" if self.restarted else ""
            return f"it has no workers left{lost}. Start some, and the run again."
        if silent:
            return (
                f"no sign of life comes from {_named(silent)}. If a task may hold the interpreter of a worker for "
                f"longer, set {SETTING} of dask's configuration; else start other workers, and the run again."
            )
        paused = [address for address, worker in workers.items() if worker["status"] == "paused"]
        if paused:
            return f"memory is full at {_named(paused)}. Give the workers more memory, or use more of them."
        return f"no task runs at {_named(workers)}. Look there for the cause."


def _known_workers(client: Client) -> Mapping[str, Any]:
    return dict(client.scheduler_info(n_workers=-1)["workers"])


def _restart(client: Client, addresses: Sequence[str], seconds: float) -> None:
    """As the scheduler itself does after minutes: a worker without a nanny to start it anew is given up."""
    client.sync(
        client.scheduler.restart_workers,
        workers=list(addresses),
        timeout=seconds,
        wait_for_workers=False,
        on_error="return",
        stimulus_id="bregopt-silent-workers",
    )


def _named(addresses: Collection[str]) -> str:
    """``the worker tcp://…``, or some of several."""
    names = ", ".join(list(addresses)[:NAMED])
    more = f" and {len(addresses) - NAMED} more" if len(addresses) > NAMED else ""
    return f"the worker{'s' if len(addresses) > 1 else ''} {names}{more}"
