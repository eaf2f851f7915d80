"""Files that pandas, polars, anndata, scipy and PIL write: read right, labels included, or refused with the reason."""

import gzip
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import zarr
from PIL import Image
from scipy import io, sparse

from bregopt.errors import BregoptError
from bregopt.matrices import read

rng = np.random.default_rng(0)
M = np.round(rng.random((12, 7)), 3) + 0.0005
COUNTS = rng.poisson(3.0, (12, 7)).astype(float)
DISTINCT = rng.permutation(84).reshape(12, 7)
HOLES = np.where(rng.random(M.shape) < 0.2, np.nan, M)
ROW = np.where(np.arange(12)[:, None] == 4, np.nan, M)
GENES = tuple(f"gene {k}" for k in "abcdefghijkl")
CELLS = tuple(f"cell-{k}" for k in range(7))
YEARS = tuple(str(year) for year in range(2015, 2022))
KEYS = tuple(map(str, np.random.default_rng(2).choice(10**6, 12, replace=False)))
CODES = tuple(f"0{k}{k}{k + 3}" for k in range(12))
SCALE = tuple(f"{400 + 2.5 * k}" for k in range(14))
PIXELS = rng.integers(0, 256, (5, 6, 4), dtype=np.uint8)
ONE = None

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:anndata")  # of its version of zarr to come


def frame(X=M, rows=GENES, columns=CELLS):
    return pd.DataFrame(X, index=rows, columns=columns)


def csv(X=M, rows=GENES, columns=CELLS, **options):
    return lambda path: frame(X, rows, columns).to_csv(path, **options)


def as_polars(X=M, rows=GENES):
    numbers = pl.DataFrame(X, schema=list(CELLS))
    return numbers if rows is None else numbers.insert_column(0, pl.Series("name", list(rows)))


def annotated(X):
    found = anndata.AnnData(X, obs=pd.DataFrame(index=list(GENES)), var=pd.DataFrame(index=list(CELLS)))
    found.layers["counts"] = sparse.csr_matrix(COUNTS)
    return found


def with_raw(path):
    found = annotated(M)
    found.raw = found
    found[:, :4].copy().write_h5ad(path)


def old_index(path):
    """Labels as categories, as anndata writes a column of few different texts."""
    annotated(M).write_h5ad(path)
    with h5py.File(path, "a") as file:
        del file["obs/_index"]
        group = file["obs"].create_group("_index")
        group["codes"], group["categories"] = np.arange(12), list(GENES)


def tenx(folder, packed=True, features="features.tsv"):
    folder.mkdir()
    io.mmwrite(folder / "matrix.mtx", sparse.coo_array(COUNTS.T), field="integer")
    (folder / "barcodes.tsv").write_text("".join(f"{name}\n" for name in GENES))
    (folder / features).write_text("".join(f"ENSG{k}\t{name}\tGene Expression\n" for k, name in enumerate(CELLS)))
    for path in list(folder.iterdir()) if packed else ():
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def tenx_h5(path):
    S = sparse.csc_matrix(COUNTS.T)
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        group["data"], group["indices"], group["indptr"], group["shape"] = S.data, S.indices, S.indptr, S.shape
        group["barcodes"], group["features/name"] = np.bytes_(GENES), np.bytes_(CELLS)


def h5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, compression="gzip" if array.ndim == 2 else None)


def zarr_group(path):
    store = zarr.open_group(str(path), mode="w")
    store["scores"], store["sizes"] = M, np.arange(7)


def pictures(folder, mode="L", suffix="png", sizes=None):
    folder.mkdir()
    for k, pixels in enumerate(PIXELS):
        picture = Image.fromarray(pixels).convert(mode)
        if sizes:
            picture = picture.resize(sizes[k])
        picture.save(folder / f"{k + 8}.{suffix}")


def deep_pictures(folder):
    for k, pixels in enumerate(PIXELS):
        (folder / f"s{k}").mkdir(parents=True)
        Image.fromarray(pixels.astype(np.uint16) * 200).save(folder / f"s{k}" / "1.png")


FLAT = PIXELS.reshape(5, -1).astype(float)
NAMES = tuple(map(str, range(8, 13)))

READ = {
    # file: (how it is written, the true matrix, the true labels of rows and columns)
    "pandas.csv": (csv(), M, GENES, CELLS),
    "pandas-default.csv": (csv(rows=None, columns=None), M, ONE, ONE),
    "no-index.csv": (csv(index=False), M, ONE, CELLS),
    "no-index-integer-header.csv": (csv(columns=None, index=False), M, ONE, ONE),
    "distinct-counts.csv": (csv(DISTINCT, columns=None, index=False), DISTINCT, ONE, ONE),
    "corner-is-a-column.csv": (csv(columns=["a", *range(6)], index=False), M, ONE, ("a", *map(str, range(6)))),
    "no-index-integer-header-counts.csv": (csv(COUNTS.astype(int), columns=None, index=False), COUNTS, ONE, ONE),
    "years-no-index.csv": (csv(columns=YEARS, index=False), M, ONE, YEARS),
    "years.csv": (csv(columns=YEARS), M, GENES, YEARS),
    "years-named-index.csv": (csv(columns=YEARS, index_label="gene"), M, GENES, YEARS),
    "years-numbered.csv": (csv(rows=None, columns=YEARS, index_label="id"), M, ONE, YEARS),
    "integer-index.csv": (csv(rows=range(100, 112)), M, tuple(map(str, range(100, 112))), CELLS),
    "one-to-n.csv": (csv(rows=range(1, 13), columns=range(1, 8)), M, ONE, ONE),
    "named-index.csv": (csv(index_label="gene"), M, GENES, CELLS),
    "no-header.csv": (csv(header=False), M, GENES, ONE),
    "no-header-no-index.csv": (csv(header=False, index=False), M, ONE, ONE),
    "no-header-run.csv": (csv(rows=None, header=False), M, ONE, ONE),
    "no-header-counts.csv": (csv(COUNTS.astype(int), header=False), COUNTS, GENES, ONE),
    "counts.csv": (csv(COUNTS.astype(int)), COUNTS, GENES, CELLS),
    "counts-default.csv": (csv(COUNTS.astype(int), None, None), COUNTS, ONE, ONE),
    "counts-plain.csv": (csv(COUNTS.astype(int), header=False, index=False), COUNTS, ONE, ONE),
    "holes.csv": (csv(HOLES), HOLES, GENES, CELLS),
    "holes-NA.csv": (csv(HOLES, na_rep="NA"), HOLES, GENES, CELLS),
    "holes-null.tsv": (csv(HOLES, na_rep="NULL", sep="\t"), HOLES, GENES, CELLS),
    "holes-default.csv": (csv(HOLES, None, None), HOLES, ONE, ONE),
    "holes-plain.csv": (csv(HOLES, header=False, index=False), HOLES, ONE, ONE),
    "empty-row.csv": (csv(ROW), ROW, GENES, CELLS),
    "empty-row.tsv": (csv(ROW, sep="\t"), ROW, GENES, CELLS),
    "empty-row-plain.csv": (csv(ROW, header=False, index=False), ROW, ONE, ONE),
    "empty-row-plain.tsv": (csv(ROW, sep="\t", header=False, index=False), ROW, ONE, ONE),
    "one-column.csv": (csv(ROW[:, :1], columns=["a"]), ROW[:, :1], GENES, ("a",)),
    "packed.csv.gz": (csv(), M, GENES, CELLS),
    "packed.tsv.gz": (csv(HOLES, sep="\t"), HOLES, GENES, CELLS),
    "tab.tsv": (csv(sep="\t"), M, GENES, CELLS),
    "german.csv": (csv(HOLES, sep=";", decimal=","), HOLES, GENES, CELLS),
    "german-default.csv": (csv(rows=None, columns=None, sep=";", decimal=","), M, ONE, ONE),
    "bars.csv": (csv(HOLES, sep="|"), HOLES, GENES, CELLS),
    "user-id.csv": (csv(rows=KEYS, index_label="user_id"), M, KEYS, CELLS),
    "userId-no-header-number.csv": (csv(COUNTS.astype(int), KEYS, index_label="userId"), COUNTS, KEYS, CELLS),
    "postal-codes.csv": (csv(rows=CODES, index_label="place"), M, CODES, CELLS),
    "postal-codes-no-header.csv": (csv(rows=CODES, header=False), M, CODES, ONE),
    "padded-counts.csv": (lambda path: np.savetxt(path, DISTINCT, "%02d", ","), DISTINCT, ONE, ONE),
    "years-down.csv": (csv(rows=range(2001, 2013), index_label="year"), M, tuple(map(str, range(2001, 2013))), CELLS),
    "not-all-years.csv": (
        csv(np.column_stack([[*range(2001, 2012), 2030], M]), columns=["year", *CELLS], index=False),
        np.column_stack([[*range(2001, 2012), 2030], M]),
        ONE,
        ("year", *CELLS),
    ),
    "scale.csv": (csv(rows=None, columns=SCALE[:7]), M, ONE, SCALE[:7]),
    "scale-named.csv": (csv(columns=SCALE[:7]), M, GENES, SCALE[:7]),
    "scale-no-index.csv": (csv(np.hstack([M, M]), columns=SCALE, index=False), np.hstack([M, M]), ONE, SCALE),
    "scale-named-index.csv": (csv(np.hstack([M, M]), columns=SCALE, index_label="x"), np.hstack([M, M]), GENES, SCALE),
    "quoted.csv": (csv(quoting=1), M, GENES, CELLS),
    "marks.csv": (
        csv(rows=[f'a, "{k}"; #1' for k in range(12)], columns=[f"C#, {k}" for k in range(7)]),
        M,
        tuple(f'a, "{k}"; #1' for k in range(12)),
        tuple(f"C#, {k}" for k in range(7)),
    ),
    "twice.csv": (csv(rows=["same"] * 12), M, ("same",) * 12, CELLS),
    "dates.csv": (csv(rows=pd.date_range("2024-01-01", periods=12)), M, None, CELLS),
    "spaces.txt": (lambda path: path.write_text(frame().to_string().replace("gene ", "gene-")), None, None, CELLS),
    "trailing.csv": (
        lambda path: path.write_text("a,b,\n1,2.5,\n3,,\n"),
        np.array([[1, 2.5], [3, np.nan]]),
        ONE,
        ("a", "b"),
    ),
    "R.txt": (lambda path: path.write_text(R_TABLE), np.array([[1.5, 2.0], [3.0, 4.5]]), ("x", "y"), ("a", "b")),
    "polars.csv": (lambda path: as_polars().write_csv(path), M, GENES, CELLS),
    "polars-plain.csv": (lambda path: as_polars(rows=None).write_csv(path), M, ONE, CELLS),
    "polars-row-index.csv": (lambda path: as_polars(rows=None).with_row_index().write_csv(path), M, ONE, CELLS),
    "polars-no-header.tsv": (
        lambda path: as_polars(HOLES).fill_nan(None).write_csv(path, include_header=False, separator="\t"),
        HOLES,
        GENES,
        ONE,
    ),
    "numpy.csv": (lambda path: np.savetxt(path, M, delimiter=","), M, ONE, ONE),
    "numpy-counts.csv": (lambda path: np.savetxt(path, COUNTS, "%d", ","), COUNTS, ONE, ONE),
    "arange.csv": (
        lambda path: np.savetxt(path, np.arange(42).reshape(6, 7), "%d", ","),
        np.arange(42).reshape(6, 7),
        ONE,
        ONE,
    ),
    "pandas.parquet": (lambda path: frame(HOLES).to_parquet(path), HOLES, GENES, CELLS),
    "pandas-default.parquet": (lambda path: pd.DataFrame(M, columns=CELLS).to_parquet(path), M, ONE, CELLS),
    "pandas-names-in-a-column.parquet": (
        lambda path: frame(HOLES).reset_index(names="gene").to_parquet(path),
        HOLES,
        GENES,
        CELLS,
    ),
    "polars.parquet": (lambda path: as_polars().write_parquet(path), M, GENES, CELLS),
    "polars-counts.parquet": (lambda path: as_polars(COUNTS.astype(int)).write_parquet(path), COUNTS, GENES, CELLS),
    "dense.h5ad": (lambda path: annotated(M).write_h5ad(path), M, GENES, CELLS),
    "csr.h5ad": (lambda path: annotated(sparse.csr_matrix(COUNTS)).write_h5ad(path), COUNTS, GENES, CELLS),
    "csc.h5ad": (
        lambda path: annotated(sparse.csc_matrix(COUNTS)).write_h5ad(path, compression="gzip"),
        COUNTS,
        GENES,
        CELLS,
    ),
    "layer.h5ad:layers/counts": (lambda path: annotated(M).write_h5ad(path), COUNTS, GENES, CELLS),
    "raw.h5ad": (with_raw, M[:, :4], GENES, CELLS[:4]),
    "raw.h5ad:raw/X": (with_raw, M, GENES, CELLS),
    "categories.h5ad": (old_index, M, GENES, CELLS),
    "annotated.zarr": (lambda path: annotated(sparse.csr_matrix(COUNTS)).write_zarr(path), COUNTS, GENES, CELLS),
    "annotated.zarr:layers/counts": (lambda path: annotated(M).write_zarr(path), COUNTS, GENES, CELLS),
    "tenx": (tenx, COUNTS, GENES, CELLS),
    "tenx-old": (lambda path: tenx(path, packed=False, features="genes.tsv"), COUNTS, GENES, CELLS),
    "tenx.h5": (tenx_h5, COUNTS, GENES, CELLS),
    "only.h5": (lambda path: h5(path, scores=M, sizes=np.arange(7)), M, ONE, ONE),
    "named.hdf5": (lambda path: h5(path, X=M, more=COUNTS), M, ONE, ONE),
    "part.h5:deep/counts": (lambda path: h5(path, X=M, **{"deep/counts": COUNTS}), COUNTS, ONE, ONE),
    "group.zarr": (zarr_group, M, ONE, ONE),
    "group.zarr:scores": (zarr_group, M, ONE, ONE),
    "array.zarr": (lambda path: zarr.save(str(path), M), M, ONE, ONE),
    "scipy.mtx": (lambda path: io.mmwrite(path, sparse.coo_array(COUNTS)), COUNTS, ONE, ONE),
    "scipy.npz": (lambda path: sparse.save_npz(path, sparse.csr_array(COUNTS)), COUNTS, ONE, ONE),
    "scipy.mat": (lambda path: io.savemat(path, {"M": M}), M, ONE, ONE),
    "png": (pictures, FLAT, NAMES, ONE),
    "colour-bmp": (lambda path: pictures(path, "RGB", "bmp"), FLAT, NAMES, ONE),
    "deep": (deep_pictures, FLAT * 200, tuple(f"s{k}/1" for k in range(5)), ONE),
}
R_TABLE = '"a" "b"\n"x" 1.5 2\n"y" 3 4.5\n'


def whole(name, folder):
    """Where a case is written, and the path that it is read by."""
    file = name.partition(":")[0]
    return folder / file, f"{folder / file}{name[len(file) :]}"


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_with_its_true_matrix_and_labels(name, tmp_path):
    write, matrix, rows, columns = READ[name]
    path, asked = whole(name, tmp_path)
    write(path)
    found = read(asked)
    if name == "dates.csv":
        rows = tuple(f"2024-01-{day:02}" for day in range(1, 13))
    if name == "spaces.txt":
        matrix, rows = np.round(M, 6), tuple(gene.replace(" ", "-") for gene in GENES)
    X = found.matrix.toarray() if sparse.issparse(found.matrix) else found.matrix
    np.testing.assert_array_equal(X, matrix)
    assert (found.rows, found.columns) == (rows, columns), found.labels.taken
    assert found.picture_shape == ((6, 4) if matrix.shape[0] == 5 else None)
    assert sparse.issparse(found.matrix) == (
        name.startswith(("csr", "csc", "scipy.mtx", "scipy.npz", "tenx", "layer", "ann"))
    )


def bomb(path):
    store = zarr.create_array(str(path), shape=(2, 2), dtype="f8", zarr_format=2, filters=None, compressors=None)
    store[:] = 1.0
    head = (Path(path) / ".zarray").read_text()
    (Path(path) / ".zarray").write_text(head.replace('"compressor": null', '"compressor": {"id": "pickle"}'))


def without_barcodes(path):
    tenx(path)
    (path / "barcodes.tsv.gz").unlink()


def cut_barcodes(path):
    tenx(path, packed=False)
    (path / "barcodes.tsv").write_text("one\n")


def with_text(path):
    path.mkdir()
    (path / "1.png").write_text("no picture")


def twice_written(path):
    frame(rows=None).to_csv(path)
    pd.read_csv(path).to_csv(path)


def mixed(**columns):
    return frame().assign(**columns)


SPECIES = ["setosa"] * 12
REFUSED = {
    "two-texts.csv": (
        lambda path: mixed(species=SPECIES).to_csv(path),
        r"line 2, column 9 \('species'\) holds 'setosa'",
    ),
    "first-texts.csv": (
        lambda path: frame().set_index([pd.Index(GENES), pd.Index(SPECIES)]).to_csv(path),
        "line 2, column 2 holds 'setosa'",
    ),
    "two-levels.csv": (
        lambda path: frame().set_index([pd.Index(GENES), pd.Index(range(12))]).to_csv(path),
        "two columns without a name, as pandas writes an index of several levels",
    ),
    "dashes.csv": (csv(HOLES, na_rep="-"), "holds '-'. If the entry is missing, write NA or nothing"),
    "thousands.csv": (
        lambda path: frame(1e6 * M).map("{:,.2f}".format).to_csv(path),
        "Write it without a comma",
    ),
    "levels.csv": (
        lambda path: frame(columns=pd.MultiIndex.from_product([["a"], list("bcdefgh")])).to_csv(path),
        "line 2, column 2 .* holds 'b'",
    ),
    "truths.csv": (lambda path: (frame() > 0.5).to_csv(path), "Write 1 for true and 0 for false"),
    "mixed-header.csv": (csv(columns=["a", "b", *range(5)], index=False), "line 1.*If the line is a header"),
    "small-header.csv": (csv(COUNTS[:, :3].astype(int), columns=None, index=False), "--header or --no-header"),
    "two-years.csv": (csv(COUNTS[:, :2].astype(int), columns=YEARS[:2], index_label="gene"), "--header or --no-header"),
    "decades.csv": (
        csv(COUNTS[:, :3].astype(int), columns=["1990", "2000", "2010"], index_label="gene"),
        "--header or --no-header",
    ),
    "index-twice.csv": (lambda path: twice_written(path), "column 'Unnamed: 0': row names that were read as a column"),
    "break.csv": (csv(rows=["a\nb", *GENES[1:]]), "line 2"),
    "utf16.csv": (csv(encoding="utf-16"), "UTF-8"),
    "not.csv.gz": (lambda path: path.write_bytes(b"1,2\n3,4\n"), "damaged"),
    "long.csv": (csv(rows=["x" * 2000, *GENES[1:]]), "has 2000 characters"),
    "text.parquet": (lambda path: mixed(species=SPECIES).to_parquet(path), "columns species hold text"),
    "not.parquet": (lambda path: path.write_text("PAR1"), "damaged"),
    "no-x.h5ad": (lambda path: annotated(None).write_h5ad(path), "has no X.*no-x.h5ad:layers/counts"),
    "layer.h5ad:layers/raw": (lambda path: annotated(M).write_h5ad(path), "no array 'layers/raw'. It holds X"),
    "two.h5": (lambda path: h5(path, a=M, b=M), "Got a, b instead: name one, as in 'two.h5:a'"),
    "none.h5": (lambda path: h5(path), "Got none instead"),
    "words.h5": (lambda path: h5(path, words=np.bytes_([["a", "b"]])), "must hold one matrix of numbers"),
    "cube.h5": (lambda path: h5(path, M=np.ones((2, 2, 2))), "must have two dimensions"),
    "not.h5": (lambda path: path.write_text("no HDF5"), "damaged"),
    "empty.zarr": (lambda path: path.mkdir(), "damaged"),
    "bomb.zarr": (bomb, "pickle"),
    "without-barcodes": (without_barcodes, "no barcodes.tsv"),
    "cut-barcodes": (cut_barcodes, "has 1 barcodes, and matrix.mtx has 12"),
    "sizes": (
        lambda path: pictures(path, sizes=[(4, 6)] * 4 + [(5, 5)]),
        "of one size. 8.png has 4×6 pixels, and 12.png",
    ),
    "no-pictures": (with_text, "1.png' cannot be read"),
    "nothing": (lambda path: path.mkdir(), "neither pictures nor a matrix.mtx"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of anndata, about an X that is None
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_right_is_refused_with_the_reason(name, tmp_path):
    write, reason = REFUSED[name]
    path, asked = whole(name, tmp_path)
    write(path)
    with pytest.raises(BregoptError, match=reason) as caught:
        read(asked)
    assert name.partition(":")[0] in str(caught.value)
    assert len(str(caught.value)) < 600
