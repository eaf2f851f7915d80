"""attrs validators that raise the library's own errors."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from bregopt.errors import parameter

Validator = Callable[[Any, Any, Any], None]


def number(
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
    optional: bool = False,
) -> Validator:
    """A finite real number in a range; ``None`` too where ``optional``."""
    limits = [("> ", above), (">= ", at_least), ("< ", below), ("<= ", at_most)]
    bounds = " and ".join(f"{sign}{bound:g}" for sign, bound in limits if math.isfinite(bound))
    rule = f"a finite number {bounds}".rstrip()

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is None and optional:
            return
        good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if not (good and above < value < below and at_least <= value <= at_most):
            raise parameter(attribute.name, type(instance).__name__, rule, value)

    return check


def whole(*, at_least: int) -> Validator:
    """A whole number from ``at_least`` on."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise parameter(attribute.name, type(instance).__name__, f"a whole number >= {at_least}", value)

    return check


def one_of(*choices: object) -> Validator:
    """One of the given values."""
    rule = "one of " + ", ".join(repr(choice) for choice in choices)

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value not in choices:
            raise parameter(attribute.name, type(instance).__name__, rule, value)

    return check


def instance_of(kind: type, what: str) -> Validator:
    """An object of the given interface, called ``what`` in the message."""

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if not isinstance(value, kind):
            raise parameter(attribute.name, type(instance).__name__, what, value)

    return check
