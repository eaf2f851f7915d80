"""What the results of parts must be: each test returns the result, or raises the PartError that names the part."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from bregopt.blocks import Array, Blocks, Layout
from bregopt.part_errors import shapes, times, wrong_result


def real(part: object, method: str, found: Any) -> float:
    """The result as a float, if it is a real number; nan and ∞ are for others to judge."""
    if not isinstance(found, Real) or isinstance(found, bool):
        raise wrong_result(part, method, "a number", found)
    return float(found)


def number(
    part: object,
    method: str,
    found: Any,
    at_least: float = -math.inf,
    *,
    above: float = -math.inf,
    finite: bool = False,
) -> float:
    """The result as a float, if it is a real number in the range; nan and −∞ never are."""
    known = isinstance(found, Real) and not isinstance(found, bool)
    if known and found >= at_least and found > above and (found < math.inf or not finite):
        return float(found)
    limits = [f">= {at_least:g}"] if at_least > -math.inf else [f"> {above:g}"] if above > -math.inf else []
    raise wrong_result(part, method, " ".join(["a finite number" if finite else "a number", *limits]), found)


def blocks(part: object, method: str, found: Any, layout: Layout, *, finite: bool = False) -> Blocks:
    """The result, if it is Blocks of that layout."""
    if not isinstance(found, Blocks) or found.layout != layout:
        raise wrong_result(part, method, f"Blocks of {shapes(layout)}", found)
    if finite and not np.isfinite(found.flat).all():
        raise wrong_result(part, method, "finite numbers", found)
    return found


def array(part: object, method: str, found: Any, shape: tuple[int, ...], *, finite: bool = False) -> Array:
    """The result, if it is a floating-point array of that shape."""
    if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype.kind != "f":
        raise wrong_result(part, method, f"a floating-point array of shape {times(shape)}", found)
    if finite and not np.isfinite(found).all():
        raise wrong_result(part, method, "finite numbers", found)
    return found


def pair(part: object, method: str, found: Any, what: str) -> tuple[Any, Any]:
    """The result, if it is a tuple of two."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise wrong_result(part, method, f"a pair ({what})", found)
    return found


def instance(part: object, method: str, found: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """The result, if it is of that class."""
    if not isinstance(found, kind):
        raise wrong_result(part, method, what, found)
    return found


def numbers(part: object, method: str, found: Any, at_least: float | None = None) -> Mapping[str, float]:
    """The result, if it is a mapping of names to numbers; one of a class of its own may be lazy, and is not read."""
    rule = "a mapping of names to numbers" + ("" if at_least is None else f" >= {at_least:g}")
    if not isinstance(found, Mapping):
        raise wrong_result(part, method, rule, found)
    for name, value in found.items() if type(found) is dict else ():
        if not (isinstance(value, Real) and (at_least is None or float(value) >= at_least)):
            raise wrong_result(part, method, rule, {name: value})
    return found
