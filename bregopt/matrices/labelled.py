"""A matrix with what its rows and columns are called."""

from typing import Any, final

from attrs import field, frozen

from bregopt.errors import DataError
from bregopt.labels import Labels

LONGEST = 1000
"""Characters of a label, at most."""


@final
@frozen(eq=False)
class LabelledMatrix:
    """A matrix, or an array of other dimensions, and its labels: what ``read`` returns, and ``compose`` takes."""

    matrix: Any
    labels: Labels = field(factory=Labels)

    @property
    def rows(self) -> tuple[str, ...] | None:
        return self.labels.rows

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self.labels.columns

    @property
    def picture_shape(self) -> tuple[int, int] | None:
        return self.labels.picture_shape

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.matrix.shape
        return found

    @labels.validator
    def _check(self, attribute: object, labels: Labels) -> None:
        """One label for each row and column, none of them endless."""
        for names, size, lines in zip((labels.rows, labels.columns), self.shape, ("rows", "columns"), strict=False):
            if names is not None and len(names) != size:
                raise DataError(f"There are {len(names)} labels for the {size} {lines} of a matrix. Give each one.")
            if names is not None and max(map(len, names), default=0) > LONGEST:
                long = max(range(size), key=lambda k: len(names[k]))
                raise DataError(
                    f"The label of number {long + 1} of the {lines} has {len(names[long])} characters. "
                    f"At most {LONGEST} are taken: shorten it."
                )

    def __repr__(self) -> str:
        size = "×".join(map(str, self.shape))
        named = [lines for lines in ("rows", "columns") if getattr(self.labels, lines) is not None]
        return f"LabelledMatrix({size}, {' and '.join(named) or 'nothing'} labelled)"


def numbered(names: tuple[str, ...]) -> bool:
    """Whether names are the numbers 0, …, n−1 or 1, …, n, which say nothing."""
    return any(all(it == str(k) for k, it in enumerate(names, first)) for first in (0, 1))


def informative(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names, unless they only number what they name."""
    return None if names is None or numbered(names) else names


def told(names: tuple[str, ...], shown: int = 1) -> str:
    """The first names, for people."""
    first = [name if len(name) <= 20 else f"{name[:19]}…" for name in names[:shown]]
    return ", ".join(first) + (", …" if len(names) > shown else "")
