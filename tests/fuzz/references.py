"""Readers that share nothing with those of bregopt: the plainest Python there is, or numpy and scipy."""

import gzip
import io
import re
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

SIGNS = {"general": 0, "symmetric": 1, "skew-symmetric": -1, "hermitian": 1}


def read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        return np.load(file, allow_pickle=False)


def read_npz(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as arrays:
        if "format" not in arrays.files:
            names = [name for name in ("M", "X", "data") if name in arrays.files] or arrays.files
            return arrays[names[0]]
    return scipy.sparse.load_npz(path).toarray()


def read_mtx(path: Path) -> np.ndarray:
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("latin-1")
    rows = [line.split() for line in io.StringIO(lines, newline=None) if line.strip()]
    _, _, layout, field, symmetry, *_ = [word.lower() for word in rows[0]]
    numbers = [[float(word) for word in " ".join(row).split("%")[0].split()] for row in rows if row[0][0] != "%"]
    (m, n, *_), entries = (int(size) for size in numbers[0]), [row for row in numbers[1:] if row]
    M, sign = np.zeros((m, n)), SIGNS[symmetry]
    if layout == "array":
        first = {0: lambda j: 0, 1: lambda j: j, -1: lambda j: j + 1}[sign]
        places = [(i, j) for j in range(n) for i in range(first(j), m)]
        entries = [(i + 1, j + 1, *entry) for (i, j), entry in zip(places, entries, strict=True)]
    for i, j, *value in entries:
        value = 1.0 if field == "pattern" else value[0]
        M[int(i) - 1, int(j) - 1] += value
        if sign and i != j:
            M[int(j) - 1, int(i) - 1] += sign * value
    return M


def read_mat(path: Path) -> np.ndarray:
    """May crash the process, as scipy does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that stand twice; newer versions of scipy, of other types to come
        variables = {name: X for name, X in scipy.io.loadmat(path).items() if not name.startswith("__")}
    matrices = {name: X for name, X in variables.items() if X.ndim == 2 and X.dtype.kind in "biufc"}
    for name in ("M", "X", "fea", "A"):
        if name in matrices:
            return _dense(matrices[name])
    problem = variables.get("Problem")
    if problem is not None and "A" in (problem.dtype.names or ()):
        return _dense(problem["A"].flat[0])
    large = {name: X for name, X in matrices.items() if min(X.shape) > 1} or matrices
    (only,) = large.values()
    return _dense(only)


def _dense(X) -> np.ndarray:
    return X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)


def read_text(path: Path) -> np.ndarray:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    lines = [re.split(r"(?:^|\s)#", line)[0].replace('"', "") for line in io.StringIO(text, newline=None)]
    lines = [line.rstrip("\n") for line in lines if line.strip()]
    delimiter = next((mark for mark in "\t;," if mark in lines[:2][-1]), None)
    rows = [line.split(delimiter) for line in lines]
    if not rows[0][0] and all(re.match("[a-z]", name) for name in rows[0][1:]):  # labels on both sides
        return np.array([[float(field or "nan") for field in row[1:]] for row in rows[1:]])
    if not any(re.search(r"\d", field) or field.strip().lower() in ("nan", "inf") for field in rows[0]):
        rows = rows[1:]
    return np.array([[float(field) for field in row] for row in rows])


def read_parquet(path: Path) -> np.ndarray:
    import polars

    try:
        return polars.read_parquet(path).drop("name", strict=False).to_numpy().astype(float)
    except BaseException as error:  # polars panics, which is no Exception
        raise ValueError("no answer") from error


def read_h5(path: Path) -> np.ndarray:
    import h5py

    with h5py.File(path) as file:
        return file["M"][()]


READERS = {".npy": read_npy, ".npz": read_npz, ".mtx": read_mtx, ".mtx.gz": read_mtx, ".mat": read_mat}
READERS |= dict.fromkeys((".csv", ".csv.gz", ".tsv", ".txt"), read_text)
READERS |= {".parquet": read_parquet, ".h5": read_h5}


def read(path: Path) -> np.ndarray:
    return next(reader for suffix, reader in READERS.items() if path.name.endswith(suffix))(path)
