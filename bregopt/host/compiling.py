"""What a person reads who waits for loops to be compiled, once for a machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from bregopt.compile_clock import is_told, told_of_compiling

COMPILING = "compiling once for this machine"


@final
class CompilingLine:
    """One line on stderr, however many loops are compiled."""

    def __init__(self) -> None:
        self._said = False

    def compiling(self, loop: str) -> None:
        """Say what is waited for."""
        if not self._said:
            self._said = True
            told = f"bregopt: {COMPILING}, which takes some seconds; 'bregopt warm-up' does it beforehand"
            print(told, file=sys.stderr, flush=True)


@contextmanager
def person_told() -> Iterator[None]:
    """Inside, a person at a terminal or in a notebook reads that line, unless something else tells it already."""
    if is_told() or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    with told_of_compiling(CompilingLine().compiling):
        yield
