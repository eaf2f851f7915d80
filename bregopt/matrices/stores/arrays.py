"""A matrix from a store of named arrays, HDF5 or zarr: by its name, the only one, or the X of an AnnData."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bregopt.errors import FileError
from bregopt.labels import Labels
from bregopt.matrices.checks import check_codecs, check_room, listed
from bregopt.matrices.extras import needed
from bregopt.matrices.labelled import LabelledMatrix
from bregopt.matrices.npy import LARGE
from bregopt.matrices.stores.annotated import is_annotated, is_sparse, is_tenx, labels_of, read_sparse, read_tenx

NAMES = ("M", "X", "data")
"""The array that is read where there are several."""
DEEPEST, MOST = 5, 1000
"""Groups within each other, and arrays, that are looked at."""


def read_h5(path: Path, part: str | None = None) -> LabelledMatrix:
    """The array of that name in an HDF5 file, the one named M, X or data, or the only one; 10x and AnnData too."""
    store = needed("h5py", path).File(path, "r")
    found = _read(store, path, part)
    if not _lies_in_file(found.matrix):
        store.close()
    return found


def read_zarr(path: Path, part: str | None = None) -> LabelledMatrix:
    """The array of that name in a zarr store, the store itself, the one named M, X or data, or the only one."""
    store = needed("zarr", path).open(store=str(path), mode="r")
    return _read(store, path, part) if _is_group(store) else LabelledMatrix(_dense(store, path))


def _read(store: Any, path: Path, part: str | None) -> LabelledMatrix:
    if part is None and is_tenx(store):
        return read_tenx(store["matrix"], path)
    name = part or _only(store, path)
    found = _get(store, name)
    if found is None or (_is_group(found) and not is_sparse(found)):
        names = [name for name, _ in _arrays(store)]
        raise FileError(f"The file {str(path)!r} holds no array {name!r}. It holds {listed(names)}.")
    matrix = read_sparse(found, path) if _is_group(found) else _dense(found, path)
    return LabelledMatrix(matrix, labels_of(store, name, matrix.shape, path) if is_annotated(store) else Labels())


def _dense(array: Any, path: Path) -> Any:
    """The array in memory, or itself where it is large: then it is read by rows as the run goes on."""
    check_codecs(array, path)
    size = array.dtype.itemsize
    for length in array.shape:
        size *= int(length)
    check_room(path, size, "save it without compression")
    return array if size >= LARGE else array[()]


def _only(store: Any, path: Path) -> str:
    """The name of the array to read."""
    if is_annotated(store) and _get(store, "X") is None:
        raise FileError(f"The file {str(path)!r} has no X. Name what is to be read, as in '{path.name}:layers/counts'.")
    for name in NAMES:
        if (known := _get(store, name)) is not None and (is_sparse(known) or not _is_group(known)):
            return name
    found = list(_arrays(store))
    numbers = [name for name, it in found if is_sparse(it) or it.dtype.kind in "fiub"]
    tables = [name for name in numbers if is_sparse(it := _get(store, name)) or len(it.shape) == 2] or numbers
    if len(tables) != 1:
        raise FileError(
            f"The file {str(path)!r} must hold one matrix of numbers, or one named {', '.join(NAMES)}. Got "
            f"{listed(tables or [name for name, _ in found])} instead"
            + (f": name one, as in '{path.name}:{tables[0]}'." if tables else ".")
        )
    return tables[0]


def _arrays(group: Any, above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The arrays and sparse matrices of a group and of those within it."""
    for number, key in enumerate(group.keys()):
        it = _get(group, key)
        if it is None or number > MOST:
            continue
        if is_sparse(it) or not _is_group(it):
            yield above + key, it
        elif depth < DEEPEST:
            yield from _arrays(it, f"{above}{key}/", depth + 1)


def _get(group: Any, name: str) -> Any:
    """The array or group of that name; ``None`` where there is none, or nothing in it."""
    try:
        found = group[name]
    except KeyError:  # or a link to nowhere
        return None
    return None if getattr(found, "shape", ()) is None else found


def _is_group(it: Any) -> bool:
    return hasattr(it, "keys")


def _lies_in_file(matrix: Any) -> bool:
    return type(matrix).__module__.partition(".")[0] == "h5py"
