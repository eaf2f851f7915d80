"""The conformance kit: every claim a part makes has a check that can fail, with a counterexample that can be pasted.

``check`` and ``suite`` run the checks. The rest is for plugins that declare a kind of part with checks of its own.
"""

from bregopt.testing.check import check, suite
from bregopt.testing.outcomes import (
    CheckFailedError,
    NotApplicableError,
    Outcome,
    Report,
    Status,
    fail,
    not_applicable,
    snippet,
)
from bregopt.testing.search.random_points import RandomPoints

__all__ = [
    "CheckFailedError",
    "NotApplicableError",
    "Outcome",
    "RandomPoints",
    "Report",
    "Status",
    "check",
    "fail",
    "not_applicable",
    "snippet",
    "suite",
]
