"""What a run returns."""

from collections.abc import Mapping
from typing import Any, final

from attrs import field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.engine.certificate import Certificate
from bregopt.engine.method import Method
from bregopt.engine.state import Counts
from bregopt.errors import NotSolvedError
from bregopt.rules.stopping import Status


@final
@frozen(eq=False, kw_only=True)
class Result:
    """The end of a run.

    Attributes
    ----------
    Y : Blocks
        The solution, ``result.Y.U`` and so on.
    W : object
        The closed-form block at Y.
    objective : float
        Φ(Y, W).
    status, reason : Status, str
        Why the run ended, for machines and for people.
    certificate : Certificate
        What was true of the run.
    history : mapping of arrays
        One row a state: iteration, seconds, objective, lyapunov, beta, step, divergence, stationarity, products
        and the metrics of the problem.
    """

    Y: Blocks
    W: Any = field(repr=False)
    objective: float
    metrics: Mapping[str, float]
    status: Status
    reason: str
    iterations: int
    seconds: float
    certificate: Certificate = field(repr=False)
    counts: Counts
    history: Mapping[str, Array] = field(repr=False)
    method: Method

    @property
    def converged(self) -> bool:
        """Whether the goal of the run was reached, rather than a limit."""
        return self.status.converged

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened beside the iteration, such as a start that had to be moved."""
        return self.certificate.notes

    def raise_for_status(self) -> "Result":
        """Raise NotSolvedError unless the run converged; else return the result itself."""
        if not self.converged:
            raise NotSolvedError(f"The run did not converge ({self.status.value}): {self.reason}")
        return self
