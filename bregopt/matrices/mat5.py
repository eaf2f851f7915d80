"""The matrices of a MATLAB file of version 5, read strictly: scipy's reader may crash where one is damaged.

A file is a header and elements, one for each variable, compressed or not. An element is a tag (its kind and its size),
and data. The data of a matrix are elements again: its class, its shape, its name, and its numbers.
"""

import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from attrs import frozen

from bregopt.errors import DataError
from bregopt.matrices.checks import check_room

HEADER = 128
ORDERS = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}
"""How the header of version 5 ends, in each byte order."""
SUITE_SPARSE = "Problem.A"
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXTS = (1, 2, 16)
STRUCT, SPARSE, DENSE = 2, 5, range(6, 16)
"""Classes of matrices that are looked into; text, cells, objects and functions are passed over."""
COMPLEX = 0x0800
MOST_DIMENSIONS, MOST_NAMES, BLOCK = 32, 2**16, 2**20
ENTRY_BYTES = 20
"""Of memory, at most, for an entry of a sparse matrix while it is brought into its row."""
UNCOMPRESSED = "save it with '-v6', which does not compress"


@final
@frozen
class Stored:
    """A matrix of numbers in a file, which is read only if it is the one that is wanted."""

    shape: tuple[int, ...]
    read: Callable[[], Any]


Matrices = Mapping[str, Stored]


def matrices(file: IO[bytes], path: Path) -> Matrices:
    """The matrices of real or complex numbers with two dimensions, by name."""
    file.seek(0)
    order = ORDERS[file.read(HEADER)[124:]]
    end, at = path.stat().st_size, HEADER
    found: dict[str, Stored] = {}
    while at < end:
        file.seek(at)
        tag = file.read(8)
        if len(tag) < 8:
            raise ValueError(f"it is cut off at byte {end}")
        kind, size = struct.unpack(f"{order}II", tag)
        if kind not in (MATRIX, COMPRESSED) or at + 8 + size > end:
            raise ValueError(f"the tag at byte {at} makes no sense")
        variable = _Variable(file, path, order, at + 8, size, kind == COMPRESSED)
        if size:
            found |= variable.matrices()
        at += 8 + size
        if kind != COMPRESSED:
            at += -at % 8
    return found


@final
@frozen
class _Variable:
    """Where in the file a variable stands."""

    file: IO[bytes]
    path: Path
    order: str
    begin: int
    size: int
    compressed: bool

    def matrices(self) -> dict[str, Stored]:
        """The variable, if it is a matrix of numbers, or the matrix within it; else nothing."""
        data, head = self._opened()
        if head.name.startswith("__"):
            return {}
        if head.kind == STRUCT and head.name == SUITE_SPARSE.partition(".")[0]:
            inner = _field(data, head, SUITE_SPARSE.partition(".")[2])
            return {SUITE_SPARSE: Stored(inner.shape, self._read_field)} if inner.numeric else {}
        return {head.name: Stored(head.shape, self._read)} if head.numeric and head.name else {}

    def _opened(self) -> tuple["_Data", "_Head"]:
        data = _Data(self.file, self.begin, self.size, self.order, self.compressed)
        return data, _head(data)

    def _read(self) -> Any:
        data, head = self._opened()
        return self._numbers(data, head)

    def _read_field(self) -> Any:
        data, head = self._opened()
        return self._numbers(data, _field(data, head, SUITE_SPARSE.partition(".")[2]))

    def _numbers(self, data: "_Data", head: "_Head") -> Any:
        if head.complex:
            raise DataError(f"The matrix in {str(self.path)!r} must hold real numbers. Got complex ones instead.")
        matrix = _sparse(data, head, self.path) if head.kind == SPARSE else _dense(data, head, self.path)
        data.finish()
        return matrix


@final
class _Data:
    """The data of one element from first to last, unpacked on the way where they are compressed."""

    def __init__(self, file: IO[bytes], begin: int, size: int, order: str, compressed: bool) -> None:
        file.seek(begin)
        self._file, self._order, self._packed = file, order, size
        self._inflater = zlib.decompressobj() if compressed else None
        self._waiting = b""
        self.left = self._whole = 8 if compressed else size
        if compressed:  # a tag, and the matrix
            kind, size = self.tag()
            if kind != MATRIX:
                raise ValueError(f"a compressed element holds one of kind {kind}, not a matrix")
            self.left = self._whole = size

    def tag(self) -> tuple[int, int]:
        """Kind and size of the element that comes next."""
        kind, size = struct.unpack(f"{self._order}II", self.read(8))
        return kind, size

    def element(self, most: int) -> tuple[int, bytearray]:
        """Kind and data of the next element, of that many bytes at most."""
        kind, size = self.tag()
        if kind >> 16:  # the short form: size and kind in one number, four bytes of data in the other
            if kind >> 16 > 4:
                raise ValueError(f"a short element announces {kind >> 16} bytes")
            return kind & 0xFFFF, bytearray(struct.pack(f"{self._order}I", size)[: kind >> 16])
        if size > most:
            raise ValueError(f"an element announces {size} bytes, where at most {most} make sense")
        data = self.read(size)
        self.skip(min(-size % 8, self.left))
        return kind, data

    def numbers(self, most: int, kinds: str = "iuf") -> Any:
        """The numbers of the next element, in the byte order of this machine."""
        kind, data = self.element(most)
        if kind not in NUMBERS or NUMBERS[kind][0] not in kinds:
            raise ValueError(f"an element of kind {kind} stands where numbers should")
        found = np.frombuffer(data, self._order + NUMBERS[kind])
        return found if found.dtype.isnative else found.byteswap(inplace=True).view(found.dtype.newbyteorder("="))

    def read(self, size: int) -> bytearray:
        """The next bytes."""
        if size > self.left:
            raise ValueError("an element is longer than the matrix that holds it")
        self.left -= size
        data = bytearray(size)
        at = 0
        while at < size:
            piece = self._some(min(size - at, BLOCK))
            if not piece:
                raise ValueError("it ends too early")
            data[at : at + len(piece)] = piece
            at += len(piece)
        return data

    def skip(self, size: int) -> None:
        """Pass over the next bytes."""
        while size > 0:
            size -= len(self.read(min(size, BLOCK)))

    def finish(self) -> None:
        """Pass over the rest of what is compressed, up to its checksum."""
        while self._inflater and not self._inflater.eof:
            if not self._some(BLOCK) and not self._inflater.eof:
                raise ValueError("it ends too early")

    def _some(self, most: int) -> bytes:
        if self._inflater is None:
            return self._file.read(most)
        while not self._inflater.eof:
            if not self._waiting:
                self._waiting = self._file.read(min(self._packed, BLOCK))
                self._packed -= len(self._waiting)
                if not self._waiting:
                    break
            piece = self._inflater.decompress(self._waiting, most)
            self._waiting = self._inflater.unconsumed_tail
            self._whole -= len(piece)
            if self._whole < 0:
                raise ValueError("a compressed element is longer than it announces")
            if piece:
                return piece
        return b""


@final
@frozen
class _Head:
    """What a matrix begins with."""

    kind: int
    complex: bool
    shape: tuple[int, ...]
    name: str

    @property
    def numeric(self) -> bool:
        return (self.kind == SPARSE or self.kind in DENSE) and len(self.shape) == 2


NOTHING = _Head(0, False, (), "")


def _head(data: _Data) -> _Head:
    flags = data.numbers(8, "u")
    if flags.size != 2:
        raise ValueError("the flags of a matrix make no sense")
    kind = int(flags[0]) & 0xFF
    if kind == 17:  # an object that only MATLAB knows: it has a name here, and no shape
        return NOTHING
    sizes = data.numbers(4 * MOST_DIMENSIONS, "i")
    if sizes.itemsize != 4 or sizes.size < 2 or sizes.min() < 0:
        raise ValueError("the shape of a matrix makes no sense")
    shape = tuple(int(size) for size in sizes)
    text, name = data.element(MOST_NAMES)
    if text not in TEXTS:
        raise ValueError(f"an element of kind {text} stands where a name should")
    return _Head(kind, bool(flags[0] & COMPLEX), shape, name.decode("utf-8", "replace"))


def _field(data: _Data, outer: _Head, name: str) -> _Head:
    """The head of a field of the first struct, whose numbers come next."""
    width = data.numbers(4, "iu")
    _, text = data.element(MOST_NAMES)
    if width.size != 1 or width[0] < 1 or len(text) % width[0]:
        raise ValueError("the names of the fields of a struct make no sense")
    ends = range(0, len(text) if 0 not in outer.shape else 0, int(width[0]))
    for found in (bytes(text[at : at + int(width[0])]).partition(b"\0")[0] for at in ends):
        kind, size = data.tag()
        if kind != MATRIX or size > data.left:
            raise ValueError(f"an element of kind {kind} and {size} bytes stands where a field should")
        if found == name.encode() and size:
            data.left = size  # what follows it is out of reach from now on
            return _head(data)
        data.skip(size)
    return NOTHING


def _dense(data: _Data, head: _Head, path: Path) -> Any:
    m, n = head.shape
    check_room(path, data.left, UNCOMPRESSED)
    numbers = data.numbers(data.left)
    if numbers.size != m * n:
        raise ValueError(f"a matrix announces the shape {m}×{n} and holds {numbers.size} numbers")
    return numbers.reshape((m, n), order="F")


def _sparse(data: _Data, head: _Head, path: Path) -> Any:
    from scipy.sparse import csc_array

    whole = data.left
    check_room(path, whole, UNCOMPRESSED)
    rows = data.numbers(data.left, "iu")
    check_room(path, whole + ENTRY_BYTES * rows.size, UNCOMPRESSED)
    starts, values = data.numbers(data.left, "iu"), data.numbers(data.left)
    stored = int(starts[-1]) if starts.size else 0
    if not 0 <= stored <= min(rows.size, values.size):
        raise ValueError(f"a sparse matrix announces {stored} entries and holds {min(rows.size, values.size)}")
    return csc_array((values[:stored].astype(float, copy=False), rows[:stored], starts), shape=head.shape)
