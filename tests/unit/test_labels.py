"""Labels go from files, frames and other data to the problem, the result and every output."""

import json
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zarr
from PIL import Image
from scipy import sparse

import bregopt as bo
from bregopt.errors import DataError, FileError
from bregopt.matrices import LabelledMatrix, read

rng = np.random.default_rng(0)
M = np.maximum(rng.standard_normal((14, 3)) @ rng.standard_normal((3, 9)), 0)
GENES, CELLS = tuple(f"gene{k}" for k in range(14)), tuple(f"cell{k}" for k in range(9))
FRAME = pd.DataFrame(M, index=GENES, columns=CELLS)
POLARS = pl.DataFrame({"name": GENES} | {name: M[:, j] for j, name in enumerate(CELLS)})


def held(problem):
    """The matrix that a composed problem reads."""
    found = problem.block.M.matrix()
    return found.toarray() if sparse.issparse(found) else found


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("genes.csv")
    return tmp_path / "genes.csv"


GIVEN = {
    "a path": lambda path: path,
    "text": lambda path: str(path),
    "what was read": lambda path: read(path),
    "pandas": lambda path: FRAME,
    "polars": lambda path: POLARS,
    "pyarrow": lambda path: pa.Table.from_pandas(FRAME),
    "anndata": lambda path: anndata.AnnData(FRAME),
    "sparse anndata": lambda path: anndata.AnnData(
        sparse.csr_matrix(M), obs=pd.DataFrame(index=list(GENES)), var=pd.DataFrame(index=list(CELLS))
    ),
    "sparse pandas": lambda path: FRAME.astype(pd.SparseDtype(float, 0.0)),
    "pandas with the names in a column": lambda path: FRAME.reset_index(names="gene"),
    "pandas with the names as categories": lambda path: FRAME.reset_index(names="gene").astype({"gene": "category"}),
    "pandas with its own missing": lambda path: FRAME.astype("Float64"),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_data_of_every_kind_compose_to_the_same_problem_with_their_labels(kind, path):
    data = GIVEN[kind](path)
    by_name = {"M": data} if kind == "pandas" else {}
    problem = bo.compose("relu-nmd", *(() if by_name else (data,)), rank=3, **by_name)
    np.testing.assert_array_equal(held(problem), M)
    assert (problem.labels.rows, problem.labels.columns) == (GENES, CELLS)
    result = bo.solve(problem, max_iterations=3)
    assert result.labels is problem.labels
    np.testing.assert_array_equal(
        result.Y.U, bo.solve(bo.compose("relu-nmd", held(problem), rank=3), max_iterations=3).Y.U
    )


def test_what_is_sparse_in_a_frame_or_anndata_stays_sparse():
    for kind in ("sparse anndata", "sparse pandas"):
        assert bo.compose("relu-nmd", GIVEN[kind](None), rank=3).block.M.source is None


def test_data_without_the_name_of_a_problem_are_solved_by_the_default_one(path):
    for data in (str(path), path, FRAME, M):
        problem = bo.compose(data)
        assert problem.name == "ReLU-NMD problem"
        assert bo.solve(data, max_iterations=2).Y.U.shape == (14, 9)  # rank ten, and less for a small matrix
    (path.parent / "nmf").mkdir()
    assert bo.compose("nmf", FRAME, rank=2).name != problem.name  # the problem, and not the folder
    for problem in (bo.compose(path, rank=2), bo.compose(path, 2)):
        assert bo.solve(problem, max_iterations=2).Y.V.shape == (2, 9)


def test_a_path_stands_for_a_mask_too_and_its_labels_must_be_those_of_the_data(path):
    known = FRAME > 0
    known.to_parquet("known.parquet")
    pl.from_pandas(known, include_index=True).write_parquet("polars.parquet")
    expected = held(bo.compose("low-rank", M, rank=2, mask=M > 0))
    for mask in (known, pl.from_pandas(known), "known.parquet", "polars.parquet"):
        np.testing.assert_array_equal(held(bo.compose("low-rank", FRAME, rank=2, mask=mask)), expected)
    known.iloc[::-1].to_parquet("known.parquet")
    with pytest.raises(DataError, match=r"rows of the data and of 'mask' have different labels: number 1 is 'gene0'"):
        bo.compose("low-rank", FRAME, rank=2, mask="known.parquet")


def test_a_tensor_of_any_shape_is_composed_from_its_path(tmp_path):
    np.save(tmp_path / "T.npy", np.ones((3, 4, 2)))
    problem = bo.compose("cp", tmp_path / "T.npy", rank=1)
    assert problem.labels is None
    assert [block.shape[0] for block in bo.solve(problem, max_iterations=1).Y] == [3, 4, 2]


REFUSED = {
    "text": (FRAME.assign(species="x"), "The columns species hold text"),
    "names of no text": (FRAME.reset_index(names="gene").replace({"gene": "gene3"}, {"gene": 3}), "columns gene hold"),
    "text of polars": (POLARS.with_columns(species=pl.lit("x")), "The columns name, species hold text"),
    "lazy": (POLARS.lazy(), r"Give data\.collect\(\) instead"),
    "no X": (anndata.AnnData(obs=pd.DataFrame(index=list(GENES))), "has no X"),
    "a file of another type": ("data.xlsx", "suffix '.xlsx'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_data_that_hold_no_matrix_are_refused_with_the_reason(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.xlsx").touch()
    data, reason = REFUSED[kind]
    with pytest.raises((DataError, FileError), match=reason):
        bo.compose("relu-nmd", data, rank=3)


def test_a_problem_with_a_fixed_block_and_a_saved_one_keep_their_labels(path):
    problem = bo.compose("low-rank", path, rank=2, V="ridge(1)", U="ridge(1)")
    assert problem.freeze(V=np.ones((2, 9))).labels is problem.labels
    whole = bo.solve(problem, max_iterations=5, checkpoint="run")
    assert bo.resume("run").labels == whole.labels == problem.labels


def test_labels_must_be_as_many_as_rows_and_columns():
    with pytest.raises(DataError, match="There are 2 labels for the 14 rows"):
        LabelledMatrix(M, bo.Labels(rows=("a", "b")))
    assert repr(read_labelled := LabelledMatrix(M, bo.Labels(rows=GENES))) == "LabelledMatrix(14×9, rows labelled)"
    assert read_labelled.columns is None


def test_a_factor_has_the_labels_of_its_side():
    labels = bo.Labels(GENES, CELLS)
    assert labels.of_block("U", (14, 9)) == (GENES, None)
    assert labels.of_block("V", (14, 9)) == (None, CELLS)
    assert labels.of_block("a", (14, 1)) == (GENES, None)
    assert labels.of_block("S", (3, 3)) is None
    assert labels.of_block("t", (14,)) is None
    assert repr(labels) == "Labels(14 rows, 9 columns)"


def test_header_and_index_can_be_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("0,1,2\n3,4,6\n7,8,9\n")
    with pytest.raises(DataError, match="--header or --no-header"):
        read(path)
    np.testing.assert_array_equal(read(path, header=True).matrix, [[3, 4, 6], [7, 8, 9]])
    np.testing.assert_array_equal(read(path, header=False).matrix, [[0, 1, 2], [3, 4, 6], [7, 8, 9]])
    found = read(path, header=True, index=True)
    np.testing.assert_array_equal(found.matrix, [[4, 6], [8, 9]])
    assert (found.rows, found.columns) == (("3", "7"), None)
    np.save(tmp_path / "a.npy", M)
    with pytest.raises(DataError, match="Only text files"):
        read(tmp_path / "a.npy", index=True)


@pytest.mark.parametrize(
    ("file", "package"), [("a.h5", "h5py"), ("a.parquet", "pyarrow"), ("a.zarr", "zarr"), ("pictures", "pillow")]
)
def test_a_missing_package_is_one_error_that_says_what_to_install(file, package, tmp_path, monkeypatch):
    path = tmp_path / file
    if file == "pictures":
        path.mkdir()
        (path / "1.png").write_text("x")
    else:
        path.write_text("x")
    for name in ("h5py", "pyarrow", "pyarrow.parquet", "zarr", "PIL", "PIL.Image"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(FileError, match=rf'needs the package {package}.*pip install "bregopt\[files\]"'):
        read(path)


# ---- the command line


def test_a_csv_of_pandas_is_solved_without_its_index_and_its_labels_are_written(path, call):
    code, out, _ = call("solve", path, "-r", 2, "--max-iterations", 3, "--out", "run")
    assert code == 0
    assert "14×9" in out
    assert "line 1 names the columns (cell0, …); column 1 names the rows (gene0, …)" in out
    assert "U.csv, V.csv, factors.npz" in out
    with np.load("run/factors.npz", allow_pickle=False) as arrays:
        factors = dict(arrays)
    assert (tuple(factors["rows"]), tuple(factors["columns"])) == (GENES, CELLS)
    U, V = (pd.read_csv(f"run/{name}.csv", index_col=0, float_precision="round_trip") for name in "UV")
    np.testing.assert_array_equal(U, factors["U"])
    np.testing.assert_array_equal(V, factors["V"])
    assert (tuple(U.index), tuple(V.columns)) == (GENES, CELLS)
    assert list(U.columns) == list(V.index) == ["component 1", "component 2"]
    assert "names the rows" in json.loads((path.parent / "run" / "run.json").read_text())["problem"]["labels"]
    again = bo.solve(bo.compose("relu-nmd", path, rank=2), start="run", max_iterations=0)
    np.testing.assert_array_equal(again.Y.U, factors["U"])


def test_a_run_without_labels_leaves_no_tables_of_an_older_one(path, call):
    np.save("M.npy", M)
    for file in (path, "M.npy"):
        assert call("solve", file, "-r", 2, "--max-iterations", 1, "--out", "run", "--overwrite")[0] == 0
    left = sorted(it.name for it in (path.parent / "run").iterdir())
    assert left == ["factors.npz", "history.csv", "result.npz", "run.json"]


def test_the_command_line_can_tell_what_labels_are(path, call):
    pd.DataFrame(M).to_csv("plain.csv", index=False)
    _, out, _ = call("solve", "plain.csv", "-r", 2, "--max-iterations", 1)
    assert "14×9" in out
    _, out, _ = call("solve", "plain.csv", "--no-header", "-r", 2, "--max-iterations", 1)
    assert "15×9" in out
    code, _, err = call("solve", path, "--no-index", "-r", 2)
    assert code == 2
    assert "column 1 holds 'gene0'" in err


def test_large_arrays_of_hdf5_and_zarr_are_read_by_rows_as_the_run_goes_on(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bregopt.matrices.stores.arrays.LARGE", 1)
    with h5py.File("a.h5", "w") as file:
        file["M"] = M
    zarr.save("a.zarr", M)
    for name, kind in (("a.h5", h5py.Dataset), ("a.zarr", zarr.Array)):
        problem = bo.compose("relu-nmd", name, rank=3)
        assert isinstance(problem.block.M.source, kind)
        found, expected = (bo.solve(it, max_iterations=3).Y.U for it in (problem, bo.compose("relu-nmd", M, rank=3)))
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        assert "50.8 % non-zeros" in call("solve", name, "-r", 2, "--max-iterations", 1)[1]


def test_pictures_in_a_folder_keep_their_shape(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faces").mkdir()
    for k in range(6):
        Image.fromarray(rng.integers(0, 256, (5, 4), dtype=np.uint8)).save(tmp_path / "faces" / f"{k}.png")
    code, out, _ = call("solve", "faces", "-r", 2, "--max-iterations", 2, "--out", "run")
    assert code == 0
    assert "each row is a picture of 4×5 pixels" in out
    with np.load("run/factors.npz") as arrays:
        assert tuple(arrays["picture_shape"]) == (5, 4)
    assert bo.compose("relu-nmd", "faces", rank=2).labels.picture_shape == (5, 4)
