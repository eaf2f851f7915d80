"""A matrix from a text file: the delimiter is found, and labels above and beside the numbers are told from them."""

import gzip
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from attrs import evolve, frozen

from bregopt.errors import DataError, FileError
from bregopt.labels import Labels
from bregopt.matrices.checks import room
from bregopt.matrices.labelled import LabelledMatrix, informative, numbered, told
from bregopt.matrices.tables.cells import DECIMAL_COMMA, GROUPED, MISSING, TRUTHS, fields, is_missing, is_number
from bregopt.matrices.tables.layout import Layout, layout_of

HEAD, LEAST, CHARACTERS = 100, 6, 100_000
"""Lines by which a layout is judged: at most, at least, and fewer where they are that long together."""
BEFORE_COMMENT = re.compile(r'(?:[^"#\s]++|\s(?!#)|(?<=\S)#|"[^"]*+"?+)*+')
"""What stands before a # that begins a line or follows a space."""
QUOTED = re.compile(r' *"((?:[^"]|"")*)" *')
BESIDE_NUMBERS = re.compile(r"[^\d.,;|\teE+-]")
"""What no number and no delimiter is made of."""
POINTS = str.maketrans({",": ".", ".": "?"})
"""Decimal commas as points; a point is then no part of a number."""
UNNAMED = re.compile(r"Unnamed: \d+")
LONGEST = 40
"""Characters of a field that an error shows."""


def read_text(path: Path, header: bool | None = None, index: bool | None = None) -> LabelledMatrix:
    """One row of the matrix a line; what follows a # is a comment, and an empty cell or NA is missing."""
    try:
        head = _head(path)
        if not head:
            raise FileError(f"The file {str(path)!r} holds no numbers. Write one row of the matrix a line.")
        layout = layout_of(head, path, header, index)
        matrix, labels = _table(path, layout)
        if np.isnan(matrix).all():
            raise FileError(f"The file {str(path)!r} holds no numbers: every entry is missing.")
        return _labelled(matrix, labels, layout, path)
    except UnicodeDecodeError:
        raise FileError(f"The file {str(path)!r} is not text in UTF-8. Save it so, or as .npy.") from None


# ---- the lines of a file


def _head(path: Path) -> list[tuple[int, str]]:
    head: list[tuple[int, str]] = []
    for line in islice(_lines(path), HEAD):
        head.append(line)
        if len(head) >= LEAST and sum(len(text) for _, text in head) > CHARACTERS:
            break
    return head


def _opened(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, numbered from 1, without their comments."""
    left = room(path)
    with _opened(path) as file:
        number = 0
        while line := file.readline(left + 1):
            number, left = number + 1, left - len(line)
            if left < 0:
                raise ValueError(
                    f"it unpacks to more than {room(path)} bytes, which is the most for a file of its size"
                )
            text = line if "#" not in line else BEFORE_COMMENT.match(line)[0]  # type: ignore[index]  # it always matches
            if text.strip(" \r\n"):  # tabs alone are a row of missing entries
                yield number, text.rstrip("\r\n")


@final
@frozen
class _Rows:
    """The lines of the rows as numpy reads them, from which labels are collected on the way."""

    path: Path
    layout: Layout
    fill: bool
    """whether missing entries are to be written as nan"""
    labels: list[str]

    def __iter__(self) -> Iterator[str]:
        layout = self.layout
        holes = _filled(layout.delimiter) if self.fill else None
        for number, text in _lines(self.path):
            if number <= layout.skip:
                continue
            line = text
            if layout.index:
                label, line = split_label(text, layout.delimiter)
                self.labels.append(label)
                line = line if line.strip(" ") else "nan"
            if layout.commas:
                line = line.translate(POINTS)
            yield holes(line) if holes else line


def split_label(line: str, delimiter: str | None) -> tuple[str, str]:
    """The first cell of a line, and what follows."""
    if quoted := QUOTED.match(line):
        rest = line[quoted.end() :]
        return quoted[1].replace('""', '"').strip(), rest.removeprefix(delimiter) if delimiter else rest
    label, _, rest = line.strip().partition(" ") if delimiter is None else line.partition(delimiter)
    return label.strip(), rest


def _filled(delimiter: str | None) -> Callable[[str], str]:
    """A line with nan in each cell that holds no number: by plain replacement where no word stands in it."""
    words = "|".join(map(re.escape, sorted(MISSING - {""}, key=len, reverse=True)))
    if delimiter is None:
        word = re.compile(rf'(?<!\S)"?(?:{words})"?(?!\S)', re.IGNORECASE)
        return lambda line: word.sub("nan", line)
    blank = r"[^\S\t]*"
    mark = re.escape(delimiter)
    hole = re.compile(rf'(?:^|(?<={mark})){blank}(?:"(?:{words})?"|{words}|){blank}(?=$|{mark})', re.IGNORECASE)
    two, between = 2 * delimiter, f"{delimiter}nan{delimiter}"

    def fill(line: str) -> str:
        if BESIDE_NUMBERS.search(line):
            return hole.sub("nan", line)
        inner = line.replace(two, between).replace(two, between)
        first, last = "nan" if line.startswith(delimiter) else "", "nan" if line.endswith(delimiter) else ""
        return first + inner + last

    return fill


# ---- the numbers


def _table(path: Path, layout: Layout) -> tuple[Any, list[str]]:
    """The numbers, and the labels beside them; the lines are read once more where entries are missing."""
    fault: object = ""
    for fill in (False, True):
        rows = _Rows(path, layout, fill, [])
        try:
            return np.loadtxt(rows, delimiter=layout.delimiter, comments=None, quotechar='"', ndmin=2), rows.labels
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            fault = error
    raise DataError(f"The file {str(path)!r} is no table of numbers: {_fault(path, layout) or fault}") from None


def _labelled(matrix: Any, labels: list[str], layout: Layout, path: Path) -> LabelledMatrix:
    """The matrix without a first column that only numbers the rows, and what was taken for labels."""
    taken, rows = [], tuple(labels) if layout.index else None
    if layout.index is None:
        run = range(int(matrix[0, 0]), int(matrix[0, 0]) + len(matrix))
        layout = evolve(layout, index=np.array_equal(matrix[:, 0], run))
        if layout.index:
            rows, matrix = tuple(map(str, run)), np.ascontiguousarray(matrix[:, 1:])
    columns = layout.columns
    if matrix.shape[1] > 1 and not (columns and columns[-1]) and np.isnan(matrix[:, -1]).all():
        matrix, columns = np.ascontiguousarray(matrix[:, :-1]), columns and columns[:-1]
        taken.append("the last column is empty")  # each line ends with a delimiter
    _refuse_second_index(layout.header or (), path)
    if layout.header is not None and columns is not None:
        kind = "numbers" if numbered(columns) else "names"
        taken.append(f"line {layout.skip} {kind} the columns ({told(columns)})")
    elif layout.header is not None:
        taken.append(f"line {layout.skip} is empty")
    if rows is not None:
        taken.append(f"column 1 {'numbers' if numbered(rows) else 'names'} the rows ({told(rows)})")
        taken += _twice(rows, "rows")
    if columns is not None:
        taken += _twice(columns, "columns")
    try:
        return LabelledMatrix(matrix, Labels(informative(rows), informative(columns), taken="; ".join(taken)))
    except DataError as error:
        raise DataError(f"The file {str(path)!r} cannot be read: {error}") from None


def _refuse_second_index(header: tuple[str, ...], path: Path) -> None:
    """Refuse an index of several levels, and that of a former file, which pandas has read and written as a column."""
    if header[:2] == ("", "") and any(header):
        raise DataError(
            f"The file {str(path)!r} has two columns without a name, as pandas writes an index of several levels. "
            "Join them into one, or leave one out."
        )
    if found := next((name for name in header[1:] if UNNAMED.fullmatch(name)), None):
        raise DataError(
            f"The file {str(path)!r} has a column {found!r}: row names that were read as a column and written again. "
            "Leave it out."
        )


def _twice(names: tuple[str, ...], lines: str) -> list[str]:
    more = len(names) - len(set(names))
    return [f"{more} names of {lines} occur more than once"] if more else []


def _fault(path: Path, layout: Layout) -> str | None:
    """What is wrong with the first bad line, and where it stands."""
    width, first = None, True
    for number, line in _lines(path):
        if number <= layout.skip:
            continue
        cells = fields(line, layout.delimiter)
        for count, text in enumerate(cells, 1):
            if (count == 1 and layout.index) or is_missing(text) or _is_read(text, layout.commas):
                continue
            name = layout.header[count - 1 - layout.short] if layout.header and count <= len(cells) else ""
            called = f" ({name[:LONGEST]!r})" if name else ""
            told_by = _advice(text, count == 1, first and layout.header is None)
            return f"line {number}, column {count}{called} holds {text[:LONGEST]!r}{told_by}"
        if width is not None and len(cells) != width:
            return f"line {number} holds {len(cells)} values, the lines before it {width}. Give every row as many."
        width, first = len(cells), False
    return None


def _is_read(text: str, commas: bool) -> bool:
    return is_number(text.translate(POINTS)) if commas else is_number(text)


def _advice(text: str, labels: bool, header: bool) -> str:
    """What to do about a cell that is no number, in a column or line that may hold labels."""
    if GROUPED.fullmatch(text):
        return ", which may be thousands or a decimal comma. Write it without a comma, or with a decimal point."
    if DECIMAL_COMMA.fullmatch(text):
        return ", a number with a decimal comma. Write decimal points."
    if text.lower() in TRUTHS:
        return ". Write 1 for true and 0 for false."
    if not any(map(str.isalnum, text)):
        return ". If the entry is missing, write NA or nothing."
    if header:
        return ". Replace it by a number. If the line is a header, leave it out, or say --header (header=True)."
    if labels:
        return ". Replace it by a number. If the column names the rows, say --index (index=True)."
    return ". Replace it by a number, or leave the column out."
