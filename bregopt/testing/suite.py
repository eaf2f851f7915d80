"""A plugin's test file in one line: ``test_mine = bregopt.testing.suite(Mine(0.3))``."""

from collections.abc import Callable, Mapping
from typing import Any

from bregopt.testing.check import known_only, run
from bregopt.testing.kinds import checks_of, title
from bregopt.testing.report import Status


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
        known_only(expected, checks)
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
