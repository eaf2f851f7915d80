"""A matrix from a text file: delimiter detected, one header line allowed."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import DataError, FileError

DELIMITERS = ("\t", ";", ",")


def read_text(path: Path) -> Any:
    """One row of the matrix a line; what follows a # is a comment."""
    try:
        return _table(path)
    except UnicodeDecodeError:
        raise FileError(f"The file {str(path)!r} is not text in UTF-8. Save it so, or as .npy.") from None


def _table(path: Path) -> Any:
    head = list(islice(_lines(path), 2))
    if not head:
        raise FileError(f"The file {str(path)!r} holds no numbers. Write one row of the matrix a line.")
    (number, first), (_, last) = head[0], head[-1]
    delimiter = next((mark for mark in DELIMITERS if mark in last), None)
    header = not any(map(_is_number, _fields(first, delimiter)))
    skip = number if header and len(head) > 1 else 0
    try:
        with path.open(encoding="utf-8-sig") as handle:
            return np.loadtxt(handle, delimiter=delimiter, skiprows=skip, quotechar='"', ndmin=2)
    except ValueError as error:
        fault = _fault(path, delimiter, skip) or error
        raise DataError(f"The file {str(path)!r} is no table of numbers: {fault}") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, numbered from 1."""
    with path.open(encoding="utf-8-sig") as handle:
        for number, line in enumerate(handle, 1):
            text = line.partition("#")[0]
            if text.strip():
                yield number, text.rstrip("\n")


def _fields(line: str, delimiter: str | None) -> list[str]:
    return [field.strip().strip('"') for field in line.split(delimiter)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fault(path: Path, delimiter: str | None, skip: int) -> str | None:
    """What is wrong with the first bad line, and where it stands."""
    width = None
    for number, line in _lines(path):
        if number <= skip:
            continue
        fields = _fields(line, delimiter)
        for column, text in enumerate(fields, 1):
            if not _is_number(text):
                return f"line {number}, column {column} holds {text!r}. Replace it by a number."
        if width is not None and len(fields) != width:
            return f"line {number} holds {len(fields)} values, the lines before it {width}. Give every row as many."
        width = len(fields)
    return None
