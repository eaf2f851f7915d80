"""Who watches a run, and what Ctrl-C does to it."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bregopt.engine.observer import FunctionObserver, Observer
from bregopt.engine.result import Result
from bregopt.engine.state import State
from bregopt.errors import IncompatibleError, InterruptedWarning, brief, parameter
from bregopt.host.compiling import person_told
from bregopt.rules.interrupt import Interrupt
from bregopt.rules.stopping import Combined, Status, StopRule

RAISE, RETURN = "raise", "return"
Watcher = Observer | Callable[[State], object]
Watchers = Watcher | Iterable[Watcher]


def observers_of(given: Watchers) -> list[Observer]:
    """One observer, or several."""
    if isinstance(given, Observer) or callable(given):
        return [observer_of(given)]
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise IncompatibleError(f"Observers must be Observers or functions of the state. Got {brief(given)} instead.")
    return [observer_of(it) for it in given]


def observer_of(watcher: Watcher) -> Observer:
    """An observer as it is, or one made of a function of the state."""
    if isinstance(watcher, Observer):
        return watcher
    if callable(watcher):
        return FunctionObserver(watcher)
    raise IncompatibleError(
        f"An observer must be an Observer or a function of the state. Got {brief(watcher)} instead."
    )


@contextmanager
def progress_of(asked: bool, iterations: int | None, seconds: float | None) -> Iterator[list[Observer]]:
    """The display of a run, if it was asked for; else a person is told of compiling only."""
    if not asked:
        with person_told():
            yield []
        return
    from bregopt.host.progress import shown  # rich, which nothing else here needs

    with shown(iterations, seconds) as display:
        yield [display]


def interruptible(
    run: Callable[[StopRule], Result], stop: StopRule, on_interrupt: str, saved: Path | None = None
) -> Result:
    """A run that Ctrl-C ends after its iteration, with a warning where the program goes on.

    A rule that listens to Ctrl-C already is left alone.
    """
    if on_interrupt not in (RAISE, RETURN):
        raise parameter("on_interrupt", "solve", f"'{RAISE}' or '{RETURN}'", on_interrupt)
    if _listens(stop) or (on_interrupt == RAISE and saved is None):
        return run(stop)
    interrupt = Interrupt()
    with interrupt.listening():
        result = run(stop | interrupt)
    if result.status is not Status.INTERRUPTED:
        return result
    if on_interrupt == RAISE:
        raise KeyboardInterrupt(f"The run is saved in {str(saved)!r}: bregopt.resume goes on with it.")
    more = "" if saved is None else f" bregopt.resume({str(saved)!r}) goes on with the run."
    warnings.warn(
        f"{result.reason}{more} The program goes on; with on_interrupt='raise' Ctrl-C ends it.",
        InterruptedWarning,
        stacklevel=5,  # the line that called solve
    )
    return result


def _listens(stop: StopRule) -> bool:
    return any(interrupt.active for interrupt in interrupts(stop))


def interrupts(stop: StopRule) -> Iterator[Interrupt]:
    """The rules in it that listen to Ctrl-C."""
    if isinstance(stop, Interrupt):
        yield stop
    elif isinstance(stop, Combined):
        for rule in stop.rules:
            yield from interrupts(rule)
