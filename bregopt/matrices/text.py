"""A matrix from a text file: the delimiter is detected, and one line of names may stand above the numbers."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import DataError, FileError

DELIMITERS = ("\t", ";", ",")
BEFORE_COMMENT = re.compile(r'(?:[^"#]++|"[^"]*+"?+)*+')
LIKE_A_NUMBER = re.compile(r"[+-]?[\d.,'’\s]*\d[\d.,'’\s]*(?:[eE][+-]?\d+)?\s*%?")
"""A number as it is written somewhere, though not one that is read; never a name."""
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
LONGEST = 40
"""Characters of a field that an error shows."""


def read_text(path: Path) -> Any:
    """One row of the matrix a line; what follows a # is a comment."""
    try:
        return _table(path, *_layout(path))
    except UnicodeDecodeError:
        raise FileError(f"The file {str(path)!r} is not text in UTF-8. Save it so, or as .npy.") from None


def _table(path: Path, delimiter: str | None, skip: int) -> Any:
    try:
        with path.open(encoding="utf-8-sig") as file:
            return np.loadtxt(file, delimiter=delimiter, skiprows=skip, quotechar='"', ndmin=2)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        fault = _fault(path, delimiter, skip) or error
        raise DataError(f"The file {str(path)!r} is no table of numbers: {fault}") from None


def _layout(path: Path) -> tuple[str | None, int]:
    """The delimiter, ``None`` for spaces, and how many lines stand above the numbers."""
    head = list(islice(_lines(path), 2))
    if not head:
        raise FileError(f"The file {str(path)!r} holds no numbers. Write one row of the matrix a line.")
    (number, first), (below, second) = head[0], head[-1]
    delimiter = next((mark for mark in DELIMITERS if mark in second), None)
    if len(head) == 1 or not all(map(_is_name, _fields(first, delimiter))):
        return delimiter, 0
    names, values = (sum(1 for _ in _fields(line, delimiter)) for line in (first, second))
    if names != values:
        raise DataError(
            f"The file {str(path)!r} is no table of numbers: line {number} holds {names} names, and line {below} "
            f"{values} values. Give each column one name, or leave line {number} out."
        )
    return delimiter, number


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, numbered from 1, without their comments."""
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            text = line if "#" not in line else BEFORE_COMMENT.match(line)[0]  # type: ignore[index]  # it always matches
            if text.strip():
                yield number, text.rstrip("\n")


def _fields(line: str, delimiter: str | None) -> Iterator[str]:
    """What stands between the delimiters, of which a field in quotes may hold some."""
    if delimiter is None:
        yield from (match[0].strip('"') for match in re.finditer(r'"[^"]*"|\S+', line))
        return
    field, at = re.compile(rf'\s*"[^"]*"[^{delimiter}]*|[^{delimiter}]*'), 0
    while at <= len(line) and (match := field.match(line, at)):
        yield match[0].strip().strip('"')
        at = match.end() + 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def _is_name(text: str) -> bool:
    return text.isprintable() and not _is_number(text) and not LIKE_A_NUMBER.fullmatch(text)


def _fault(path: Path, delimiter: str | None, skip: int) -> str | None:
    """What is wrong with the first bad line, and where it stands."""
    width, first = None, True
    for number, line in _lines(path):
        if number <= skip:
            continue
        count = 0
        for count, text in enumerate(_fields(line, delimiter), 1):
            if not _is_number(text):
                holds = f"line {number}, column {count} holds {text[:LONGEST]!r}"
                if DECIMAL_COMMA.fullmatch(text):
                    return f"{holds}, a number with a decimal comma. Write decimal points."
                header = " If the line is a header, it must hold names only: leave it out." if first else ""
                return f"{holds}. Replace it by a number.{header}"
        if width is not None and count != width:
            return f"line {number} holds {count} values, the lines before it {width}. Give every row as many."
        width, first = count, False
    return None
