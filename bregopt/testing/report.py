"""What the checks of one part found."""

import textwrap
from collections import Counter
from enum import StrEnum
from typing import final

from attrs import frozen


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
