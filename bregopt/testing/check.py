"""``check`` and ``suite``: every claim of a part, tried at once or as cases of pytest."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np

from bregopt.errors import parameter
from bregopt.part_errors import author_of
from bregopt.testing.kinds import Check, checks_of, title
from bregopt.testing.outcomes import CheckFailedError, NotApplicableError, Outcome, Report, Status, snippet
from bregopt.testing.search.random_points import RandomPoints


def check(part: Any, *, seed: int = 0, expected_failures: Mapping[str, str] | None = None) -> Report:
    """Try every claim of a part.

    Parameters
    ----------
    part : Regularizer, Separable, Kernel, KernelPolicy, Extrapolation, StepRule, StopRule, Start, Method, Problem or
        (Problem, Blocks)
        Or a part of a kind that a plugin declares with checks. A smooth part and a closed-form block are checked as a
        problem at a point, its start by default.
    seed : int
        For the random points; the same seed gives the same report.
    expected_failures : mapping, optional
        A reason for each check that is known to fail; one that passes nevertheless is a failure.

    Returns
    -------
    Report
    """
    checks, expected = checks_of(part), dict(expected_failures or {})
    _known_only(expected, checks)
    return Report(title(part), [run(name, one, seed, expected.get(name)) for name, one in checks.items()])


def suite(parts: Any, expected_failures: Mapping[str, str] | None = None) -> Callable[..., None]:
    """A pytest test with one case for each check.

    Parameters
    ----------
    parts : part, class or list of them
        What ``check`` takes; a class is called without arguments.
    expected_failures : mapping, optional
        A reason for each check that is known to fail: such a case is xfailed, and strictly so.

    Returns
    -------
    function
        To be bound to a name that pytest collects.
    """
    import pytest

    made = [part() if isinstance(part, type) else part for part in (parts if isinstance(parts, list) else [parts])]
    expected = dict(expected_failures or {})
    cases = []
    for number, part in enumerate(made):
        checks = checks_of(part)
        _known_only(expected, checks)
        label = f"{number}: {title(part)} " if len(made) > 1 else ""
        cases += [pytest.param(name, one, id=f"{label}{name}") for name, one in checks.items()]

    @pytest.mark.parametrize(("name", "one"), cases)
    def test(name: str, one: Any) -> None:
        outcome = run(name, one, reason=expected.get(name))
        if outcome.status is Status.FAILED:
            pytest.fail(f"{outcome.message}\n{outcome.counterexample}", pytrace=False)
        if outcome.status is Status.EXPECTED:
            pytest.xfail(outcome.message)
        if outcome.status is Status.NOT_APPLICABLE:
            pytest.skip(outcome.message)

    checked: Callable[..., None] = test
    return checked


def _known_only(expected: Mapping[str, str], checks: Mapping[str, Check]) -> None:
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
            one(RandomPoints.of(seed, name))
        except NotApplicableError as reason:
            return Outcome(name, Status.NOT_APPLICABLE, str(reason))
        except CheckFailedError as failure:
            return Outcome(name, Status.FAILED, f"seed {seed}: {failure.message}", failure.code)
        except (Exception, SystemExit) as error:  # a part may not end the program
            last = extract_tb(error.__traceback__)[-1]
            where = author_of(error) or f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
            told = f"{type(error).__name__}: {error}"
            code = snippet(
                f"print(bo.testing.check(part, seed={seed}).table())  # {name} raises {type(error).__name__}"
            )
            return Outcome(name, Status.FAILED, f"seed {seed}: it raised {told}{where}", code)
    return Outcome(name, Status.PASSED)
