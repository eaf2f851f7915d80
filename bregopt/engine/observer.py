"""Who watches a run: progress bars, logs, recorders."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, final

from attrs import frozen

from bregopt.engine.state import State
from bregopt.part_errors import leave_as_it_is

if TYPE_CHECKING:
    from bregopt.engine.result import Result


class Observer(ABC):
    """Sees every state of a run, and its end."""

    @abstractmethod
    def see(self, state: State) -> None: ...

    def end(self, result: "Result") -> None:
        """Called once with the finished result."""
        return


@final
@frozen
class FunctionObserver(Observer):
    """An observer made of a plain function of the state."""

    function: Callable[[State], object]

    def see(self, state: State) -> None:
        try:
            self.function(state)
        except (Exception, SystemExit) as error:  # the caller's own, who may want to catch it
            leave_as_it_is(error)
            raise
