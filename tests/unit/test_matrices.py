"""Matrices from files, of which no damaged one gets through or breaks the process, and those that need no file."""

import gzip
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

import bregopt
from bregopt.errors import DataError, FileError, ParameterError, UnknownNameError
from bregopt.matrices import built_in, mycielskian, read_matrix, synthetic
from bregopt.matrices.files import STORES, SUFFIXES

M = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.25]])
S = sparse.csr_array(M)
Q = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 4.0]])


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def gzipped(path):
    io.mmwrite(path.with_suffix(""), S)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def with_version(path, version):
    with path.open("wb") as file:
        np.lib.format.write_array(file, M, version)


WRITERS = {
    "a.npy": lambda path: np.save(path, M),
    "only.npz": lambda path: np.savez(path, anything=M),
    "named.npz": lambda path: np.savez(path, labels=np.arange(2), X=M),
    "csr.npz": lambda path: sparse.save_npz(path, S),
    "csc.npz": lambda path: sparse.save_npz(path, S.tocsc()),
    "coo.npz": lambda path: sparse.save_npz(path, S.tocoo()),
    "sparse.mtx": lambda path: io.mmwrite(path, S),
    "dense.mtx": lambda path: io.mmwrite(path, M),
    "sparse.mtx.gz": gzipped,
    "named.mat": lambda path: io.savemat(path, {"gnd": np.arange(6).reshape(2, 3), "fea": M}),
    "sparse.mat": lambda path: io.savemat(path, {"gnd": np.arange(2), "B": S}),
    "compressed.mat": lambda path: io.savemat(path, {"M": M}, do_compression=True),
    "version4.mat": lambda path: io.savemat(path, {"M": M}, format="4"),
    "suite.mat": lambda path: io.savemat(path, {"Problem": {"name": "x", "A": S, "kind": "graph"}}),
    "comma.csv": lambda path: np.savetxt(path, M, delimiter=","),
    "tab.tsv": lambda path: np.savetxt(path, M, delimiter="\t"),
    "space.txt": lambda path: np.savetxt(path, M, header="a comment"),
    "semicolon.csv": lambda path: path.write_text("a;b;c\n0;1.5;0\n\n2;0;.25\n"),
    "header.CSV": lambda path: path.write_text('\ufeff"one, two",b,c\r\n0,1.5,0\r\n2,0,0.25\r\n', encoding="utf-8"),
    "mark.csv": lambda path: path.write_text("0,1.5,0\n2,0,0.25\n", encoding="utf-8-sig"),
    "quoted.csv": lambda path: path.write_text('"0","1.5","0"\n"2","0","0.25"\n'),
    "sign.csv": lambda path: path.write_text('"item #1","item, 2",5" nail\n0,1.5,0 # zero\n2,0,0.25\n'),
    "names.txt": lambda path: path.write_text("# comment\n\n'a' b c-1\n0 1.5 0\n2 0 0.25\n"),
    "dates.csv": lambda path: path.write_text("2020-01-01,2020-01-02,2020-01-03\n0,1.5,0\n2,0,0.25\n"),
    "unnamed.csv": lambda path: path.write_text(",,\n0,1.5,0\n2,0,0.25\n"),
    "bsr.npz": lambda path: sparse.save_npz(path, S.tobsr((1, 3))),
    "dia.npz": lambda path: sparse.save_npz(path, S.todia()),
    "coords.npz": lambda path: np.savez(path, format=b"coo", shape=(2, 3), data=S.data, coords=S.tocoo().coords),
    "matrix.npz": lambda path: sparse.save_npz(path, sparse.csr_matrix(M), compressed=False),
    "other-order.npy": lambda path: np.save(path, M.astype(">f8")),
    "other-order.npz": lambda path: np.savez(
        path, format="coo", shape=(2, 3), data=S.data.astype(">f8"), row=[0, 1, 1], col=[1, 0, 2]
    ),
    "columns.npy": lambda path: np.save(path, np.asfortranarray(M)),
    "columns.npz": lambda path: np.savez_compressed(path, np.asfortranarray(M)),
    "version2.npy": lambda path: with_version(path, (2, 0)),
    "version3.npy": lambda path: with_version(path, (3, 0)),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(b"0,1.5,0\n2,0,.25\n")),
    "a.tsv.gz": lambda path: path.write_bytes(gzip.compress(b"a\tb\tc\n0\t1.5\t0\n2\t0\t.25\n")),
    "a.txt.gz": lambda path: path.write_bytes(gzip.compress(b"0 1.5 0\n2 0 .25")),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_read_back(name, tmp_path):
    WRITERS[name](tmp_path / name)
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / name)), M)


def test_every_suffix_that_is_offered_is_tested():
    assert all(
        any(name.lower().endswith(suffix) for name in WRITERS)
        for suffix in SUFFIXES
        if suffix not in (*STORES, ".parquet")
    )


@pytest.mark.parametrize(
    "name",
    ["csr.npz", "csc.npz", "coo.npz", "bsr.npz", "dia.npz", "sparse.mtx", "sparse.mtx.gz", "sparse.mat", "suite.mat"],
)
def test_what_is_sparse_stays_sparse(name, tmp_path):
    WRITERS[name](tmp_path / name)
    assert isinstance(read_matrix(tmp_path / name), sparse.csr_array)


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_half_of_a_symmetric_market_file_is_mirrored(make, symmetry, tmp_path):
    A = Q if symmetry == "symmetric" else np.triu(Q, 1) - np.triu(Q, 1).T
    io.mmwrite(tmp_path / "a.mtx", make(A), symmetry=symmetry)
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / "a.mtx")), A)


def test_a_pattern_has_ones_and_twice_the_same_place_is_one_entry(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n% note\n2 3 3\n1 2\n2 3\n1 2\n")
    matrix = read_matrix(path)
    assert matrix.nnz == 2
    np.testing.assert_array_equal(matrix.toarray(), [[0, 2, 0], [0, 0, 1]])


def test_a_sparse_archive_with_twice_the_same_place_is_summed(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(([1.0, 2.0, 3.0], [0, 0, 1], [0, 3])))
    matrix = read_matrix(tmp_path / "a.npz")
    assert matrix.data.tolist() == [3.0, 3.0]


def test_a_lone_row_of_numbers_is_a_matrix_and_not_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.csv"), [[1, 2, 3]])


def text(content):
    return lambda path: path.write_text(content)


def beyond(path):
    broken = sparse.csr_array(M)
    broken.indices[0] = 77
    sparse.save_npz(path, broken)


def zip_named_npy(path):
    with path.open("wb") as handle:
        np.savez(handle, M=M)


REFUSED = {
    "missing.npy": (lambda path: None, FileError, "does not exist"),
    "folder.npy": (lambda path: path.mkdir(), FileError, "is not a file"),
    "data.xlsx": (lambda path: path.touch(), FileError, "suffix '.xlsx'"),
    "data": (lambda path: path.touch(), FileError, "no suffix"),
    "empty.npy": (lambda path: path.touch(), FileError, "is empty"),
    "empty.npz": (lambda path: path.touch(), FileError, "is empty"),
    "empty.mat": (lambda path: path.touch(), FileError, "is empty"),
    "empty.mtx": (lambda path: path.touch(), FileError, "is empty"),
    "empty.csv": (lambda path: path.touch(), FileError, "is empty"),
    "page.mat": (text("<html>404</html>" * 20), FileError, "damaged"),
    "page.npz": (text("<html>404</html>"), FileError, "damaged"),
    "zip.npy": (zip_named_npy, FileError, "damaged"),
    "many.npz": (lambda path: np.savez(path, a=M, b=M), FileError, "Got a, b instead"),
    "none.npz": (lambda path: np.savez(path), FileError, "Got none instead"),
    "beyond.npz": (beyond, FileError, "damaged"),
    "many.mat": (lambda path: io.savemat(path, {"a": M, "b": M}), FileError, r"a \(2×3\), b \(2×3\)"),
    "words.mat": (lambda path: io.savemat(path, {"a": "hello"}), FileError, "Got none instead"),
    "hdf.mat": (lambda path: path.write_bytes(b"MATLAB 7.3".ljust(124) + b"\x00\x02IM"), FileError, "-v7"),
    "kind.mtx": (text("%%MatrixMarket matrix coordinate real nonsense\n1 1 1\n1 1 1\n"), FileError, "first line"),
    "sizes.mtx": (text("%%MatrixMarket matrix coordinate real general\n1 x 1\n1 1 1\n"), FileError, "sizes"),
    "short.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n"), FileError, "announces 2"),
    "cut.mtx": (
        text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1E"),
        FileError,
        "the line '2 2 1E'",
    ),
    "beyond.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n"), FileError, "outside"),
    "half.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n"), FileError, "outside"),
    "complex.mtx": (text("%%MatrixMarket matrix array complex general\n1 1\n1 1\n"), DataError, "complex"),
    "complex.npy": (lambda path: np.save(path, M * 1j), DataError, "complex128"),
    "cube.npy": (lambda path: np.save(path, np.ones((2, 2, 2))), DataError, r"shape \(2, 2, 2\)"),
    "vector.npz": (lambda path: np.savez(path, M=np.ones(3)), DataError, r"shape \(3,\)"),
    "words.npy": (lambda path: np.save(path, np.array([["a", "b"]])), DataError, "real numbers"),
    "words.csv": (text("a,b\n1,2\n3,four\n"), DataError, "line 3, column 2 .'b'. holds 'four'"),
    "typo.csv": (text("1,x,3\n4,5,6\n"), DataError, "line 1, column 2 holds 'x'.*If the line is a header"),
    "title.csv": (text("Table 1\n1,2,3\n4,5,6\n"), DataError, "line 1 holds 1 names, and line 2 3 values"),
    "fewer-names.csv": (text("# c\na,b\n1,2,3\n4,5,6\n"), DataError, "line 2 holds 2 names, and line 3 3 values"),
    "more-names.txt": (text("a b c\n1 2\n3 4\n"), DataError, "line 1 holds 3 names.*leave line 1 out"),
    "commas.csv": (text("a;b\n1.5;2\n3;4,25\n"), DataError, "line 3, column 2 .'b'. holds '4,25'.*decimal points"),
    "groups.tsv": (text("1,000\t2,500\n3,500\t4\n"), DataError, "line 1, column 1 holds '1,000', which may be thous"),
    "german.csv": (text("1,5;2,5\n1.000,5;3\n"), DataError, "line 1, column 1 holds '1,5', a number with a decimal"),
    "numbers.csv": (text("1,2,3\n7,8,9\n"), DataError, "begins with the whole numbers 1, 2, 3 in line 1.*--no-header"),
    "truths.csv": (text("a,b\n1,True\n"), DataError, "column 2 .'b'. holds 'True'. Write 1 for true"),
    "thousands.csv": (text("1 000;2 000\n3;4\n"), DataError, "line 1, column 1 holds '1 000'"),
    "percent.csv": (text("10%;20%\n3;4\n"), DataError, "line 1, column 1 holds '10%'"),
    "nul.csv": (text("\0\0a,b\n3,4\n"), DataError, r"line 1, column 1 holds '\\x00\\x00a'"),
    "long.csv": (text("1,2\n3," + "x" * 9999), DataError, r"holds 'x{40}'\. "),
    "ragged.csv": (text("1,2,3\n\n4,5\n"), DataError, "line 3 holds 2 values"),
    "only-words.csv": (text("a,b\n"), DataError, "has a header, line 1, and no row below"),
    "more.mtx": (
        text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n"),
        FileError,
        "announces 1",
    ),
    "none.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 0\n1 1 1\n"), FileError, "announces 0"),
    "oblong.mtx": (text("%%MatrixMarket matrix array real symmetric\n2 1\n1\n"), FileError, "2×1"),
    "line.mtx": (
        text("%%MatrixMarket matrix array real general\n2 1\n" + "1 " * 2**21),
        FileError,
        "more than 1048576",
    ),
    "binary.csv": (lambda path: path.write_bytes(b"1,2\n\xff\xfe,3\n"), FileError, "UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_holds_no_real_matrix_is_refused_with_the_reason(name, tmp_path):
    write, error, reason = REFUSED[name]
    write(tmp_path / name)
    with pytest.raises(error, match=reason) as caught:
        read_matrix(tmp_path / name)
    assert name in str(caught.value)


@pytest.mark.parametrize("call", ["open", "stat"])
def test_a_file_or_folder_that_may_not_be_read_is_named(call, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    np.save(tmp_path / "a.npy", M)
    monkeypatch.setattr(Path, call, refuse)
    with pytest.raises(FileError, match=r"a\.npy' may not be read\. Check its permissions, and those of its folders"):
        read_matrix(tmp_path / "a.npy")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_without_permission_is_one_error(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    np.save(folder / "a.npy", M)
    folder.chmod(0)
    try:
        with pytest.raises(FileError, match="may not be read"):
            read_matrix(folder / "a.npy")
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("x" * 300 + ".npy", "There can be no file"), ("a\0b.npy", "no file 'a.x00b"), ("a.npy/b.npy", "does not exist")],
)
def test_a_path_that_cannot_be_is_one_error(name, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", M)
    with pytest.raises(FileError, match=reason):
        read_matrix(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name as POSIX has them")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(FileError, match="is not a file"):
        read_matrix(tmp_path / "a.npy")


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_nothing_is_ever_unpickled(name, tmp_path):
    bomb = np.array([[Bomb(tmp_path / "exploded")]], dtype=object)
    (np.save if name == "a.npy" else np.savez)(tmp_path / name, bomb)
    with pytest.raises(FileError, match="damaged"):
        read_matrix(tmp_path / name)
    assert not (tmp_path / "exploded").exists()
    pickle.loads(pickle.dumps(bomb))  # the bomb itself works
    assert (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "name", [name for name in WRITERS if not name.startswith(("semicolon", "header", "quoted", "mark", "names"))]
)
def test_a_damaged_file_is_read_or_refused_but_breaks_nothing(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    whole, rng = path.read_bytes(), np.random.default_rng(1)  # a seed that leaves the shapes small
    refused = 0
    for trial in range(60):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            del damaged[rng.integers(len(damaged)) :]
        elif trial % 3 == 1:
            place = rng.integers(len(damaged))
            damaged[place:] = bytes(len(damaged) - place)
        else:
            for place in rng.integers(len(damaged), size=3):
                damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_matrix(path)
        except (FileError, DataError) as error:
            refused += 1
            json.dumps(str(error))
    assert refused > 0


def test_a_large_npy_is_read_by_rows_and_a_damaged_one_refused(tmp_path, monkeypatch):
    M = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "M.npy", M)
    monkeypatch.setattr("bregopt.matrices.npy.LARGE", 1)
    found = read_matrix(tmp_path / "M.npy")
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, M)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "M.npy").read_bytes()[:-8])
    with pytest.raises(FileError, match="damaged"):
        read_matrix(tmp_path / "cut.npy")


def test_a_large_npy_by_columns_is_not_loaded_either(tmp_path, monkeypatch):
    M = np.abs(np.random.default_rng(0).standard_normal((40, 30)))
    np.save(tmp_path / "M.npy", np.asfortranarray(M))
    monkeypatch.setattr("bregopt.matrices.npy.LARGE", 1)
    found = read_matrix(tmp_path / "M.npy")
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, M)
    composed = bregopt.compose("relu-nmd", found, rank=2)
    assert composed.block.M.source is found
    plain = bregopt.compose("relu-nmd", M, rank=2)
    for problem in (composed, plain):
        assert problem.block.M.frobenius == pytest.approx(np.linalg.norm(M))
    ours, theirs = (bregopt.solve(problem, max_iterations=5) for problem in (composed, plain))
    np.testing.assert_allclose(ours.Y.U, theirs.Y.U, rtol=1e-10)


def test_a_path_may_be_text(tmp_path):
    np.save(tmp_path / "M.npy", M)
    np.testing.assert_array_equal(read_matrix(str(tmp_path / "M.npy")), M)


def test_the_mycielskian_graph_has_no_triangle_and_the_order_9_by_default():
    A = mycielskian()
    assert (A.shape, A.nnz, set(A.data.tolist())) == ((383, 383), 14542, {1.0})
    assert (A != A.T).nnz == 0
    assert (A @ A @ A).trace() == 0  # no triangle
    cycle = mycielskian(3)
    assert (cycle @ cycle).diagonal().tolist() == [2] * 5  # order 3 is the pentagon


def test_a_synthetic_matrix_is_the_positive_part_of_low_rank_factors():
    M = synthetic(30, 20, 2, seed=1)
    rng = np.random.default_rng(1)
    np.testing.assert_allclose(M, np.maximum(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)), 0))
    np.testing.assert_array_equal(synthetic(30, 20, 2), synthetic(30, 20, 2, seed=0))


def test_a_built_in_matrix_is_made_by_its_name():
    np.testing.assert_array_equal(built_in("synthetic", 30, 20, rank=2), synthetic(30, 20, 2))
    assert (built_in("mycielskian", 4) != mycielskian(4)).nnz == 0
    with pytest.raises(UnknownNameError, match="no built-in matrix 'netz', only mycielskian and synthetic"):
        built_in("netz", 3)
    with pytest.raises(ParameterError, match="takes order=9"):
        built_in("mycielskian", 9, 9)


@pytest.mark.parametrize(
    "head",
    [
        "%%MatrixMarket matrix array real symmetric\n30000 30000\n1.0\n",
        "%%MatrixMarket matrix array real general\n30000 30000\n1.0\n",
        "%%MatrixMarket matrix array real skew-symmetric\n30000 30000\n1.0\n",
        "%%MatrixMarket matrix coordinate real general\n10 10 1000000000\n1 1 1.0\n",
    ],
)
@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_a_file_that_announces_more_than_it_holds_is_refused_before_anything_is_allocated(tmp_path, head, suffix):
    path = tmp_path / f"M{suffix}"
    path.write_bytes(gzip.compress(head.encode()) if suffix.endswith("gz") else head.encode())
    tracemalloc.start()
    with pytest.raises(FileError, match=r"announces at least \d+ numbers, and its \d+ bytes cannot hold them"):
        read_matrix(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_a_sparse_matrix_with_a_billion_empty_rows_is_refused(tmp_path):
    (tmp_path / "M.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1000000000 2 1\n1 1 1.0\n")
    with pytest.raises(DataError, match=r"1000000000 rows for 1 entries.*8\.0 GB.*leave empty rows out"):
        read_matrix(tmp_path / "M.mtx")
    sparse.save_npz(tmp_path / "M.npz", sparse.coo_array(([1.0], ([0], [0])), shape=(10**9, 2)))
    with pytest.raises(DataError, match="1000000000 rows"):
        read_matrix(tmp_path / "M.npz")
    (tmp_path / "M.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1000000 2 1\n1 1 1.0\n")
    assert read_matrix(tmp_path / "M.mtx").shape == (1000000, 2)


def peak_of_refusal(path, reason):
    tracemalloc.start()
    with pytest.raises((FileError, DataError), match=reason):
        read_matrix(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def npy_header(shape, descr="<f8"):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head


HEADERS = {
    "too large": (npy_header((10**5, 10**5)), r"announces the shape \(100000, 100000\) of float64"),
    "beyond counting": (npy_header((10**15, 10**15)), "announces the shape"),
    "negative": (npy_header((-1, -1)), "announces the shape"),
    "long numbers": (npy_header((2, 2), "V999999999"), r"real numbers\. Got dtype"),
    "long header": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", "damaged"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_announces_more_than_follows_is_refused(name, tmp_path):
    header, reason = HEADERS[name]
    content = header + bytes(64) if name != "long numbers" else header.replace(b"V999999999", b"V000000016") + bytes(64)
    (tmp_path / "M.npy").write_bytes(content)
    assert peak_of_refusal(tmp_path / "M.npy", reason) < 20e6
    with zipfile.ZipFile(tmp_path / "M.npz", "w") as archive:
        archive.writestr("M.npy", content)
    assert peak_of_refusal(tmp_path / "M.npz", reason) < 20e6


@pytest.fixture
def little_room(monkeypatch):
    """Files may take 1 MB, and 20 times their size, so that those of a test can be small."""
    monkeypatch.setattr("bregopt.matrices.checks.FREE_BYTES", 10**6)


@pytest.mark.usefixtures("little_room")
def test_an_archive_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "dense.npz", M=np.zeros((3000, 1000)))
    assert peak_of_refusal(tmp_path / "dense.npz", r"take 0\.024 GB of memory.*save it without compression") < 1e6
    indices, indptr = np.zeros(10**6, np.int32), np.array([0, 10**6])
    arrays = {"data": np.zeros(10**6), "indices": indices, "indptr": indptr, "shape": (1, 2), "format": b"csr"}
    np.savez_compressed(tmp_path / "sparse.npz", **arrays)
    assert peak_of_refusal(tmp_path / "sparse.npz", r"take 0\.024 GB of memory.*save it without compression") < 1e6


@pytest.mark.usefixtures("little_room")
def test_a_text_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path):
    def write(head):
        (tmp_path / "M.mtx.gz").write_bytes(gzip.compress(head + b"1\n" * 300_000))

    write(b"%%MatrixMarket matrix array real general\n500 600\n")
    assert peak_of_refusal(tmp_path / "M.mtx.gz", r"take 0\.0048 GB of memory.*unpack it first") < 20e6
    write(b"%%MatrixMarket matrix array real general\n" + b"%\n" * 10**6)
    assert peak_of_refusal(tmp_path / "M.mtx.gz", r"unpacks to more than \d+ bytes") < 40e6


def test_an_archive_compressed_as_numpy_never_does_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "M.npz", "w", zipfile.ZIP_LZMA) as archive, archive.open("M.npy", "w") as member:
        np.save(member, M)
    with pytest.raises(FileError, match="numpy does not write"):
        read_matrix(tmp_path / "M.npz")


def test_a_member_with_another_checksum_is_refused(tmp_path):
    np.savez(tmp_path / "M.npz", M=M)
    content = bytearray((tmp_path / "M.npz").read_bytes())
    content[content.index(np.float64(1.5).tobytes())] ^= 1
    (tmp_path / "M.npz").write_bytes(content)
    with pytest.raises(FileError, match="CRC"):
        read_matrix(tmp_path / "M.npz")


SPARSE = {"format": b"csr", "shape": (2, 3), "data": S.data, "indices": S.indices, "indptr": S.indptr}
DAMAGED = {
    "layout": ({"format": b"lil"}, "its format is 'lil'"),
    "numbers": ({"data": S.data * 1j}, "real numbers"),
    "half numbers": ({"data": S.data.astype("f2")}, "float16"),
    "fractions": ({"indices": S.indices * 1.0}, "its indices are float64"),
    "three dimensions": ({"shape": (2, 3, 1)}, "two dimensions"),
    "long shape": ({"shape": np.arange(10**4)}, "its shape is of shape"),
    "words": ({"indptr": np.array(["a"])}, "its indptr are"),
    "column": ({"indices": S.indices + 7}, "damaged"),
    "negative column": ({"indices": S.indices - 9}, "damaged"),
    "overflow": ({"shape": (4, 3), "indptr": np.array([0, 2**62, -(2**63), -(2**62), 3])}, "row pointer falls"),
    "rows": ({"shape": (2**40, 3)}, "damaged"),
    "columns": ({"shape": (2, 2**40)}, r"1099511627776 columns for 3 entries.*leave empty columns out"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_sparse_archive_that_makes_no_sense_is_refused(name, tmp_path):
    changed, reason = DAMAGED[name]
    np.savez(tmp_path / "M.npz", **SPARSE | changed)
    with pytest.raises((FileError, DataError), match=reason):
        read_matrix(tmp_path / "M.npz")


def test_small_whole_numbers_of_the_same_place_are_summed_without_overflow(tmp_path):
    data = np.array([200, 100], np.uint8)
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array((data, ([0, 0], [1, 1])), shape=(2, 2)))
    assert read_matrix(tmp_path / "a.npz").toarray().tolist() == [[0, 300], [0, 0]]
