"""MATLAB files: what scipy writes is read as scipy reads it, and what crashes scipy is refused."""

import io
import struct
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from bregopt.errors import DataError, FileError
from bregopt.matrices import read_matrix

HEADER = b"MATLAB 5.0 MAT-file".ljust(124)
LITTLE, BIG = HEADER + b"\x00\x01IM", HEADER + b"\x01\x00MI"
DTYPES = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")

CRASHES = {  # found by damaging small files at random; each is followed by scipy 1.17 into memory that is not there
    "sparse": "0e000000680000000600000008000000050000000200000005000000080000000200000002000000010001004d0000000500"
    "0000080000000000000001000000050000000c00000000000000010000000200000000000000000000000000000000f03f00"
    "0000000000f03f",
    "dense": "0e00000050000000060000000800000006000000000000000500000008000000020000000000000101000100000000200000"
    "00000000000000f03f00000000000000000000000000000000000000000000f03f",
    "compressed sparse": "0f0000002100000078dae3636060c800623620e6006256206682d21c5036083332500700004070009e",
    "compressed dense": "0f0000001e00000078dae36360600800623620e680d220c00ae5334131231092020029ae0086",
}


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("name", CRASHES)
def test_a_file_that_crashes_scipy_is_refused(name, tmp_path):
    (tmp_path / "a.mat").write_bytes(LITTLE + bytes.fromhex(CRASHES[name]))
    with pytest.raises(FileError, match=r"damaged|Got none instead"):
        read_matrix(tmp_path / "a.mat")


def around(M):
    """A matrix with other variables, as they stand beside it in files."""
    return [
        {"M": M},
        {"text": "hello", "fea": M, "gnd": np.arange(5)},
        {"B": M, "cell": np.array([[1, "s"]], dtype=object), "struct": {"a": 1, "b": np.eye(2)}},
        {"Problem": {"name": "n", "x": np.arange(3.0), "A": M, "notes": {"q": 1}}},
        {"cube": np.ones((2, 2, 2)), "long_" * 5: M},
    ]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_scipy_writes_is_read_back(dtype, make, compressed, tmp_path):
    rng = np.random.default_rng(0)
    for number, shape in enumerate([(4, 3), (2, 9), (7, 7), (30, 2), (5, 11)]):
        M = (rng.integers(0, 100, shape) * (rng.random(shape) < 0.5)).astype(dtype)
        variables = around(make(M))[number]
        scipy.io.savemat(tmp_path / "a.mat", variables, do_compression=compressed)
        found = read_matrix(tmp_path / "a.mat")
        np.testing.assert_array_equal(dense(found), M)
        if not scipy.sparse.issparse(found):
            assert found.dtype == (np.uint8 if dtype == "?" else M.dtype)


def element(order, kind, data, short=False):
    if short:
        return struct.pack(f"{order}I", len(data) << 16 | kind) + data.ljust(4, b"\0")
    return struct.pack(f"{order}II", kind, len(data)) + data + bytes(-len(data) % 8)


def variable(order, name, kind, shape, *parts, flags=0, nonzeros=0):
    """A matrix as the description of the format has it."""
    head = element(order, 6, struct.pack(f"{order}II", flags | kind, nonzeros))
    head += element(order, 5, struct.pack(f"{order}{len(shape)}i", *shape))
    head += element(order, 1, name.encode(), short=len(name) <= 4)
    return element(order, 14, head + b"".join(parts))


def packed(order, content):
    data = zlib.compress(content)
    return struct.pack(f"{order}II", 15, len(data)) + data


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("order", "header"), [("<", LITTLE), (">", BIG)])
def test_both_byte_orders_are_read(order, header, compressed, tmp_path):
    M = np.array([[1.5, 0.0, -2.0], [0.0, 4.0, 0.25]])
    S = scipy.sparse.csc_array(M)
    full = variable(order, "M", 6, M.shape, element(order, 9, M.astype(f"{order}f8").tobytes("F")))
    small = variable(order, "M", 6, (1, 2), element(order, 2, b"\x07\x09", short=True))
    parts = [element(order, 5, S.indices.astype(f"{order}i4").tobytes())]
    parts += [element(order, 5, S.indptr.astype(f"{order}i4").tobytes())]
    parts += [element(order, 9, S.data.astype(f"{order}f8").tobytes())]
    sparse = variable(order, "M", 5, M.shape, *parts, nonzeros=S.nnz)
    for content, expected in ((full, M), (small, [[7, 9]]), (sparse, M)):
        whole = header + (packed(order, content) if compressed else content)
        (tmp_path / "a.mat").write_bytes(whole)
        found = read_matrix(tmp_path / "a.mat")
        np.testing.assert_array_equal(dense(found), expected)
        assert found.dtype.isnative
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions of scipy would rather return another sparse type
            np.testing.assert_array_equal(dense(scipy.io.loadmat(io.BytesIO(whole))["M"]), expected)


def test_text_cells_functions_and_objects_are_passed_over(tmp_path):
    M = np.eye(3)
    others = [variable("<", f"x{kind}", kind, (1, 1), b"nonsense" * 4) for kind in (1, 2, 3, 4, 16)]
    opaque = element("<", 14, element("<", 6, struct.pack("<II", 17, 0)) + b"nonsense" * 4)
    matrix = variable("<", "anything", 6, M.shape, element("<", 9, M.tobytes()))
    for wrap in (bytes, lambda content: packed("<", content)):
        (tmp_path / "a.mat").write_bytes(LITTLE + b"".join(map(wrap, [*others, opaque, matrix])))
        np.testing.assert_array_equal(read_matrix(tmp_path / "a.mat"), M)


NUMBERS = element("<", 9, np.ones(4).tobytes())
REFUSED = {
    "more than it holds": (variable("<", "M", 6, (30000, 30000), NUMBERS), "30000×30000 and holds 4 numbers"),
    "less than it holds": (variable("<", "M", 6, (1, 2), NUMBERS), "1×2 and holds 4 numbers"),
    "a negative shape": (variable("<", "M", 6, (-2, -2), NUMBERS), "shape of a matrix"),
    "text for numbers": (variable("<", "M", 6, (2, 2), element("<", 16, b"abcd")), "where numbers should"),
    "no numbers": (variable("<", "M", 6, (2, 2)), "longer than the matrix"),
    "a long tag": (b"\x0e\0\0\0\xff\xff\xff\xff" + bytes(8), "tag at byte 128"),
    "an unknown tag": (b"\x63\0\0\0\x08\0\0\0" + bytes(8), "tag at byte 128"),
    "half a tag": (b"\x0e\0\0\0", "cut off at byte 132"),
    "no stream": (b"\x0f\0\0\0\x08\0\0\0" + b"nonsense", "damaged"),
    "half a stream": (packed("<", variable("<", "M", 6, (2, 2), NUMBERS))[:-20], "tag at byte 128"),
    "rows outside": (
        variable(
            "<",
            "M",
            5,
            (2, 2),
            *(element("<", 5, struct.pack("<3i", *it)) for it in ((0, 99, 1), (0, 1, 2))),
            element("<", 9, np.ones(2).tobytes()),
        ),
        "damaged",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_variable_that_makes_no_sense_is_refused(name, tmp_path):
    content, reason = REFUSED[name]
    (tmp_path / "a.mat").write_bytes(LITTLE + content)
    with pytest.raises(FileError, match=reason):
        read_matrix(tmp_path / "a.mat")
    if content[0] == 14 and name != "a long tag":
        (tmp_path / "a.mat").write_bytes(LITTLE + packed("<", content))
        with pytest.raises(FileError, match="damaged"):
            read_matrix(tmp_path / "a.mat")


def test_a_compressed_matrix_out_of_proportion_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("bregopt.matrices.checks.FREE_BYTES", 10**6)
    zeros = np.zeros((3000, 1000))
    content = variable("<", "M", 6, zeros.shape, element("<", 9, zeros.tobytes()))
    (tmp_path / "a.mat").write_bytes(LITTLE + packed("<", content))
    tracemalloc.start()
    with pytest.raises(FileError, match=r"reading it would take 0\.024 GB of memory.*'-v6'"):
        read_matrix(tmp_path / "a.mat")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_a_stream_that_goes_on_after_its_matrix_or_has_another_checksum_is_refused(tmp_path):
    content = variable("<", "M", 6, (2, 2), NUMBERS)
    (tmp_path / "a.mat").write_bytes(LITTLE + packed("<", content + bytes(100)))
    with pytest.raises(FileError, match="longer than it announces"):
        read_matrix(tmp_path / "a.mat")
    damaged = bytearray(LITTLE + packed("<", content))
    damaged[-1] ^= 1
    (tmp_path / "a.mat").write_bytes(damaged)
    with pytest.raises(FileError, match="incorrect data check"):
        read_matrix(tmp_path / "a.mat")


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("format", ["4", "5"])
def test_complex_numbers_are_refused(format, make, tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"M": make(np.eye(2) * 1j)}, format=format)
    with pytest.raises(DataError, match=r"must hold real numbers\. Got complex ones"):
        read_matrix(tmp_path / "a.mat")


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i2", "u2", "u1"])
def test_version_4_is_read(dtype, make, tmp_path):
    M = np.array([[1, 0, 2], [0, 4, 3]], dtype)
    scipy.io.savemat(tmp_path / "a.mat", {"n": 3.0, "note": "text", "B": make(M)}, format="4")
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / "a.mat")), M)


def test_version_4_of_a_machine_of_the_other_byte_order_is_read(tmp_path):
    head = struct.pack(">5i", 1000, 2, 2, 0, 2) + b"M\0"
    (tmp_path / "a.mat").write_bytes(head + np.arange(4.0).astype(">f8").tobytes())
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.mat"), [[0, 2], [1, 3]])


@pytest.mark.parametrize(
    "numbers", [(0, 30000, 30000, 0, 2), (0, -1, 2, 0, 2), (77, 2, 2, 0, 2), (0, 2, 2, 0, 10**6), (0, 2, 2, 7, 2)]
)
def test_a_head_of_version_4_that_makes_no_sense_is_refused(numbers, tmp_path):
    (tmp_path / "a.mat").write_bytes(struct.pack("<5i", *numbers) + b"M\0" + np.ones(4).tobytes())
    with pytest.raises(FileError, match=r"makes no sense|do not hold it"):
        read_matrix(tmp_path / "a.mat")


def test_many_matrices_are_listed_in_short(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {f"v{number}": np.eye(2) for number in range(50)})
    with pytest.raises(FileError, match=r"Got v0 \(2×2\), .*v5 \(2×2\) and 44 more instead"):
        read_matrix(tmp_path / "a.mat")
