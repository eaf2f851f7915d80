"""What a cell of a text file is: a number, a whole number, missing, or a name."""

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

DELIMITERS = ("\t", ";", "|", ",")
MISSING = frozenset(["", "na", "n/a", "<na>", "nan", "-nan", "null", "none"])
"""Cells that stand for a missing entry, in small letters."""
TRUTHS = frozenset(["true", "false"])
WHOLE = re.compile(r"[+-]?\d{1,18}")
LIKE_A_NUMBER = re.compile(r"[+-]?[\d.,'’\s]*\d[\d.,'’\s]*(?:[eE][+-]?\d+)?\s*%?")
"""A number as it is written somewhere, though not one that is read; never a name."""
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
"""Where commas may stand between thousands as well."""
WORDS = re.compile(r'"(?:[^"]|"")*"|\S+')


def fields(line: str, delimiter: str | None) -> list[str]:
    """What stands between the delimiters, of which a cell in quotes may hold some; ``None`` means spaces."""
    if delimiter is None:
        return [word.strip('"').replace('""', '"') for word in WORDS.findall(line)]
    found = next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t"), [])
    return [cell.strip() for cell in found]


def delimiter_of(line: str) -> str | None:
    """The mark that cuts a line into the most numbers; ``None`` for spaces."""
    marks = [mark for mark in DELIMITERS if mark in line]
    return max(marks, key=lambda mark: sum(map(_like_data, fields(line, mark))), default=None)


def _like_data(text: str) -> bool:
    return is_number(text) or DECIMAL_COMMA.fullmatch(text) is not None


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_missing(text: str) -> bool:
    return text.lower() in MISSING


def is_whole(text: str) -> bool:
    return WHOLE.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a cell is text that may name a row or a column."""
    low = text.lower()
    return (
        text.isprintable()
        and low not in MISSING
        and low not in TRUTHS
        and not is_number(text)
        and not LIKE_A_NUMBER.fullmatch(text)
    )


def rising(cells: Sequence[str]) -> bool:
    """Whether the cells are numbers, each larger than the one before it."""
    return all(map(is_number, cells)) and all(a < b for a, b in pairwise(map(float, cells)))


def whole_rising(cells: Sequence[str]) -> list[int] | None:
    """The cells as whole numbers, each larger than the one before it; else ``None``."""
    if not all(map(is_whole, cells)):
        return None
    numbers = [int(cell) for cell in cells]
    return numbers if all(a < b for a, b in pairwise(numbers)) else None


def consecutive(numbers: Sequence[int]) -> bool:
    return list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def decimal_commas(cells: Iterable[str]) -> bool | None:
    """Whether numbers are written like ``1,5``; ``None`` where they may be thousands as well, as in ``1,000``."""
    written = [cell for cell in cells if ("," in cell or "." in cell) and LIKE_A_NUMBER.fullmatch(cell)]
    commas = [cell for cell in written if DECIMAL_COMMA.fullmatch(cell)]
    if not commas or len(commas) < len(written):
        return False
    return True if any(not GROUPED.fullmatch(cell) for cell in commas) else None
