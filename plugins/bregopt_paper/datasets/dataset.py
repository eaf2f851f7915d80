"""A data set: a matrix, the labels of its rows, and where it comes from."""

from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from bregopt.errors import BregoptError


class MissingDataError(BregoptError, FileNotFoundError):
    """A file of a data set is not there; the message says which file to put where."""


@final
@frozen(eq=False)
class Dataset:
    """``bo.make("dataset", "coil20")``: M, with a sample in each row."""

    name: str
    """the spec that makes it again"""
    M: Any = field(repr=False)
    """dense (float64), or a ``scipy.sparse.csr_array``"""
    labels: NDArray[np.integer[Any]] | None = field(repr=False)
    """the class of each row, from 0 on; ``None`` where there are no classes"""
    provenance: str
    """one line: what it is and where it comes from"""
