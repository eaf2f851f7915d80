"""Ctrl-C and its like as a stop rule: the first ends the run after its iteration, the second at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from attrs import define, field

from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

CTRL_C = (signal.SIGINT,)
ENDINGS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the wish of the system that the program ends, and the end of its terminal."""
OF_PYTHON = (signal.default_int_handler, signal.SIG_DFL)
"""Who takes a signal where the program says nothing else."""
SPOKEN = {"SIGINT": "Ctrl-C", "SIGTERM": "the signal SIGTERM", "SIGHUP": "the end of the terminal"}


@final
@define(eq=False)
class Interrupt(StopRule):
    """Stops once Ctrl-C was pressed."""

    heard: signal.Signals | None = field(default=None, init=False)
    """the signal that was heard"""
    active: bool = field(default=False, init=False)
    """whether it is listening now"""

    def judge(self, progress: Progress) -> Verdict | None:
        if self.heard is None:
            return None
        by = SPOKEN.get(self.heard.name, self.heard.name)
        reason = f"Interrupted by {by} after {progress.iteration} iterations; the best point so far is kept."
        return Verdict(Status.INTERRUPTED, reason)

    @contextmanager
    def listening(
        self, heard: Callable[[], object] | None = None, signals: tuple[signal.Signals, ...] = CTRL_C
    ) -> Iterator[None]:
        """Take the signals; ``heard`` is called at the first one. Only the main thread is ever told of a signal.

        A signal that the program takes itself, or ignores as a background job does, is left to it.
        """

        def press(number: int, _: Any) -> None:
            if self.heard is not None:
                raise KeyboardInterrupt
            self.heard = signal.Signals(number)
            if heard is not None:
                heard()

        before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {one: handler for one in signals if (handler := signal.getsignal(one)) in OF_PYTHON}
        self.active = True
        try:
            for one in before:
                signal.signal(one, press)
            yield
        finally:
            self.active = False
            for one, handler in before.items():
                signal.signal(one, handler)
