"""What the rows and columns of the data are called, from the file or frame they came in to the factors."""

from collections.abc import Iterable
from typing import final

from attrs import field, frozen


def _texts(names: Iterable[object] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(map(str, names))


@final
@frozen
class Labels:
    """What rows and columns are called; ``None`` where they have no names.

    ``Labels(rows=["ACTB", "MYC"], columns=["cell 1", "cell 2", "cell 3"])``
    """

    rows: tuple[str, ...] | None = field(default=None, converter=_texts)
    columns: tuple[str, ...] | None = field(default=None, converter=_texts)
    picture_shape: tuple[int, int] | None = None
    """height and width, where each row is a picture"""
    taken: str = ""
    """where the labels were found, in words"""

    def __repr__(self) -> str:
        named = {"rows": self.rows, "columns": self.columns}
        shown = [f"{len(names)} {lines}" for lines, names in named.items() if names is not None]
        return f"Labels({', '.join(shown) or 'none'})"

    def of_block(
        self, name: str, shape: tuple[int, ...]
    ) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None] | None:
        """The labels along both sides of a factor: U has those of the rows, V those of the columns.

        Other blocks have them where their size tells which; ``None`` where a block has none.
        """
        rows = self.rows if len(shape) == 2 and len(self.rows or ()) == shape[0] and name != "V" else None
        columns = self.columns if len(shape) == 2 and len(self.columns or ()) == shape[1] and name != "U" else None
        return None if rows is None and columns is None else (rows, columns)


def block_lines(
    labels: Labels | None, name: str, shape: tuple[int, ...]
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """What stands beside and above a factor: the labels that there are, and the numbers of components from 1."""
    found = None if labels is None else labels.of_block(name, shape)
    if found is None or len(shape) != 2:
        return None, None
    rows, columns = (
        names or tuple(f"component {k}" for k in range(1, size + 1)) for names, size in zip(found, shape, strict=True)
    )
    return rows, columns
