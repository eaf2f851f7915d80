"""Ctrl-C as a stop rule: the first ends the run after its iteration, the second at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from bregopt.rules.stopping import Progress, Status, StopRule, Verdict


@final
class Interrupt(StopRule):
    """Stops once Ctrl-C was pressed."""

    def __init__(self) -> None:
        self._pressed = False

    def judge(self, progress: Progress) -> Verdict | None:
        if not self._pressed:
            return None
        reason = f"Interrupted by Ctrl-C after {progress.iteration} iterations; the best point so far is kept."
        return Verdict(Status.INTERRUPTED, reason)

    @contextmanager
    def listening(self, heard: Callable[[], object] | None = None) -> Iterator[None]:
        """Take Ctrl-C; ``heard`` is called at the first one."""

        def press(*_: Any) -> None:
            if self._pressed:
                raise KeyboardInterrupt
            self._pressed = True
            if heard is not None:
                heard()

        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:  # a background job, which Ctrl-C is not meant for
            yield
            return
        signal.signal(signal.SIGINT, press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
