"""Where the numbers of a text file begin: which line and which column are labels, found by looking at its head."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

from attrs import frozen

from bregopt.errors import DataError
from bregopt.matrices.tables.cells import (
    consecutive,
    decimal_commas,
    delimiter_of,
    fields,
    is_missing,
    is_name,
    is_number,
    is_whole,
    rising,
    whole_rising,
)

INDEX_NAMES = frozenset(["index", "id", "row", "rownames", "row.names", "unnamed: 0", "level_0", "__index_level_0__"])
"""What a column of row labels is called, in small letters."""
OF_IDS = re.compile(r"(?:.*[\s_.-])?(?:id|Id|ID)|.*[a-z]I[dD]")
"""What such a column is called besides: ``user_id``, ``userId``."""
CODE = re.compile(r"0\d+")
"""A whole number that nobody calculates with, such as a postal code."""
SURE = 5
"""From this length on whole numbers in a run are no data by chance."""
SORTED = 8
"""From this length on rising numbers above rows that do not rise are no data by chance."""

Line = tuple[int, str]
"""A line of the file with its number, counted from 1."""


@final
@frozen
class Layout:
    """How a text file is to be read."""

    delimiter: str | None
    """``None`` for spaces"""
    skip: int = 0
    """lines above the first row"""
    header: tuple[str, ...] | None = None
    """the cells of the line above the first row"""
    index: bool | None = False
    """whether the first column names the rows; ``None`` if that depends on whether it is a run to its end"""
    commas: bool = False
    """whether 1,5 is a number"""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, those of the row labels left out; none where none has one."""
        if self.header is None or all(map(is_missing, self.header)):
            return None
        return self.header[1:] if self.index and not self.short else self.header

    short: bool = False
    """whether the header has no cell above the row labels, as R writes it"""


def layout_of(head: Sequence[Line], path: Path, header: bool | None, index: bool | None) -> Layout:
    """The layout of a file that begins with these lines; what is given is not looked for."""
    delimiter = delimiter_of(head[min(1, len(head) - 1)][1])
    first, *below = [fields(line, delimiter) for _, line in head]
    number, under = head[0][0], head[min(1, len(head) - 1)][0]
    if header is None:
        header = _is_header(first, below, path, number)
    if not header:
        rows = [first, *below]
        return Layout(delimiter, 0, None, _index(None, rows) if index is None else index, _commas(delimiter, rows))
    if not below:
        raise DataError(f"The file {str(path)!r} has a header, line {number}, and no row below it.")
    short = len(first) == len(below[0]) - 1 and index is not False and (index or _index((), below) is not False)
    if len(first) != len(below[0]) - short:
        raise DataError(
            f"The file {str(path)!r} is no table of numbers: line {number} holds {len(first)} names, and line {under} "
            f"{len(below[0])} values. Give each column one name, or leave line {number} out."
        )
    named = True if short else _index(first, below) if index is None else index
    return Layout(delimiter, number, tuple(first), named, _commas(delimiter, below), short)


def _commas(delimiter: str | None, rows: Sequence[Sequence[str]]) -> bool:
    """Whether the head has decimal commas; what may be thousands is refused where it is read."""
    return delimiter != "," and decimal_commas(cell for row in rows for cell in row) is True


def _is_header(first: Sequence[str], below: Sequence[Sequence[str]], path: Path, number: int) -> bool:
    if not below:
        return all(map(is_name, first))
    if all(map(is_missing, first)):
        return not any(cell for cell in first)  # a line of delimiters names nothing
    if len(first) == 1 or is_name(first[0]) or is_missing(first[0]):
        rest = first[1:] or first
        if any(map(is_name, rest)) and all(is_name(cell) or is_missing(cell) for cell in rest):
            return True
    if len(first) > 1 and all(map(is_whole, first[1:])):
        above_numbers = is_name(first[0]) and is_number(below[0][0])
        if above_numbers or (not first[0] and len(set(first)) == len(first)):
            return True
    if _scale(first, below):
        return True
    corner = len(first) > 1 and not is_whole(first[0])
    found = _numbers_columns(first[corner:], [row[corner:] for row in below])
    if found is None or (corner and not found and _may_number(first[1:], [row[1:] for row in below])):
        raise DataError(
            f"The file {str(path)!r} begins with the whole numbers {', '.join(first[corner:][:4])} in line {number}. "
            "They may number the columns, or be a row of the matrix: say which, by --header or --no-header, or by "
            "bregopt.matrices.read(path, header=True) or header=False."
        )
    return found


def _scale(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether numbers such as 0.5 stand above the columns: under an empty cell, or rising where no row does."""
    cells = first[1:]
    if not all(map(is_number, cells)) or len(set(first)) < len(first):
        return False
    if not first[0]:
        return _index((), below) is not False
    return len(cells) >= SORTED and rising(cells) and not any(rising(row[1:]) for row in below)


def _numbers_columns(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool | None:
    """Whether whole numbers above the first row number the columns; ``None`` where it cannot be told."""
    numbers = whole_rising(cells)
    if numbers is None or len(numbers) < 2 or any(len(row) != len(cells) for row in below):
        return False
    run, n = consecutive(numbers), len(numbers)
    values = [cell for row in below for cell in row if is_number(cell)]
    whole = sum(map(is_whole, values))
    if values and not whole and (n > 2 or (run and numbers[0] in (0, 1))):
        return True  # pandas writes 1.0 and not 1, so these are no values
    if not run or n == 2 or whole_rising([*cells, *below[0]]) == list(range(numbers[0], numbers[0] + 2 * n)):
        return False
    return True if n >= SURE or whole < len(values) else None


def _may_number(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether whole numbers beside a name may be years or the like: a run, or all larger than what stands below."""
    numbers = whole_rising(cells)
    if numbers is None or len(numbers) < 2 or whole_rising([*cells, *below[0]]) is not None:
        return False
    return consecutive(numbers) or numbers[0] > max(
        (float(it) for row in below for it in row if is_number(it)), default=0
    )


def is_index_name(name: str) -> bool:
    """Whether a column of that name holds labels of the rows, if it holds different whole numbers."""
    return name.lower() in INDEX_NAMES or OF_IDS.fullmatch(name) is not None


def _index(header: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first column names the rows; ``None`` if it does provided that it is a run to its end."""
    cells = [row[0] for row in rows if row]
    if len(rows[0]) < 2:
        return False
    if 2 * sum(map(is_name, cells)) >= len(cells):
        return True
    if header and not header[0]:
        return not all(map(is_missing, header))
    named = header is not None and len(header) > 0 and is_name(header[0])
    if all(map(is_whole, cells)) and len(set(cells)) == len(cells):
        if header and named and (is_index_name(header[0]) or all(map(is_whole, header[1:]))):
            return True
        if any(map(CODE.fullmatch, cells)) and not any(CODE.fullmatch(cell) for row in rows for cell in row[1:]):
            return True
    numbers = whole_rising(cells)
    if numbers is None or not consecutive(numbers) or not (numbers[0] in (0, 1) or named):
        return False
    others = [cell for row in rows for cell in row[1:] if is_number(cell)]
    fractions = not all(map(is_whole, others))
    second = [row[1] for row in rows if len(row) > 1]
    goes_on = whole_rising([*cells, *second]) == list(range(numbers[0], numbers[0] + 2 * len(cells)))
    return None if not goes_on and len(cells) >= (3 if fractions and numbers[0] in (0, 1) else SURE) else False
