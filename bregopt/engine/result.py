"""What a run returns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from attrs import field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.engine.answer import sentences, sparsity
from bregopt.engine.certificate import Certificate
from bregopt.engine.frames import block_frame, history_frame
from bregopt.engine.history import History
from bregopt.engine.method import Method
from bregopt.engine.state import Counts
from bregopt.errors import IncompatibleError, NotSolvedError
from bregopt.labels import Labels, block_lines
from bregopt.notebook import curve, table
from bregopt.parts.data_model import DataModel, Reconstruction
from bregopt.rules.stopping import Status


@final
@frozen
class StartRecord:
    """One of several starts, as far as it came."""

    seed: int
    objective: float
    """the lowest Φ that it reached"""
    iterations: int
    products: float
    ended: bool
    """whether it went on to the end of its run; else it was left on the way"""


@final
@frozen(eq=False, kw_only=True, repr=False)
class Result:
    """The end of a run. ``print(result)`` says in plain words what came out.

    Attributes
    ----------
    Y : Blocks
        The solution, ``result.Y.U`` and so on.
    W : object
        The closed-form block at Y; ``None`` in a result that was loaded, as it needs the data.
    objective : float
        Φ(Y, W).
    status, reason : Status, str
        Why the run ended, for machines and for people.
    certificate : Certificate
        What was true of the run.
    history : mapping of arrays
        One row a state: iteration, seconds, objective, lyapunov, beta, step, divergence, stationarity, products
        and the metrics of the problem.
    labels : Labels or None
        What the rows and columns of the data are called, where they have names.
    problem : str
        What the problem is called.
    data_model : DataModel or None
        What Y says about the data, as in max(0, UV); ``reconstruct`` makes the data of it.
    starts : tuple of StartRecord
        Of a run with several starts, each of them by its seed. The result is that of the best one, and so is its
        history; ``seconds`` and ``counts`` are those of all.
    """

    Y: Blocks
    W: Any
    objective: float
    metrics: Mapping[str, float]
    status: Status
    reason: str
    iterations: int
    seconds: float
    certificate: Certificate
    counts: Counts
    history: Mapping[str, Array] = field(converter=History)
    method: Method
    labels: Labels | None = None
    problem: str = "problem"
    data_model: DataModel | None = None
    starts: tuple[StartRecord, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the goal of the run was reached, rather than a limit."""
        return self.status.converged

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened beside the iteration, such as a start that had to be moved."""
        return self.certificate.notes

    @property
    def sparsity(self) -> dict[str, float]:
        """The share of the entries of each block that are exactly zero."""
        return sparsity(self.Y)

    @property
    def answer(self) -> str:
        """What came out, in a few plain sentences."""
        found = sentences(
            self.data_model, self.metrics, self.status, self.reason, self.history["objective"], self.sparsity
        )
        return " ".join(found)

    def summary(self) -> str:
        """The plain answer, what the certificate says in plain words, and what the run took."""
        return "\n".join([self.answer, self.certificate.plain(), *self.notes, f"{self.method!r}: {self._work()}."])

    def _work(self) -> str:
        return f"{self.iterations} iterations in {self.seconds:.2f} s, objective {self.objective:.6g}"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        figures = "".join(f", {name.replace('_', ' ')} {value:.2e}" for name, value in list(self.metrics.items())[:1])
        end = f"{self.iterations} iterations, {self.status.value}"
        return f"Result({self.problem}: objective {self.objective:.6g}{figures}, {end})"

    def _repr_html_(self) -> str:
        rows = {
            "Answer": self.answer,
            "Certificate": self.certificate.plain(),
            "Blocks": "\n".join(f"{name}: {'×'.join(map(str, self.Y[name].shape))}" for name in self.Y.names),
            "Work": self._work(),
            "Method": repr(self.method),
        }
        return table(rows, self.problem) + curve(self.history["objective"].tolist(), "Objective by iteration")

    def reconstruct(self) -> Reconstruction:
        """The data as the result has them, such as max(0, UV), made some rows at a time.

        ``result.reconstruct().rows(slice(0, 100))`` are the first hundred rows, ``np.asarray(...)`` all of them.
        """
        if self.data_model is None:
            raise IncompatibleError(
                f"The {self.problem} does not say how its data are made of the blocks, so nothing can be "
                "reconstructed: SmoothPart.data_model says it."
            )
        return Reconstruction(self.data_model, self.Y)

    def to_frame(self, block: str | None = None, *, package: str | None = None) -> Any:
        """The history as a data frame, or a block with its labels: ``result.to_frame("U")``.

        It is one of pandas, or of polars where pandas is not installed, or of the ``package`` that is named.
        """
        if block is None:
            return history_frame(self.history, package)
        X = self.Y[block]
        return block_frame(X, *block_lines(self.labels, block, X.shape), package)

    def save(self, path: str | Path) -> Path:
        """Write the result to one .npz file, without pickle, and return its path; ``bregopt.load`` reads it.

        The blocks are arrays of the file by their names. W, which needs the data, is left out.
        """
        from bregopt.engine.saved_result import save

        return save(self, Path(path))

    def raise_for_status(self) -> "Result":
        """Raise NotSolvedError unless the run converged; else return the result itself."""
        if not self.converged:
            raise NotSolvedError(f"The run did not converge ({self.status.value}): {self.reason}")
        return self
