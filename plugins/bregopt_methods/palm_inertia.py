"""Inertia as a number, or as one that grows towards 1 from turn to turn."""

from numbers import Real
from typing import Any

from bregopt.errors import parameter

GROWING = "growing"


def growing(k: int) -> float:
    """``(k − 1)/(k + 2)``, k = 1, 2, …"""
    return (k - 1) / (k + 2)


def below_one_or_growing(instance: Any, attribute: Any, value: Any) -> None:
    """Refuse what is neither a number in [0, 1) nor the word for growing inertia."""
    if isinstance(value, str):
        good = value == GROWING
    else:
        good = isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1
    if not good:
        rule = f"'{GROWING}' or a number >= 0 and < 1"
        raise parameter(attribute.name, type(instance).__name__, rule, value)
