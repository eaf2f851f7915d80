"""The folder that Cell Ranger writes for the cells of an experiment: a matrix, barcodes and features."""

import gzip
from pathlib import Path

from bregopt.errors import FileError
from bregopt.labels import Labels
from bregopt.matrices.checks import listed, room
from bregopt.matrices.labelled import LabelledMatrix, told
from bregopt.matrices.mtx import read_mtx

MATRIX, BARCODES, FEATURES = ("matrix.mtx",), ("barcodes.tsv",), ("features.tsv", "genes.tsv")
SYMBOL = 1
"""The column of the features that people know them by; the one before holds identifiers."""


def matrix_in(folder: Path) -> Path | None:
    """The matrix of 10x in a folder, if there is one; its name may have a prefix."""
    found = sorted(it for it in folder.iterdir() if it.name.endswith(("matrix.mtx", "matrix.mtx.gz")))
    if len(found) > 1:
        raise FileError(f"The folder {str(folder)!r} holds {listed([it.name for it in found])}. Give it one matrix.")
    return found[0] if found else None


def read_tenx_folder(folder: Path, path: Path) -> LabelledMatrix:
    """Cells by features: the file has it the other way round."""
    prefix = path.name[: path.name.index("matrix.mtx")]
    barcodes = _column(_beside(folder, prefix, BARCODES), 0)
    features = _column(_beside(folder, prefix, FEATURES), SYMBOL)
    matrix = read_mtx(path).T
    for names, size, what in zip((barcodes, features), matrix.shape, ("barcodes", "features"), strict=True):
        if len(names) != size:
            raise FileError(
                f"The folder {str(folder)!r} has {len(names)} {what}, and {path.name} has {size}: they are not of the "
                "same experiment, or one is cut off."
            )
    taken = f"rows are the barcodes ({told(barcodes)}), columns the features ({told(features)})"
    return LabelledMatrix(matrix, Labels(barcodes, features, taken=taken))


def _beside(folder: Path, prefix: str, names: tuple[str, ...]) -> Path:
    for name in names:
        for suffix in ("", ".gz"):
            if (path := folder / f"{prefix}{name}{suffix}").is_file():
                return path
    raise FileError(
        f"The folder {str(folder)!r} holds a matrix of 10x, but no {prefix}{names[0]} or {prefix}{names[0]}.gz. "
        "Put it there, or give the path of the matrix itself."
    )


def _column(path: Path, number: int) -> tuple[str, ...]:
    """A column of a file without header, or its last one where there are fewer."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        content = file.read(room(path) + 1)
    if len(content) > room(path):
        raise FileError(f"The file {str(path)!r} unpacks to more than {room(path)} bytes. It is damaged.")
    lines = content.decode("utf-8-sig").splitlines()
    return tuple(line.split("\t")[: number + 1][-1] for line in lines)
