"""The checks of a data set: its matrix, its labels, its provenance, and whether it is the same when made again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import bregopt as bo
from bregopt.errors import BregoptError
from bregopt_paper.datasets.dataset import Dataset

if TYPE_CHECKING:
    from bregopt.testing import RandomPoints


def matrix_fault(dataset: Dataset) -> str | None:
    """What is wrong with M, if anything."""
    from scipy.sparse import csr_array

    M = dataset.M
    if not isinstance(M, (np.ndarray, csr_array)) or M.ndim != 2 or M.dtype != np.float64:
        return "M is neither a matrix of float64 numbers nor a scipy.sparse.csr_array of them"
    values = M if isinstance(M, np.ndarray) else M.data
    if not np.isfinite(values).all():
        return "M holds nan or inf"
    if values.size and values.min() < 0:
        return f"M holds the negative entry {values.min():g}"
    return None


def labels_fault(dataset: Dataset) -> str | None:
    """What is wrong with the labels, if anything."""
    labels, m = dataset.labels, dataset.M.shape[0]
    if labels is None:
        return None
    if labels.shape != (m,):
        return f"the labels have the shape {labels.shape}, and M has {m} rows"
    if labels.dtype.kind not in "iu":
        return f"the labels are {labels.dtype} and not whole numbers"
    found = np.unique(labels)
    if not np.array_equal(found, np.arange(found.size)):
        return f"the labels are not the classes 0 to {found.size - 1}, but lie between {found[0]} and {found[-1]}"
    return None


def provenance_fault(dataset: Dataset) -> str | None:
    """What is wrong with the provenance, if anything."""
    text = dataset.provenance
    return None if text.strip() and text.isprintable() else f"the provenance is not one line of text: {text[:60]!r}"


def again_fault(dataset: Dataset) -> str | None:
    """How the data set differs from the one that its name makes, if at all."""
    try:
        again = bo.make("dataset", dataset.name)
    except BregoptError as error:
        return f"the name '{dataset.name}' does not make it again: {error}"
    if type(again.M) is not type(dataset.M) or again.M.shape != dataset.M.shape:
        return f"M is another when '{dataset.name}' is made again: {_times(again.M)} instead of {_times(dataset.M)}"
    if not all(np.array_equal(*pair) for pair in zip(_arrays(dataset), _arrays(again), strict=True)):
        return f"M is another when '{dataset.name}' is made again"
    one, other = dataset.labels, again.labels
    if (one is None) != (other is None) or (one is not None and not np.array_equal(one, other)):
        return f"the labels are others when '{dataset.name}' is made again"
    return None


def _arrays(dataset: Dataset) -> list[Any]:
    M = dataset.M
    return [M] if isinstance(M, np.ndarray) else [M.data, M.indices, M.indptr]


def _times(M: Any) -> str:
    return "×".join(map(str, M.shape))


def _check(fault: Callable[[Dataset], str | None], show: str) -> Callable[[Dataset, "RandomPoints"], None]:
    """A check of the kit that fails where there is a fault."""

    def check(dataset: Dataset, draw: "RandomPoints") -> None:
        found = fault(dataset)
        if found:
            bo.testing.fail(found, bo.testing.snippet(show))

    return check


CHECKS: dict[str, Callable[[Dataset, "RandomPoints"], None]] = {
    "dataset/matrix": _check(matrix_fault, "print(type(part.M), part.M.dtype, part.M.min(), part.M.max())"),
    "dataset/labels": _check(labels_fault, "print(part.M.shape, part.labels.shape, np.unique(part.labels))"),
    "dataset/provenance": _check(provenance_fault, "print(repr(part.provenance))"),
    "dataset/same-again": _check(again_fault, "print(abs(part.M - bo.make('dataset', part.name).M).max())"),
}
