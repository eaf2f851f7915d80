"""Who watches a run, and what Ctrl-C does to it."""

from collections.abc import Callable
from pathlib import Path

from bregopt.engine.observer import FunctionObserver, Observer
from bregopt.engine.result import Result
from bregopt.engine.state import State
from bregopt.errors import IncompatibleError, parameter
from bregopt.rules.interrupt import Interrupt
from bregopt.rules.stopping import Combined, Status, StopRule

RAISE, RETURN = "raise", "return"


def observer_of(watcher: Observer | Callable[[State], object]) -> Observer:
    """An observer as it is, or one made of a function of the state."""
    if isinstance(watcher, Observer):
        return watcher
    if callable(watcher):
        return FunctionObserver(watcher)
    raise IncompatibleError(f"An observer must be an Observer or a function of the state. Got {watcher!r} instead.")


def interruptible(
    run: Callable[[StopRule], Result], stop: StopRule, on_interrupt: str, saved: Path | None = None
) -> Result:
    """A run that Ctrl-C ends after its iteration, where it is saved or its result is wanted; else it ends at once.

    A rule that listens to Ctrl-C already is left alone.
    """
    if on_interrupt not in (RAISE, RETURN):
        raise parameter("on_interrupt", "solve", f"'{RAISE}' or '{RETURN}'", on_interrupt)
    if _listens(stop) or (on_interrupt == RAISE and saved is None):
        return run(stop)
    interrupt = Interrupt()
    with interrupt.listening():
        result = run(stop | interrupt)
    if result.status is Status.INTERRUPTED and on_interrupt == RAISE:
        raise KeyboardInterrupt(f"The run is saved in {str(saved)!r}: bregopt.resume goes on with it.")
    return result


def _listens(stop: StopRule) -> bool:
    return (isinstance(stop, Interrupt) and stop.active) or (
        isinstance(stop, Combined) and any(map(_listens, stop.rules))
    )
