"""The data sets of the paper: what they hold, where their files are looked for, and what is said where one is amiss."""

import gzip
import hashlib
import http.server
import os
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from bregopt_paper.datasets.dataset import Dataset, MissingDataError
from bregopt_paper.datasets.download import download
from bregopt_paper.datasets.facts import FACTS, Facts
from bregopt_paper.datasets.files import DataFile, cache, find, places, verified
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array, csr_array

import bregopt as bo

STORED = [name for name, facts in FACTS.items() if facts.files]
GENERATED = [name for name in FACTS if name not in STORED]
PRINTED = {
    "coil20": "65.61",
    "pie": "91.47",
    "tdt2": "0.354",
    "orl": "100.0",
    "yaleb": "97.84",
    "mnist": "19.1",
    "netz4504-dual": "0.619",
    "mycielskian": "5.717",
}
"""Per cent of non-zeros, as the README of the data and the paper print them."""


def make(spec):
    return bo.make("dataset", spec)


def dense(M):
    return M if isinstance(M, np.ndarray) else M.toarray()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No file of a data set is to be found; the cache would be in the folder that is returned."""
    monkeypatch.delenv("BREGOPT_DATA", raising=False)
    monkeypatch.delenv("BREGOPT_DATA_DOWNLOAD", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bregopt" / "data"


@pytest.fixture
def put(monkeypatch, nowhere, tmp_path):
    """Put bytes of one's own in the place of a data set's files, and make them the known ones."""

    def files(name, *contents):
        known = []
        for data, file in zip(contents, FACTS[name].files, strict=True):
            path = tmp_path / "given" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            known.append(evolve(file, sha256=sha256(gzip.decompress(data) if path.suffix == ".gz" else data)))
        monkeypatch.setitem(FACTS, name, evolve(FACTS[name], files=tuple(known)))
        monkeypatch.setenv("BREGOPT_DATA", str(tmp_path / "given"))
        return tmp_path / "given"

    return files


def mat(path, **arrays):
    savemat(path, arrays, do_compression=True)
    return path.read_bytes()


# What they hold


@pytest.mark.parametrize("name", STORED)
def test_a_stored_data_set_is_what_is_known_of_it(name, paper_data):
    dataset, facts = make(name), FACTS[name]
    assert dataset.M.shape == facts.shape
    assert dataset.M.dtype == np.float64
    assert isinstance(dataset.M, csr_array if name in ("tdt2", "netz4504-dual") else np.ndarray)
    nonzeros = np.count_nonzero(dataset.M) if isinstance(dataset.M, np.ndarray) else dataset.M.count_nonzero()
    assert nonzeros == facts.nonzeros
    if facts.classes is None:
        assert dataset.labels is None
    else:
        np.testing.assert_array_equal(np.unique(dataset.labels), np.arange(facts.classes))
        assert dataset.labels.shape == facts.shape[:1]
    top = {
        "coil20": 1,
        "pie": 255,
        "orl": 242,
        "yaleb": 255,
        "mnist": 1,
        "mnist-1000": 1,
        "netz4504-dual": 1,
        "tdt2": 52,
    }
    assert dataset.M.max() == top[name]
    assert dataset.provenance == facts.provenance


@pytest.mark.parametrize("name", PRINTED)
def test_the_share_of_non_zeros_is_the_printed_one(name):
    decimals = len(PRINTED[name].partition(".")[2])
    assert f"{FACTS[name].percent:.{decimals}f}" == PRINTED[name]


def test_the_known_checksums_are_those_that_come_with_the_data(paper_data):
    listed = dict(line.split("  ./")[::-1] for line in (paper_data / "SHA256SUMS").read_text().splitlines())
    files = {file for facts in FACTS.values() for file in facts.files}
    for file in files:
        assert sha256((paper_data / file.path).read_bytes()) == listed[file.path]
        if not file.path.endswith(".gz"):
            assert file.sha256 == listed[file.path]
        verified(paper_data / file.path, file)


@pytest.mark.parametrize("name", ["coil20", "tdt2"])
def test_rows_and_labels_belong_together_as_in_the_file(name, paper_data):
    dataset, stored = make(name), loadmat(paper_data / FACTS[name].files[0].path)
    assert abs(dataset.M - stored["fea"]).max() == 0
    np.testing.assert_array_equal(dataset.labels, stored["gnd"].ravel().astype(int) - 1)


def test_mnist_1000_has_the_first_images_of_each_digit_in_order(paper_data):
    whole, part = make("mnist"), make("mnist-1000")
    rows = [[] for _ in range(10)]
    for row, digit in enumerate(whole.labels.tolist()):
        if len(rows[digit]) < 1000:
            rows[digit].append(row)
    np.testing.assert_array_equal(part.M, whole.M[[row for of_digit in rows for row in of_digit]])
    np.testing.assert_array_equal(part.labels, np.repeat(np.arange(10), 1000))


def test_a_matlab_file_of_bytes_becomes_rows_of_float64_and_classes_from_zero_on(put, tmp_path):
    fea = np.random.default_rng(0).integers(0, 256, (5, 3), np.uint8)
    put("pie", mat(tmp_path / "it.mat", fea=fea, gnd=np.array([[4], [2], [2], [7], [4]])))
    dataset = make("pie")
    np.testing.assert_array_equal(dataset.M, fea.astype(float))
    assert dataset.M.flags.c_contiguous
    assert dataset.labels.tolist() == [1, 0, 0, 2, 1]
    assert bo.testing.check(dataset).ok


def test_a_sparse_matlab_file_stays_sparse(put, tmp_path):
    fea = np.random.default_rng(0).poisson(0.3, (6, 8)).astype(float)
    put("tdt2", mat(tmp_path / "it.mat", fea=csc_array(fea), gnd=np.arange(1, 7)[:, None]))
    dataset = make("tdt2")
    assert isinstance(dataset.M, csr_array)
    np.testing.assert_array_equal(dataset.M.toarray(), fea)
    assert dataset.labels.tolist() == [0, 1, 2, 3, 4, 5]


def test_mnist_is_read_from_idx_files_that_may_be_packed_in_any_way(put):
    rng = np.random.default_rng(0)
    images, digits = rng.integers(0, 256, (30, 2, 3), np.uint8), rng.integers(0, 10, 30, np.uint8)
    files = [
        bytes([0, 0, 8, it.ndim]) + b"".join(size.to_bytes(4, "big") for size in it.shape) + it.tobytes()
        for it in (images, digits)
    ]
    put("mnist", *(gzip.compress(file, level) for file, level in zip(files, (9, 1), strict=True)))
    dataset = make("mnist")
    np.testing.assert_array_equal(dataset.M, images.reshape(30, 6) / 255)
    np.testing.assert_array_equal(dataset.labels, digits)
    put("mnist-1000", *map(gzip.compress, files))
    grouped = make("mnist-1000")
    order = [row for digit in range(10) for row in range(30) if digits[row] == digit]
    np.testing.assert_array_equal(grouped.M, dataset.M[order])
    np.testing.assert_array_equal(grouped.labels, digits[order])


# Those that are generated


def mycielski_edges(k):
    """The edges of the Mycielski graph by its definition: a copy of each vertex, and one more that joins the copies."""
    edges, size = {(0, 1)}, 2
    for _ in range(k - 2):
        more = {(u, v + size) for u, v in edges} | {(v, u + size) for u, v in edges}
        edges |= more | {(u + size, 2 * size) for u in range(size)}
        size = 2 * size + 1
    return edges, size


@pytest.mark.parametrize("k", range(2, 8))
def test_mycielskian_is_the_graph_of_its_definition(k):
    edges, size = mycielski_edges(k)
    A = np.zeros((size, size))
    for u, v in edges:
        A[u, v] = A[v, u] = 1.0
    np.testing.assert_array_equal(make(f"mycielskian({k})").M.toarray(), A)


def test_mycielskian_11_has_the_size_that_the_paper_prints():
    M = make("mycielskian").M
    assert M.shape == (1535, 1535)
    assert round(100 * M.nnz / 1535**2, 3) == 5.717
    assert isinstance(M, csr_array)


def test_synthetic_is_the_model_of_the_paper():
    rng = np.random.default_rng(3)
    U, V = rng.standard_normal((7, 2)), rng.standard_normal((2, 5))
    M = np.zeros((7, 5))
    for i in range(7):
        for j in range(5):
            terms = (U[i, k] * V[k, j] for k in range(2) if abs(U[i, k]) >= 1 and abs(V[k, j]) >= 1)
            M[i, j] = max(0.0, sum(terms))
    np.testing.assert_allclose(make("synthetic(7, 5, 2, seed=3)").M, M, rtol=1e-14)
    assert 0 < np.count_nonzero(M) < M.size


def test_synthetic_without_a_threshold_has_dense_factors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 30))
    np.testing.assert_allclose(make("synthetic(20, 30, 3, threshold=0)").M, np.maximum(0, X), rtol=1e-14)


def test_another_seed_gives_other_numbers():
    for spec in ("synthetic(20, 10, 3, seed={})", "tiny-faces(seed={})", "tiny-documents(seed={})"):
        zero, one = (dense(make(spec.format(seed)).M) for seed in (0, 1))
        assert not np.array_equal(zero, one)


def test_relu_of_rank_three_meets_the_identity():
    M, angle = make("identity(40)").M.toarray(), 2 * np.pi * np.arange(40) / 40
    np.testing.assert_array_equal(M, np.eye(40))
    points = np.stack([np.ones(40), np.cos(angle), np.sin(angle)], axis=1)
    steep = 1 / (1 - np.cos(angle[1]))
    U, V = points * [1 - steep, steep, steep], points.T
    np.testing.assert_allclose(np.maximum(0, U @ V), M, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(10, 3), (6, 6), (7, 1), (100, 4)])
def test_blocks_are_ones_where_row_and_column_are_of_a_class(n, k):
    dataset = make(f"blocks({n}, {k})")
    np.testing.assert_array_equal(dataset.M.toarray(), dataset.labels[:, None] == dataset.labels[None, :])
    sizes = np.bincount(dataset.labels)
    assert len(sizes) == k
    assert sizes.max() - sizes.min() <= 1
    assert np.all(np.diff(dataset.labels) >= 0)


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_data_set_is_what_is_known_of_it(name, nowhere):
    dataset, facts = make(name), FACTS[name]
    assert dataset.M.shape == facts.shape
    assert np.count_nonzero(dense(dataset.M)) == facts.nonzeros
    assert (None if dataset.labels is None else len(np.unique(dataset.labels))) == facts.classes
    assert bo.testing.check(dataset).ok


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["tiny-faces", "tiny-documents"])
def test_near_rows_of_the_tiny_sets_are_mostly_of_one_class_and_far_ones_are_not(name, seed):
    dataset = make(f"{name}(seed={seed})")
    X = dense(dataset.M)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    near = np.argsort(-(X @ X.T) + 2 * np.eye(len(X)), axis=1)[:, :5]
    same = np.mean(dataset.labels[near] == dataset.labels[:, None])
    assert 0.8 < same < 1
    assert isinstance(dataset.M, np.ndarray if name == "tiny-faces" else csr_array)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("mycielskian(1)", "The 'k' parameter of mycielskian must be a whole number >= 2 and <= 20. Got 1 instead."),
        ("mycielskian(2.5)", "'k'"),
        ("synthetic(0)", "The 'm' parameter of synthetic must be a whole number >= 1. Got 0 instead."),
        ("synthetic(5, 5, 0)", "'r'"),
        ("synthetic(5, 5, 2, seed=-1)", "'seed'"),
        ("synthetic(5, 5, 2, threshold=-1)", "The 'threshold' parameter of synthetic must be a finite number >= 0."),
        ("synthetic(5, 5, 2, threshold=inf)", "'threshold'"),
        ("identity(0)", "'n'"),
        ("blocks(3, 4)", "The 'k' parameter of blocks must be a whole number >= 1 and <= 3. Got 4 instead."),
        ("tiny-faces(-1)", "The 'seed' parameter of tiny-faces must be a whole number >= 0. Got -1 instead."),
        ("coil20(3)", "coil20"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(spec, told):
    with pytest.raises(bo.errors.ParameterError) as error:
        make(spec)
    assert told in str(error.value)


# The checks of the kit


def planted(**changes):
    return evolve(make("blocks(6, 2)"), **changes)


@pytest.mark.parametrize(
    ("dataset", "check", "told"),
    [
        (planted(M=-np.eye(6)), "dataset/matrix", "negative entry -1"),
        (planted(M=np.full((6, 2), np.nan)), "dataset/matrix", "nan or inf"),
        (planted(M=np.eye(6, dtype=np.float32)), "dataset/matrix", "float64"),
        (planted(M=csc_array(np.eye(6))), "dataset/matrix", "csr_array"),
        (planted(labels=np.arange(5)), "dataset/labels", "M has 6 rows"),
        (planted(labels=np.array([1, 1, 1, 2, 2, 2])), "dataset/labels", "between 1 and 2"),
        (planted(labels=np.zeros(6)), "dataset/labels", "float64"),
        (planted(provenance="two\nlines"), "dataset/provenance", "one line"),
        (planted(provenance=" "), "dataset/provenance", "one line"),
        (planted(name="blocks(7, 2)"), "dataset/same-again", "7×7 instead of 6×6"),
        (planted(name="blocks(6, 3)"), "dataset/same-again", "M is another"),
        (planted(name="nothing"), "dataset/same-again", "does not make it again"),
        (planted(labels=np.array([1, 1, 1, 0, 0, 0])), "dataset/same-again", "the labels are others"),
        (planted(labels=None), "dataset/same-again", "the labels are others"),
    ],
)
def test_the_kit_finds_a_planted_mistake(dataset, check, told):
    failures = {outcome.name: outcome for outcome in bo.testing.check(dataset).failures}
    assert told in failures[check].message
    if check != "dataset/same-again":
        exec(failures[check].counterexample, {"part": dataset, "bo": bo})


# Where files are looked for


def test_the_folder_that_is_given_comes_before_the_cache(monkeypatch, nowhere, tmp_path):
    file = DataFile("A/a.mat", "")
    assert places() == [nowhere] == [cache()]
    assert find(file) is None
    for folder in (nowhere, tmp_path / "given"):
        (folder / "A").mkdir(parents=True)
        (folder / "A" / "a.mat").write_bytes(b"")
    assert find(file) == nowhere / "A" / "a.mat"
    monkeypatch.setenv("BREGOPT_DATA", str(tmp_path / "given"))
    assert places() == [tmp_path / "given", nowhere]
    assert find(file) == tmp_path / "given" / "A" / "a.mat"
    monkeypatch.setenv("BREGOPT_DATA", "")
    assert places() == [nowhere]


@pytest.mark.parametrize(
    ("platform", "below"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, tmp_path, platform, below):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache() == tmp_path / below / "bregopt" / "data"


def test_a_missing_file_is_named_with_the_places_and_what_to_do(monkeypatch, nowhere, tmp_path):
    with pytest.raises(MissingDataError) as error:
        make("coil20")
    assert isinstance(error.value, (bo.errors.BregoptError, FileNotFoundError))
    text = str(error.value)
    for told in ("'coil20'", "COIL20/COIL20.mat", str(nowhere), "BREGOPT_DATA is not set", "http://www.cad.zju.edu.cn"):
        assert told in text
    assert "fetch" not in text
    monkeypatch.setenv("BREGOPT_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(MissingDataError, match=r"bregopt data fetch mnist-1000") as error:
        make("mnist-1000")
    assert f"Looked in {tmp_path / 'elsewhere'} and in {nowhere}." in str(error.value)


@pytest.mark.parametrize("name", STORED)
def test_every_stored_data_set_says_that_it_is_missing(name, nowhere):
    (nowhere / FACTS[name].files[0].path).mkdir(parents=True)  # a folder is no file
    with pytest.raises(MissingDataError):
        make(name)


# What is damaged


def test_a_file_with_other_bytes_is_refused_before_it_is_read(put, tmp_path):
    data = mat(tmp_path / "it.mat", fea=np.eye(3), gnd=np.array([[1], [2], [3]]))
    folder = put("coil20", data)
    path = folder / "COIL20" / "COIL20.mat"
    assert make("coil20").M.shape == (3, 3)
    for damaged in (b"", data[:-1], data[:-20] + b"x" + data[-19:], b"not a file"):
        path.write_bytes(damaged)
        with pytest.raises(bo.errors.FileError, match=r"COIL20\.mat' is damaged, or another .* Put a fresh copy there"):
            make("coil20")


def test_a_packed_file_that_cannot_be_unpacked_is_damaged(put):
    images, digits = (gzip.compress(bytes(1000) + os.urandom(500)) for _ in range(2))
    path = put("mnist", images, digits) / "MNIST" / "train-images-idx3-ubyte.gz"
    for damaged in (images[:-30], b"no gzip", images[:40] + b"\xff\xff\xff\xff" + images[44:]):
        path.write_bytes(damaged)
        with pytest.raises(bo.errors.FileError, match="is damaged"):
            make("mnist")


def test_a_file_that_may_not_be_read_is_one_error(put, tmp_path, monkeypatch):
    put("coil20", mat(tmp_path / "it.mat", fea=np.eye(3), gnd=np.array([[1], [2], [3]])))

    def forbidden(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(bo.errors.FileError, match=r"cannot be read: Permission denied"):
        make("coil20")


# Downloads


@pytest.fixture
def served(monkeypatch, nowhere, tmp_path):
    """A web server of our own: (its address, the folder that it serves, the paths that were asked for)."""
    folder, asked = tmp_path / "served", []
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder, asked
        server.shutdown()
        thread.join()


def test_a_download_is_compared_with_its_checksum_and_saved_in_the_cache(served, nowhere):
    address, folder, _ = served
    data = os.urandom(5000)
    (folder / "a.mat").write_bytes(data)
    path = download(DataFile("A/a.mat", sha256(data), (f"{address}/a.mat",)))
    assert path == nowhere / "A" / "a.mat"
    assert path.read_bytes() == data


def test_a_packed_download_is_compared_packed_and_unpacked(served, nowhere):
    address, folder, _ = served
    packed = gzip.compress(b"images")
    (folder / "a.gz").write_bytes(packed)
    file = DataFile("A/a.gz", sha256(b"images"), (f"{address}/a.gz",), sha256(packed))
    assert verified(download(file), file) == b"images"
    with pytest.raises(bo.errors.FileError, match="is damaged, or another"):
        download(evolve(file, sha256=sha256(b"others")))


def test_a_download_with_another_checksum_is_refused_and_leaves_nothing(served, nowhere):
    address, folder, _ = served
    (folder / "a.mat").write_bytes(b"something else")
    with pytest.raises(bo.errors.FileError, match=r"A/a\.mat could not be downloaded .*SHA256 hash"):
        download(DataFile("A/a.mat", sha256(b"right"), (f"{address}/a.mat",)))
    assert [path for path in nowhere.rglob("*") if path.is_file()] == []


def test_the_mirror_is_asked_where_the_first_address_fails(served, nowhere):
    address, folder, asked = served
    (folder / "b.mat").write_bytes(b"right")
    file = DataFile("A/a.mat", sha256(b"right"), (f"{address}/gone.mat", f"{address}/b.mat"))
    assert download(file).read_bytes() == b"right"
    assert "/gone.mat" in asked
    with pytest.raises(
        bo.errors.FileError, match=r"could not be downloaded \(.*gone\.mat: 404.*\)\. Get it in another"
    ):
        download(evolve(file, path="B/b.mat", addresses=file.addresses[:1]))


def test_nothing_is_downloaded_unless_it_is_asked_for(served, nowhere, monkeypatch, tmp_path):
    address, folder, asked = served
    data = mat(folder / "netz.mat", Problem={"A": csc_array(np.eye(4))})
    file = DataFile("N/n.mat", sha256(data), (f"{address}/netz.mat",))
    monkeypatch.setitem(FACTS, "netz4504-dual", evolve(FACTS["netz4504-dual"], files=(file,)))
    for value in (None, "0", ""):
        if value is not None:
            monkeypatch.setenv("BREGOPT_DATA_DOWNLOAD", value)
        with pytest.raises(MissingDataError):
            make("netz4504-dual")
    assert asked == []
    monkeypatch.setenv("BREGOPT_DATA_DOWNLOAD", "1")
    np.testing.assert_array_equal(make("netz4504-dual").M.toarray(), np.eye(4))
    assert len(asked) == 1
    make("netz4504-dual")
    assert len(asked) == 1


def test_a_download_without_pooch_says_what_to_install(monkeypatch, nowhere):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(bo.errors.FileError, match=r"needs pooch.*bregopt\[paper\]"):
        download(DataFile("A/a.mat", "", ("http://127.0.0.1/a.mat",)))


def test_every_address_belongs_to_a_data_set_that_may_be_passed_on():
    fetched = {name for name, facts in FACTS.items() if any(file.addresses for file in facts.files)}
    assert fetched == {"mnist", "mnist-1000", "netz4504-dual"}


# The names


def test_every_name_is_registered_and_has_facts_and_a_factory_with_a_summary():
    entries = {entry.name: entry for entry in bo.catalog("dataset")}
    assert set(entries) == set(FACTS)
    assert all(isinstance(facts, Facts) and "\n" not in facts.provenance for facts in FACTS.values())


def test_a_data_set_does_not_print_its_matrix():
    assert len(repr(make("tiny-faces"))) < 200
    assert isinstance(make("tiny-faces"), Dataset)
