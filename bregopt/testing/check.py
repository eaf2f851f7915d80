"""``check``: every claim of a part, tried."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np

from bregopt.errors import parameter
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.kinds import Check, checks_of, title
from bregopt.testing.report import Outcome, Report, Status
from bregopt.testing.signals import CheckFailedError, NotApplicableError


def check(part: Any, *, seed: int = 0, expected_failures: Mapping[str, str] | None = None) -> Report:
    """Try every claim of a part.

    Parameters
    ----------
    part : Regularizer, Separable, Kernel, KernelPolicy, Extrapolation, StepRule, Problem or (Problem, Blocks)
        A smooth part and a closed-form block are checked as a problem at a point, its start by default.
    seed : int
        For the random points; the same seed gives the same report.
    expected_failures : mapping, optional
        A reason for each check that is known to fail; one that passes nevertheless is a failure.

    Returns
    -------
    Report
    """
    checks, expected = checks_of(part), dict(expected_failures or {})
    known_only(expected, checks)
    return Report(title(part), [run(name, one, seed, expected.get(name)) for name, one in checks.items()])


def known_only(expected: Mapping[str, str], checks: Mapping[str, Check]) -> None:
    """Refuse an expected failure of a check that does not exist."""
    for name in expected:
        if name not in checks:
            raise parameter("expected_failures", "check", f"about checks among {', '.join(checks)}", name)


def run(name: str, one: Check, seed: int = 0, reason: str | None = None) -> Outcome:
    """One check; ``reason`` says why it is expected to fail."""
    outcome = _run(name, one, seed)
    if reason is None or outcome.status is Status.NOT_APPLICABLE:
        return outcome
    if outcome.status is Status.FAILED:
        return Outcome(name, Status.EXPECTED, f"{reason} ({outcome.message})", outcome.counterexample)
    return Outcome(name, Status.FAILED, f"It passed, though a failure was expected: {reason}")


def _run(name: str, one: Check, seed: int) -> Outcome:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one(Draw.of(seed, name))
        except NotApplicableError as reason:
            return Outcome(name, Status.NOT_APPLICABLE, str(reason))
        except CheckFailedError as failure:
            return Outcome(name, Status.FAILED, f"seed {seed}: {failure.message}", failure.code)
        except Exception as error:
            last = extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
            told = f"{type(error).__name__}: {error}"
            code = snippet(
                f"print(bo.testing.check(part, seed={seed}).table())  # {name} raises {type(error).__name__}"
            )
            return Outcome(name, Status.FAILED, f"seed {seed}: it raised {told} ({where})", code)
    return Outcome(name, Status.PASSED)
