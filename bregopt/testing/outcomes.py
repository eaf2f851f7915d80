"""How a check ends, what is told of it, and the report of all checks of one part."""

import textwrap
from collections import Counter
from enum import StrEnum
from typing import Any, NoReturn, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks


class CheckFailedError(Exception):
    """The part is wrong: what was seen, and the code that shows it."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.message, self.code = message, code


class NotApplicableError(Exception):
    """The part claims nothing that this check could test."""


def fail(message: str, code: str = "") -> NoReturn:
    """End a check: the part is wrong. ``code`` is Python that shows it, such as ``snippet`` makes."""
    raise CheckFailedError(message, code)


def not_applicable(reason: str) -> NoReturn:
    """End a check: the part claims nothing that it could test."""
    raise NotApplicableError(reason)


def snippet(*lines: str, **values: Any) -> str:
    """Python to paste: the imports, the values under their names to the last digit, and the lines.

    The lines may use the name ``part`` for the part that is checked.
    """
    given = [f"{name} = {literal(value)}" for name, value in values.items()]
    imports = ["import numpy as np"]
    if any("bo." in line for line in (*given, *lines)):
        imports.append("import bregopt as bo")
    return "\n".join([*imports, *given, *lines])


def literal(value: Any) -> str:
    """The expression that gives the value again, to the last digit."""
    if isinstance(value, np.ndarray):
        dtype = "" if value.dtype == np.float64 else f", dtype=np.{value.dtype}"
        return f"np.array({value.tolist()!r}{dtype})"
    if isinstance(value, Blocks):
        return f"bo.Blocks({', '.join(f'{name}={literal(value[name])}' for name in value.names)})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def number(x: float) -> str:
    """A number for a message."""
    return f"{x:.10g}"


class Status(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "expected"
    """failed, as its author said it would"""
    NOT_APPLICABLE = "not-applicable"


@final
@frozen
class Outcome:
    """One check of one part."""

    name: str
    """such as ``prox/variational``"""
    status: Status
    message: str = ""
    """the numbers of a failure, or why the check does not apply"""
    counterexample: str = ""
    """Python that shows a failure again; it needs the name ``part``"""


@final
@frozen
class Report:
    """Every check of one part.

    Attributes
    ----------
    part : str
        The part, as it writes itself.
    outcomes : list of Outcome
        One for each check, in order.
    """

    part: str
    outcomes: list[Outcome]

    @property
    def ok(self) -> bool:
        """Whether no check failed but those that were expected to."""
        return not self.failures

    @property
    def failures(self) -> list[Outcome]:
        """The checks that failed unexpectedly, and those that passed where a failure was expected."""
        return [outcome for outcome in self.outcomes if outcome.status is Status.FAILED]

    @property
    def counts(self) -> dict[Status, int]:
        """How many checks have each status."""
        found = Counter(outcome.status for outcome in self.outcomes)
        return {status: found[status] for status in Status}

    def table(self) -> str:
        """The report as text: a line for each check, and the counterexamples."""
        width = max((len(outcome.name) for outcome in self.outcomes), default=0)
        lines = [f"{self.part}: " + ", ".join(f"{count} {status}" for status, count in self.counts.items() if count)]
        for outcome in self.outcomes:
            lines.append(f"  {outcome.status:14}  {outcome.name:{width}}  {outcome.message}".rstrip())
            if outcome.counterexample:
                lines.append(textwrap.indent(outcome.counterexample, " " * 6))
        return "\n".join(lines)
