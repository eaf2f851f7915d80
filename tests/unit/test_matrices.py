"""Matrices from files, of which no damaged one gets through or breaks the process, and those that need no file."""

import gzip
import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from bregopt.errors import DataError, FileError, ParameterError, UnknownNameError
from bregopt.matrices import built_in, mycielskian, read_matrix, synthetic
from bregopt.matrices.files import READERS

M = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.25]])
S = sparse.csr_array(M)
Q = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 4.0]])


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def gzipped(path):
    io.mmwrite(path.with_suffix(""), S)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


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
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_read_back(name, tmp_path):
    WRITERS[name](tmp_path / name)
    np.testing.assert_array_equal(dense(read_matrix(tmp_path / name)), M)


def test_every_suffix_that_is_offered_is_tested():
    assert all(any(name.lower().endswith(suffix) for name in WRITERS) for suffix in READERS)


@pytest.mark.parametrize(
    "name", ["csr.npz", "csc.npz", "coo.npz", "sparse.mtx", "sparse.mtx.gz", "sparse.mat", "suite.mat"]
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
    "empty.npy": (lambda path: path.touch(), FileError, "damaged"),
    "empty.npz": (lambda path: path.touch(), FileError, "damaged"),
    "empty.mat": (lambda path: path.touch(), FileError, "damaged"),
    "empty.mtx": (lambda path: path.touch(), FileError, "first line"),
    "empty.csv": (lambda path: path.touch(), FileError, "no numbers"),
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
    "cut.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1E"), FileError, "damaged"),
    "beyond.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n"), FileError, "outside"),
    "half.mtx": (text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n"), FileError, "outside"),
    "complex.mtx": (text("%%MatrixMarket matrix array complex general\n1 1\n1 1\n"), DataError, "complex"),
    "complex.npy": (lambda path: np.save(path, M * 1j), DataError, "complex128"),
    "cube.npy": (lambda path: np.save(path, np.ones((2, 2, 2))), DataError, r"shape \(2, 2, 2\)"),
    "vector.npz": (lambda path: np.savez(path, M=np.ones(3)), DataError, r"shape \(3,\)"),
    "words.npy": (lambda path: np.save(path, np.array([["a", "b"]])), DataError, "real numbers"),
    "words.csv": (text("a,b\n1,2\n3,four\n"), DataError, "line 3, column 2 holds 'four'"),
    "typo.csv": (text("1,x,3\n4,5,6\n"), DataError, "line 1, column 2 holds 'x'"),
    "gap.csv": (text("1,,3\n4,5,6\n"), DataError, "line 1, column 2 holds ''"),
    "ragged.csv": (text("1,2,3\n\n4,5\n"), DataError, "line 3 holds 2 values"),
    "only-words.csv": (text("a,b\n"), DataError, "line 1, column 1"),
    "binary.csv": (lambda path: path.write_bytes(b"1,2\n\xff\xfe,3\n"), FileError, "UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_holds_no_real_matrix_is_refused_with_the_reason(name, tmp_path):
    write, error, reason = REFUSED[name]
    write(tmp_path / name)
    with pytest.raises(error, match=reason) as caught:
        read_matrix(tmp_path / name)
    assert name in str(caught.value)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    np.save(tmp_path / "a.npy", M)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileError, match="permissions"):
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
    "name", [name for name in WRITERS if not name.startswith(("semicolon", "header", "quoted", "mark"))]
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
    monkeypatch.setattr("bregopt.matrices.files.LARGE", 1)
    found = read_matrix(tmp_path / "M.npy")
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, M)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "M.npy").read_bytes()[:-8])
    with pytest.raises(FileError, match="damaged"):
        read_matrix(tmp_path / "cut.npy")


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


def test_a_built_in_matrix_is_made_from_its_spec():
    np.testing.assert_array_equal(built_in("synthetic(30, 20, rank=2)"), synthetic(30, 20, 2))
    assert (built_in("mycielskian(4)") != mycielskian(4)).nnz == 0
    with pytest.raises(UnknownNameError, match="no built-in matrix 'netz', only mycielskian and synthetic"):
        built_in("netz(3)")
    with pytest.raises(ParameterError, match="takes order=9"):
        built_in("mycielskian(9, 9)")


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
