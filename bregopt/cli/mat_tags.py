"""The tags that a MATLAB file is made of, checked first: scipy's reader crashes where one is damaged."""

import struct
from collections.abc import Callable
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

HEADER = 128
MATRIX, COMPRESSED = 14, 15
KINDS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, MATRIX, COMPRESSED, 16, 17, 18}


def check_tags(path: Path) -> None:
    """Raise ValueError unless every tag of a version 5 file is known and its data lie within the file."""
    if path.stat().st_size < HEADER:
        return
    with path.open("rb") as handle, mmap(handle.fileno(), 0, access=ACCESS_READ) as data:
        order = {b"IM": "<", b"MI": ">"}.get(data[126:HEADER])
        if order is not None:
            _walk(data, HEADER, len(data), struct.Struct(f"{order}II").unpack_from)


def _walk(data: mmap, at: int, end: int, unpack: Callable[[Any, int], tuple[int, ...]]) -> None:
    while at < end:
        if at + 8 > end:
            raise ValueError(f"it is cut off at byte {end}")
        kind, size = unpack(data, at)
        body = at + 8
        if kind >> 16:  # the short form: size and kind in one number, four bytes of data
            kind, size, body = kind & 0xFFFF, kind >> 16, at + 4
        if kind not in KINDS or body + size > end:
            raise ValueError(f"the tag at byte {at} makes no sense")
        if kind == MATRIX:
            _walk(data, body, body + size, unpack)
        at = body + size
        if kind != COMPRESSED:
            at += -at % 8
