"""The data among the arguments of a problem: read from where they are, with the labels of the first."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from attrs import frozen

from bregopt.errors import DataError
from bregopt.host import defaults
from bregopt.labels import Labels
from bregopt.matrices.given import labelled
from bregopt.matrices.labelled import LabelledMatrix


@final
@frozen(eq=False)
class Arguments:
    """The arguments of a problem with plain matrices for its data."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    labels: Labels | None

    def with_rank(self) -> "Arguments":
        """With the rank that data have by default which come without one."""
        shape = getattr(self.args[0], "shape", ())
        if len(self.args) > 1 or "rank" in self.kwargs or len(shape) != 2:
            return self
        return Arguments(self.args, {**self.kwargs, "rank": min(defaults.RANK, *shape)}, self.labels)


def arguments(
    factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], known: Callable[[Any], bool]
) -> Arguments:
    """Paths, frames and the like replaced by what they hold, unless a plugin knows them."""
    places: list[int | str] = [*range(len(args)), *kwargs]
    values = dict(zip(places, [*args, *kwargs.values()], strict=True))
    first: int | str = 0 if args else next(iter(_names(factory)), 0)
    if isinstance(values.get(first), str) and Path(values[first]).exists():  # a folder, or a name without a suffix
        values[first] = Path(values[first])
    found = {place: it for place, value in values.items() if (it := labelled(value, known)) is not None}
    main = found.get(first)
    for place, it in found.items() if main is not None else ():
        if it is not main:
            _check_alike(main, it, str(place))
    plain = values | {place: it.matrix for place, it in found.items()}
    labels = None if main is None or main.labels == Labels() else main.labels
    return Arguments(tuple(plain[k] for k in range(len(args))), {name: plain[name] for name in kwargs}, labels)


def _names(factory: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(factory).parameters)
    except ValueError:  # a class of Python itself, which has no signature
        return []


def _check_alike(main: LabelledMatrix | None, other: LabelledMatrix, name: str) -> None:
    """Refuse a mask or weights whose rows or columns are in another order than those of the matrix."""
    if main is None or main.shape != other.shape:
        return
    for lines in ("rows", "columns"):
        ours, theirs = getattr(main, lines), getattr(other, lines)
        if ours is not None and theirs is not None and ours != theirs:
            k = next(k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
            raise DataError(
                f"The {lines} of the data and of '{name}' have different labels: number {k + 1} is {ours[k][:40]!r} "
                f"there, and {theirs[k][:40]!r} here. Bring them into one order."
            )
