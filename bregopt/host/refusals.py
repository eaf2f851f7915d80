"""What stands where a spec should, and what would be right in its place."""

import inspect
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from bregopt.errors import SpecError
from bregopt.host import defaults
from bregopt.part_errors import shown


def as_number(spec: Any) -> Any:
    """The number that a spec is, as a number or as text; ``None`` where it is none."""
    if isinstance(spec, Real) and not isinstance(spec, bool):
        return spec
    try:
        return float(spec) if isinstance(spec, str) and spec.strip()[:1] in tuple("+-.0123456789") else None
    except ValueError:
        return None


def number_alone(kind: str, number: float, known: Iterable[str]) -> SpecError:
    """The answer to a bare number where the kind has no part that it stands for."""
    meant = [f"'{name}({number:g})'" for name in defaults.WITH_NUMBER.get(kind, ()) if name in set(known)]
    write = f"write {' or '.join(meant)}" if meant else "'bregopt plugins' lists the names"
    return SpecError(f"A {kind} is given by its name, with the number in brackets: {write}. Got {number:g} instead.")


def no_sum(kind: str, text: str) -> SpecError:
    """The answer to a sum of parts that do not add up."""
    return SpecError(
        f"Only kernels are added up in a spec. Got {text!r}: give one {kind}; 'bregopt plugins' lists those that are "
        "made of another."
    )


def no_spec(kind: str, found: Any) -> SpecError:
    """The answer to what is neither a spec nor a part."""
    given = f"A {kind} is given by a spec such as 'name(value)', or by an object."
    if inspect.isclass(found):
        return SpecError(
            f"{given} Got the class {found.__name__} instead: make an object of it, {found.__name__}(...)."
        )
    if inspect.isroutine(found):
        return SpecError(f"{given} Got a function instead: make it a method of a class, as 'bregopt new {kind}' shows.")
    match found:
        case (str() as name, *values) if values and all(isinstance(it, Real) for it in values):
            return SpecError(f"{given} Got {shown(found)} instead: write '{name}({', '.join(map(str, values))})'.")
        case [str(), str(), *rest] if all(isinstance(it, str) for it in rest):
            joined = f": write '{' | '.join(found)}'" if kind == defaults.JOINED else ", and one is wanted"
            return SpecError(f"{given} Got {len(found)} of them{joined}.")
        case Mapping() if len(found) == 1 and all(isinstance(it, Real) for it in found.values()):
            ((name, value),) = found.items()
            return SpecError(f"{given} Got {shown(found)} instead: write '{name}({value})'.")
    return SpecError(f"{given} Got {shown(found)} instead.")
