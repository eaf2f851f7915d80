"""The conformance kit: every claim a part makes has a check that can fail, with a counterexample that can be pasted."""

from bregopt.testing.check import check
from bregopt.testing.report import Outcome, Report, Status
from bregopt.testing.suite import suite

__all__ = ["Outcome", "Report", "Status", "check", "suite"]
